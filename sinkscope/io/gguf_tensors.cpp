#include "sinkscope/io/gguf_tensors.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "sinkscope/io/gguf_metadata.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

constexpr uint32_t kMaxDimensions = 4;
constexpr size_t kMaxNameBytes = 64;

struct NumberedType {
  uint32_t number;
  DType type;
};

// clang-format off
constexpr NumberedType kTypes[] = {
    {0, DType::kF32}, {1, DType::kF16}, {2, DType::kQ4_0}, {3, DType::kQ4_1}, {6, DType::kQ5_0},
    {7, DType::kQ5_1}, {8, DType::kQ8_0}, {10, DType::kQ2_K}, {11, DType::kQ3_K},
    {12, DType::kQ4_K}, {13, DType::kQ5_K}, {14, DType::kQ6_K}, {16, DType::kIQ2_XXS},
    {17, DType::kIQ2_XS}, {18, DType::kIQ3_XXS}, {19, DType::kIQ1_S}, {20, DType::kIQ4_NL},
    {21, DType::kIQ3_S}, {22, DType::kIQ2_S}, {23, DType::kIQ4_XS}, {24, DType::kI8},
    {25, DType::kI16}, {26, DType::kI32}, {27, DType::kI64}, {28, DType::kF64},
    {29, DType::kIQ1_M}, {30, DType::kBF16}, {34, DType::kTQ1_0}, {35, DType::kTQ2_0},
    {39, DType::kMXFP4},
};

struct NamedType {
  uint32_t number;
  std::string_view name;
};
constexpr NamedType kUnread[] = {
    {9, "Q8_1"}, {15, "Q8_K"}, {40, "NVFP4"}, {41, "Q1_0"}, {42, "Q2_0"},
};
constexpr NamedType kRemoved[] = {
    {4, "Q4_2"}, {5, "Q4_3"}, {31, "Q4_0_4_4"}, {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"},
    {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};
// clang-format on

template <typename Table>
auto find_number(const Table& table, uint32_t number) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& entry) { return entry.number == number; });
  return found == std::end(table) ? nullptr : found;
}

DType read_type(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto number = cursor.number<uint32_t>("the type");
  if (const auto* known = find_number(kTypes, number)) return known->type;
  if (const auto* unread = find_number(kUnread, number)) {
    cursor.refuse(start, fmt::format("type {} ({}) is not supported", unread->name, number),
                  ErrorKind::kUnsupported, "use a file of the model in another quantisation");
  }
  if (const auto* removed = find_number(kRemoved, number)) {
    cursor.refuse(start,
                  fmt::format("type {} ({}) was removed from the format", number, removed->name),
                  ErrorKind::kBadFile, "convert the model again with a current version");
  }
  cursor.refuse(start, fmt::format("type {} unknown", number));
}

// Innermost first, as they stand in the file.
std::vector<int64_t> read_dimensions(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto count = cursor.number<uint32_t>("the number of dimensions");
  if (count > kMaxDimensions) {
    cursor.refuse(start, fmt::format("{} dimensions (at most {})", count, kMaxDimensions));
  }
  std::vector<int64_t> dimensions;
  int64_t elements = 1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t place = cursor.position();
    const auto dimension = cursor.number<uint64_t>("a dimension");
    if (dimension == 0) cursor.refuse(place, fmt::format("dimension {} is 0", i));
    dimensions.push_back(static_cast<int64_t>(dimension));
    if (dimension > INT64_MAX || __builtin_mul_overflow(elements, dimensions.back(), &elements)) {
      cursor.refuse(start + sizeof count,
                    fmt::format("the element count overflows at dimension {} of {}", i, dimension));
    }
  }
  return dimensions;
}

// Bytes of the data; `place` is where the dimensions stand.
uint64_t data_bytes(const GgufCursor& cursor, const TensorInfo& tensor, uint64_t place) {
  const int64_t block = block_elements(tensor.dtype);
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % block) {
    cursor.refuse(place, fmt::format("row length {} not a multiple of {}, the block of {}", row,
                                     block, dtype_name(tensor.dtype)));
  }
  int64_t bytes;
  if (__builtin_mul_overflow(tensor.elements() / block, block_bytes(tensor.dtype), &bytes)) {
    cursor.refuse(place, fmt::format("the size of {} {} elements overflows", tensor.elements(),
                                     dtype_name(tensor.dtype)));
  }
  return static_cast<uint64_t>(bytes);
}

std::string subject(const TensorInfo& tensor) { return "tensor " + printable(tensor.name); }

struct Description {
  TensorInfo tensor;      // offset: from the start of the data
  uint64_t offset_field;  // the byte where that offset stands
};

Description read_description(GgufCursor& cursor, std::vector<std::string>& notes) {
  Description result;
  TensorInfo& tensor = result.tensor;
  const uint64_t start = cursor.position();
  tensor.name = cursor.text("a tensor name");
  if (tensor.name.empty()) cursor.refuse(start, "a tensor name of length 0");
  cursor.set_subject(subject(tensor));
  if (tensor.name.size() > kMaxNameBytes) {
    notes.push_back(fmt::format("the name of {} at byte {} has {} bytes, the format allows {}",
                                subject(tensor), start, tensor.name.size(), kMaxNameBytes));
  }
  const uint64_t place = cursor.position() + sizeof(uint32_t);
  tensor.shape = read_dimensions(cursor);
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  tensor.dtype = read_type(cursor);
  tensor.bytes = data_bytes(cursor, tensor, place);
  result.offset_field = cursor.position();
  tensor.offset = cursor.number<uint64_t>("the offset of the data");
  return result;
}

// Turns offsets into the data into offsets into the file.
void place_data(GgufCursor& cursor, uint64_t alignment, std::vector<Description>& all,
                const std::vector<size_t>& order) {
  // No overflow: the alignment is below 2^63 and a header lies in memory.
  const uint64_t data_start = (cursor.position() + alignment - 1) / alignment * alignment;
  const uint64_t data_size = data_start < cursor.size() ? cursor.size() - data_start : 0;
  for (const size_t index : order) {
    const uint64_t place = all[index].offset_field;
    TensorInfo& tensor = all[index].tensor;
    cursor.set_subject(subject(tensor));
    if (tensor.offset % alignment) {
      cursor.refuse(place, fmt::format("offset {} is not a multiple of the alignment {}",
                                       tensor.offset, alignment));
    }
    if (tensor.offset >= data_size) {
      cursor.refuse(place,
                    fmt::format("points at data+{}, but the data end at data+{}, where the file "
                                "ends",
                                grouped(tensor.offset), grouped(data_size)),
                    ErrorKind::kBadFile, GgufCursor::kCutShort);
    }
    if (tensor.bytes > data_size - tensor.offset) {
      cursor.refuse(place,
                    fmt::format("needs {} bytes at data+{}, {} missing: the file ends at byte {}",
                                grouped(tensor.bytes), grouped(tensor.offset),
                                grouped(tensor.bytes - (data_size - tensor.offset)), cursor.size()),
                    ErrorKind::kBadFile, GgufCursor::kCutShort);
    }
    tensor.offset += data_start;
  }
}

void check_apart(GgufCursor& cursor, const std::vector<Description>& all,
                 const std::vector<size_t>& order) {
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = all[order[i - 1]].tensor;
    const TensorInfo& tensor = all[order[i]].tensor;
    if (tensor.offset >= before.offset + before.bytes) continue;
    cursor.set_subject(subject(tensor));
    cursor.refuse(
        all[order[i]].offset_field,
        fmt::format("its data at byte {} overlap those of {} (bytes {} to {})", tensor.offset,
                    subject(before), before.offset, before.offset + before.bytes));
  }
}

}  // namespace

void read_gguf_tensors(GgufCursor& cursor, uint64_t count, GgufHeader& header) {
  const uint64_t alignment = gguf_alignment(cursor, header);
  std::vector<Description> all;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    cursor.set_subject(fmt::format("tensor {} of {}", i + 1, count));
    const uint64_t start = cursor.position();
    all.push_back(read_description(cursor, header.notes));
    if (!names.insert(all.back().tensor.name).second) {
      cursor.refuse(start, "described a second time");
    }
  }
  if (all.empty()) return;
  // In order of the data, so that the first tensor that a cut file lacks is the one named.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return all[a].tensor.offset < all[b].tensor.offset; });
  place_data(cursor, alignment, all, order);
  check_apart(cursor, all, order);
  const TensorInfo& last = all[order.back()].tensor;
  const uint64_t end = (last.offset + last.bytes + alignment - 1) / alignment * alignment;
  if (cursor.size() > end) {
    header.notes.push_back(fmt::format("{} trailing bytes after the last tensor, at byte {}",
                                       grouped(cursor.size() - end), end));
  }
  cursor.set_subject("");
  header.tensors.reserve(all.size());
  for (Description& description : all) header.tensors.push_back(std::move(description.tensor));
}

}  // namespace sinkscope::io
