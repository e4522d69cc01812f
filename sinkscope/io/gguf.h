#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// A metadata value. Integers of every width become int64 or, above its range, uint64 refused by
/// the getters; arrays keep one element type.
using GgufValue = std::variant<int64_t, uint64_t, double, bool, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;

/// A GGUF file, version 2 or 3, little endian; all parts of a split one.
///
/// Throws Error{kBadFile} naming file, key or tensor and byte offset for damaged files,
/// {kUnsupported} for versions and types we do not read. Nothing is allocated on the word of a
/// number in the file that the file's own size does not warrant.
class GgufFile : public TensorSource {
 public:
  /// `file` is the only or the first part.
  static std::unique_ptr<GgufFile> open(const std::filesystem::path& file);

  virtual bool has(std::string_view key) const = 0;
  /// nullptr when absent.
  virtual const GgufValue* find_value(std::string_view key) const = 0;
  /// Every key, in file order.
  virtual std::vector<std::string> keys() const = 0;
  /// "FILE: key KEY, byte N" for a complaint about its value; without the byte when absent.
  virtual std::string place(std::string_view key) const = 0;

  /// Required values; throw kBadFile naming file and key when absent or of another type.
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;  ///< an integer is accepted
  std::string text(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

  /// The same, with a default for an absent key. A wrong type is still refused.
  int64_t integer(std::string_view key, int64_t fallback) const;
  double number(std::string_view key, double fallback) const;
  std::string text(std::string_view key, std::string fallback) const;
  bool flag(std::string_view key, bool fallback) const;
};

}  // namespace sinkscope::io
