#include "sinkscope/io/gguf_metadata.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

constexpr uint64_t kMaxKeyBytes = 65535;  // the format's own limit

enum ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64,
  kValueTypes
};

// Calls `use` with a value of the C++ type that a plain value type is stored as.
template <typename Use>
void with_plain_type(uint32_t type, Use use) {
  switch (type) {
    case kU8: return use(uint8_t{});
    case kI8: return use(int8_t{});
    case kU16: return use(uint16_t{});
    case kI16: return use(int16_t{});
    case kU32: return use(uint32_t{});
    case kI32: return use(int32_t{});
    case kF32: return use(float{});
    case kU64: return use(uint64_t{});
    case kI64: return use(int64_t{});
    case kF64: return use(double{});
    default: return;
  }
}

uint64_t least_bytes(uint32_t type) {
  if (type == kBool) return 1;
  uint64_t bytes = 8;  // texts: their length
  with_plain_type(type, [&](auto example) { bytes = sizeof example; });
  return bytes;
}

bool read_bool(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto value = cursor.number<uint8_t>("the value");
  if (value > 1) cursor.refuse(start, fmt::format("{} is neither false (0) nor true (1)", value));
  return value == 1;
}

bool is_negative(int64_t value) { return value < 0; }

template <typename To, typename From>
std::vector<To> read_numbers(GgufCursor& cursor, uint64_t count) {
  std::vector<To> values(count);
  for (To& value : values) value = static_cast<To>(cursor.number<From>("an element"));
  return values;
}

template <typename T>
GgufValue read_number_array(GgufCursor& cursor, uint64_t count) {
  if constexpr (std::is_floating_point_v<T>) return read_numbers<double, T>(cursor, count);
  GgufCursor from_here = cursor;
  auto values = read_numbers<int64_t, T>(cursor, count);
  // Above int64 the array is kept as real numbers, which the getter of integers refuses.
  if (std::is_same_v<T, uint64_t> && std::any_of(values.begin(), values.end(), is_negative)) {
    return read_numbers<double, T>(from_here, count);
  }
  return values;
}

GgufValue read_array(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto type = cursor.number<uint32_t>("the element type");
  if (type == kArray) {
    cursor.refuse(start, "a nested array (array of arrays), which is not supported");
  }
  if (type >= kValueTypes) cursor.refuse(start, fmt::format("element type {} unknown", type));
  const auto count = cursor.number<uint64_t>("the length of the array");
  if (count > cursor.remaining() / least_bytes(type)) {
    cursor.refuse(start,
                  fmt::format("an array of {} elements runs past the end of the file at "
                              "byte {}",
                              grouped(count), cursor.size()),
                  ErrorKind::kBadFile, GgufCursor::kCutShort);
  }
  if (type == kText) {
    std::vector<std::string> texts(count);
    for (std::string& text : texts) text = cursor.text("a text");
    return texts;
  }
  if (type == kBool) {
    std::vector<int64_t> flags(count);
    for (int64_t& flag : flags) flag = read_bool(cursor);
    return flags;
  }
  GgufValue value;
  with_plain_type(
      type, [&](auto example) { value = read_number_array<decltype(example)>(cursor, count); });
  return value;
}

GgufValue read_value(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto type = cursor.number<uint32_t>("the value type");
  if (type >= kValueTypes) cursor.refuse(start, fmt::format("value type {} unknown", type));
  if (type == kArray) return read_array(cursor);
  if (type == kText) return std::string(cursor.text("a text"));
  if (type == kBool) return read_bool(cursor);
  GgufValue value;
  with_plain_type(type, [&](auto example) {
    using T = decltype(example);
    const T number = cursor.number<T>("the value");
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<double>(number);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      if (number > INT64_MAX)
        value = number;
      else
        value = static_cast<int64_t>(number);
    } else {
      value = static_cast<int64_t>(number);
    }
  });
  return value;
}

}  // namespace

void read_gguf_keys(GgufCursor& cursor, uint64_t count, GgufHeader& header) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t start = cursor.position();
    cursor.set_subject(fmt::format("key {} of {}", i + 1, count));
    const std::string_view name = cursor.text("a key");
    if (name.empty()) cursor.refuse(start, "a key of length 0");
    if (name.size() > kMaxKeyBytes) {
      cursor.refuse(start, fmt::format("a key of {} bytes, at most {}", name.size(), kMaxKeyBytes));
    }
    cursor.set_subject("key " + printable(name));
    if (!is_utf8(name)) {
      header.notes.push_back(fmt::format("key {} at byte {} is not UTF-8", printable(name), start));
    }
    const auto [first, is_new] = header.by_name.emplace(name, header.keys.size());
    if (!is_new) {
      cursor.refuse(start, fmt::format("a second time; it stands at byte {} already",
                                       header.keys[first->second].byte));
    }
    header.keys.push_back({std::string(name), read_value(cursor), start});
  }
  cursor.set_subject("");
}

uint64_t gguf_alignment(const GgufCursor& cursor, const GgufHeader& header) {
  constexpr uint64_t kDefault = 32;
  const auto found = header.by_name.find("general.alignment");
  if (found == header.by_name.end()) return kDefault;
  const GgufKey& key = header.keys[found->second];
  const auto* value = std::get_if<int64_t>(&key.value);
  if (!value) {
    cursor.refuse(key.byte, "key general.alignment: wrong value type, an integer is expected");
  }
  if (*value < 8 || !std::has_single_bit(static_cast<uint64_t>(*value))) {
    cursor.refuse(key.byte, fmt::format("key general.alignment: {} is not a power of two of at "
                                        "least 8",
                                        *value));
  }
  return static_cast<uint64_t>(*value);
}

}  // namespace sinkscope::io
