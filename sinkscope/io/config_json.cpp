#include "sinkscope/io/config_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/foreign_file.h"
#include "sinkscope/io/json_text.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;
constexpr char kOperation[] = "read config";

[[noreturn]] void refuse(const std::string& seen, const std::string& hint = {}) {
  throw Error(ErrorKind::kBadFile, kOperation, seen, hint);
}

const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

struct Found {
  std::string_view name;
  const Json* value = nullptr;
};

Found find_first(const Json& object, Config::Names names) {
  for (const std::string_view name : names) {
    if (const Json* value = find(object, name)) return {name, value};
  }
  return {*names.begin(), nullptr};
}

// Conversions: what was wanted, and nothing when the value is something else.
struct AsInteger {
  static constexpr char kWanted[] = "an integer";
  static std::optional<int64_t> read(const Json& value) {
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return std::nullopt;
    if (value.is_number_integer()) return value.get<int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const double number = value.get<double>();
    // Above 2^53 a double no longer says which integer was meant.
    if (number != std::trunc(number) || std::abs(number) > 0x1p53) return std::nullopt;
    return static_cast<int64_t>(number);
  }
};

struct AsNumber {
  static constexpr char kWanted[] = "a finite number";
  static std::optional<double> read(const Json& value) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
    return value.get<double>();
  }
};

struct AsFlag {
  static constexpr char kWanted[] = "true or false";
  static std::optional<bool> read(const Json& value) {
    if (!value.is_boolean()) return std::nullopt;
    return value.get<bool>();
  }
};

struct AsText {
  static constexpr char kWanted[] = "text";
  static std::optional<std::string> read(const Json& value) {
    if (!value.is_string()) return std::nullopt;
    return value.get<std::string>();
  }
};

}  // namespace

std::string Config::place(std::string_view key) const {
  return fmt::format("{}: key {}{}", file_, path_, printable(key));
}

template <typename As>
auto Config::optional(Names names) const {
  const Found found = find_first(*json_, names);
  using Result = decltype(As::read(*json_));
  if (!found.value) return Result{};
  const Result result = As::read(*found.value);
  if (!result) {
    refuse(fmt::format("{} is {}, {} is expected", place(found.name), describe_json(*found.value),
                       As::kWanted));
  }
  return result;
}

template <typename As>
auto Config::required(Names names) const {
  auto result = optional<As>(names);
  if (!result) {
    std::string others;
    for (const std::string_view name : names) {
      if (name != *names.begin()) others += fmt::format(" (or {})", name);
    }
    refuse(fmt::format("{}{} is missing", place(*names.begin()), others));
  }
  return *std::move(result);
}

template <typename As, typename Value>
std::vector<Value> Config::list(std::string_view key) const {
  const Json* array = find(*json_, key);
  std::vector<Value> values;
  if (!array) return values;
  if (!array->is_array()) {
    refuse(fmt::format("{} is {}, an array is expected", place(key), describe_json(*array)));
  }
  values.reserve(array->size());
  for (const Json& element : *array) {
    auto value = As::read(element);
    if (!value) {
      refuse(fmt::format("{}: element {} is {}, {} is expected", place(key), values.size(),
                         describe_json(element), As::kWanted));
    }
    values.push_back(*std::move(value));
  }
  return values;
}

Config::Config(std::shared_ptr<const Json> json, std::string file, std::string path)
    : json_(std::move(json)),
      file_(std::move(file)),
      path_(std::move(path)),
      where_(path_.empty() ? file_ : file_ + ": " + path_.substr(0, path_.size() - 1)) {}

Config Config::load(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  if (bytes.size() > kMaxConfigBytes) {
    refuse(fmt::format("{}: {} bytes, at most {} are read", file.string(), grouped(bytes.size()),
                       grouped(kMaxConfigBytes)));
  }
  refuse_foreign(bytes, kOperation, file.string());
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

Config Config::parse(std::string_view text, std::string where) {
  auto json = std::make_shared<const Json>(parse_json(text, kOperation, where));
  if (!json->is_object()) {
    refuse(fmt::format("{}: byte 0: is {}, an object is expected", where, describe_json(*json)));
  }
  return Config(std::move(json), std::move(where), "");
}

bool Config::has(std::string_view key) const { return find(*json_, key) != nullptr; }

int64_t Config::integer(Names names) const { return required<AsInteger>(names); }
double Config::number(Names names) const { return required<AsNumber>(names); }
bool Config::flag(Names names) const { return required<AsFlag>(names); }
std::string Config::text(Names names) const { return required<AsText>(names); }

int64_t Config::integer(Names names, int64_t fallback) const {
  return optional<AsInteger>(names).value_or(fallback);
}
double Config::number(Names names, double fallback) const {
  return optional<AsNumber>(names).value_or(fallback);
}
bool Config::flag(Names names, bool fallback) const {
  return optional<AsFlag>(names).value_or(fallback);
}
std::string Config::text(Names names, std::string_view fallback) const {
  return optional<AsText>(names).value_or(std::string(fallback));
}

std::vector<int64_t> Config::integers(std::string_view key) const {
  return list<AsInteger, int64_t>(key);
}
std::vector<double> Config::numbers(std::string_view key) const {
  return list<AsNumber, double>(key);
}
std::vector<std::string> Config::texts(std::string_view key) const {
  return list<AsText, std::string>(key);
}

std::optional<Config> Config::child(std::string_view key) const {
  const Json* value = find(*json_, key);
  if (!value) return std::nullopt;
  if (!value->is_object()) {
    refuse(fmt::format("{} is {}, an object is expected", place(key), describe_json(*value)));
  }
  // The child shares the document, which it keeps alive.
  return Config({json_, value}, file_, path_ + std::string(key) + ".");
}

}  // namespace sinkscope::io
