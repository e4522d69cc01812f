#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinkscope::io {

/// A JSON object such as config.json, read key by key. Every complaint names the file and the key.
/// A key holding null counts as absent. Where several names are given the first present one wins.
class Config {
 public:
  using Names = std::initializer_list<std::string_view>;

  /// Throws kBadFile: missing file, not JSON (with the byte offset), not an object, nesting above
  /// 100 levels, file above 64 MiB.
  static Config load(const std::filesystem::path& file);
  static Config parse(std::string_view text, std::string where);

  bool has(std::string_view key) const;

  int64_t integer(Names names) const;  ///< required; a float with an integral value is accepted
  double number(Names names) const;    ///< required and finite
  bool flag(Names names) const;
  std::string text(Names names) const;
  int64_t integer(Names names, int64_t fallback) const;
  double number(Names names, double fallback) const;
  bool flag(Names names, bool fallback) const;
  std::string text(Names names, std::string_view fallback) const;

  /// Arrays; absent: empty.
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

  /// The object under `key`, its complaints naming "key.subkey"; nullopt when absent.
  std::optional<Config> child(std::string_view key) const;

  /// The document as it is, for readers that need more than scalars.
  const nlohmann::json& json() const { return *json_; }
  const std::string& where() const { return where_; }

 private:
  Config(std::shared_ptr<const nlohmann::json> json, std::string file, std::string path);
  std::string place(std::string_view key) const;
  template <typename As>
  auto optional(Names names) const;
  template <typename As>
  auto required(Names names) const;
  template <typename As, typename Value>
  std::vector<Value> list(std::string_view key) const;

  std::shared_ptr<const nlohmann::json> json_;
  std::string file_;
  std::string path_;   ///< "" or "text_config."
  std::string where_;  ///< file, and the path of keys below its root
};

}  // namespace sinkscope::io
