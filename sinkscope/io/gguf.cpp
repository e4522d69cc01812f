#include "sinkscope/io/gguf.h"

#include <fmt/format.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/io/gguf_header.h"
#include "sinkscope/io/gguf_split.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

namespace fs = std::filesystem;

class MappedGguf final : public GgufFile {
 public:
  explicit MappedGguf(const fs::path& file) {
    header_ = add_part(file);
    const int64_t parts = integer("split.count", 1);
    if (parts > 1) add_other_parts(parts);
    if (const TensorInfo* repeated = index_tensors()) {
      throw Error(ErrorKind::kBadFile, "open GGUF",
                  fmt::format("{}: tensor {} is in an earlier part too",
                              files_[repeated->file].string(), printable(repeated->name)));
    }
  }

  std::string_view format() const override { return "gguf"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::vector<fs::path>& files() const override { return files_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override {
    return maps_.at(tensor.file).bytes().subspan(tensor.offset, tensor.bytes);
  }
  void release(const TensorInfo& tensor) const override {
    maps_.at(tensor.file).release(tensor.offset, tensor.bytes);
  }

  bool has(std::string_view key) const override { return find_key(key) != nullptr; }
  const GgufValue* find_value(std::string_view key) const override {
    const GgufKey* found = find_key(key);
    return found ? &found->value : nullptr;
  }
  std::vector<std::string> keys() const override {
    std::vector<std::string> names;
    for (const GgufKey& key : header_.keys) names.push_back(key.name);
    return names;
  }
  std::string place(std::string_view key) const override {
    const GgufKey* found = find_key(key);
    const std::string name = fmt::format("{}: key {}", files_.front().string(), printable(key));
    return found ? fmt::format("{}, byte {}", name, found->byte) : name;
  }

 private:
  const GgufKey* find_key(std::string_view key) const {
    const auto found = header_.by_name.find(std::string(key));
    return found == header_.by_name.end() ? nullptr : &header_.keys[found->second];
  }

  // Takes the tensors and notes out of the header of `file` and returns the rest.
  GgufHeader add_part(const fs::path& file) {
    const MappedFile& map = maps_.emplace_back(file);
    files_.push_back(file);
    GgufHeader header = read_gguf_header(map.bytes(), file.string());
    for (TensorInfo& tensor : header.tensors) {
      tensor.file = static_cast<int>(files_.size()) - 1;
      tensors_.push_back(std::move(tensor));
    }
    for (const std::string& note : header.notes) notes_.push_back(file.string() + ": " + note);
    header.tensors.clear();
    return header;
  }

  void add_other_parts(int64_t parts) {
    const int64_t number = integer("split.no", 0);
    if (number != 0) {
      throw Error(
          ErrorKind::kUsage, "open GGUF",
          fmt::format("{} is part {} of {}", files_.front().string(), number + 1, parts),
          fmt::format("give the first part, whose name ends in -00001-of-{:05}.gguf", parts));
    }
    const std::vector<fs::path> names = gguf_part_names(files_.front(), parts);
    for (int64_t part = 1; part < parts; ++part) {
      const GgufHeader header = add_part(names[part]);
      check_split_key(header, "split.no", part);
      check_split_key(header, "split.count", parts);
    }
    const int64_t all = static_cast<int64_t>(tensors_.size());
    if (const int64_t expected = integer("split.tensors.count", all); expected != all) {
      throw Error(ErrorKind::kBadFile, "open GGUF",
                  fmt::format("{}: {}, the parts hold {} tensors", place("split.tensors.count"),
                              expected, all));
    }
  }

  // For the part added last.
  void check_split_key(const GgufHeader& header, const std::string& key, int64_t expected) const {
    const auto found = header.by_name.find(key);
    const int64_t* value = found == header.by_name.end()
                               ? nullptr
                               : std::get_if<int64_t>(&header.keys[found->second].value);
    if (value && *value == expected) return;
    throw Error(ErrorKind::kBadFile, "open GGUF",
                fmt::format("{}: key {} is {}, {} is expected", files_.back().string(), key,
                            value ? std::to_string(*value) : "missing or no integer", expected),
                "the parts do not belong together; fetch all of them again");
  }

  std::vector<MappedFile> maps_;
  GgufHeader header_;  // of the first part, without its tensors
  std::vector<TensorInfo> tensors_;
  std::vector<fs::path> files_;
  std::vector<std::string> notes_;
};

std::string describe(const GgufValue& value) {
  struct Describer {
    std::string operator()(int64_t number) const { return fmt::format("integer {}", number); }
    std::string operator()(uint64_t number) const { return fmt::format("integer {}", number); }
    std::string operator()(double number) const { return fmt::format("number {}", number); }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(const std::string& text) const {
      return "text \"" + printable(text) + "\"";
    }
    std::string operator()(const std::vector<int64_t>& array) const {
      return fmt::format("an array of {} integers", array.size());
    }
    std::string operator()(const std::vector<double>& array) const {
      return fmt::format("an array of {} numbers", array.size());
    }
    std::string operator()(const std::vector<std::string>& array) const {
      return fmt::format("an array of {} texts", array.size());
    }
  };
  return std::visit(Describer{}, value);
}

[[noreturn]] void refuse_type(const GgufFile& file, std::string_view key, std::string_view wanted) {
  throw Error(ErrorKind::kBadFile, "read GGUF metadata",
              fmt::format("{}: wrong value type: {}, {} is expected", file.place(key),
                          describe(*file.find_value(key)), wanted));
}

const GgufValue& required(const GgufFile& file, std::string_view key) {
  if (const GgufValue* value = file.find_value(key)) return *value;
  throw Error(ErrorKind::kBadFile, "read GGUF metadata", file.place(key) + " is missing");
}

template <typename T>
const T& get(const GgufFile& file, std::string_view key, std::string_view wanted) {
  const T* value = std::get_if<T>(&required(file, key));
  if (!value) refuse_type(file, key, wanted);
  return *value;
}

}  // namespace

std::unique_ptr<GgufFile> GgufFile::open(const fs::path& file) {
  return std::make_unique<MappedGguf>(file);
}

int64_t GgufFile::integer(std::string_view key) const {
  return get<int64_t>(*this, key, "an integer below 2^63");
}

double GgufFile::number(std::string_view key) const {
  const GgufValue& value = required(*this, key);
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  const double number = get<double>(*this, key, "a number");
  if (!std::isfinite(number)) refuse_type(*this, key, "a finite number");
  return number;
}

std::string GgufFile::text(std::string_view key) const {
  return get<std::string>(*this, key, "text");
}
bool GgufFile::flag(std::string_view key) const { return get<bool>(*this, key, "true or false"); }
std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  return get<std::vector<int64_t>>(*this, key, "an array of integers");
}
std::vector<double> GgufFile::numbers(std::string_view key) const {
  return get<std::vector<double>>(*this, key, "an array of real numbers");
}
std::vector<std::string> GgufFile::texts(std::string_view key) const {
  return get<std::vector<std::string>>(*this, key, "an array of texts");
}

int64_t GgufFile::integer(std::string_view key, int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}
double GgufFile::number(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}
std::string GgufFile::text(std::string_view key, std::string fallback) const {
  return has(key) ? text(key) : std::move(fallback);
}
bool GgufFile::flag(std::string_view key, bool fallback) const {
  return has(key) ? flag(key) : fallback;
}

}  // namespace sinkscope::io
