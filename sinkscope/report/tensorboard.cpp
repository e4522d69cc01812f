#include "sinkscope/report/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::report {
namespace {

using store::SheetCell;

constexpr const char* kOperation = "write TensorBoard events";
constexpr std::string_view kVersion = "brain.Event:2";

// Field numbers of Event, Summary and Summary.Value.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
constexpr uint32_t kValue = 1;
constexpr uint32_t kTag = 1, kSimpleValue = 2;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}();

template <typename T>
void put_fixed(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little, "the format is little endian");
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <typename T>
T get_fixed(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, WireType type) {
  put_varint(out, field << 3 | type);
}

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string version_event() {
  std::string event;
  put_key(event, kWallTime, kFixed64);
  put_fixed(event, 0.0);
  put_bytes(event, kFileVersion, kVersion);
  return event;
}

std::string scalars_event(double wall_time, int64_t step, std::span<const Scalar> scalars) {
  std::string event, summary;
  put_key(event, kWallTime, kFixed64);
  put_fixed(event, wall_time);
  put_key(event, kStep, kVarint);
  put_varint(event, static_cast<uint64_t>(step));
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, kTag, store::valid_utf8(scalar.tag));
    put_key(value, kSimpleValue, kFixed32);
    put_fixed(value, static_cast<float>(scalar.value));
    put_bytes(summary, kValue, value);
  }
  put_bytes(event, kSummary, summary);
  return event;
}

/// Keeps checksums apart from those of data that hold checksums themselves.
uint32_t masked(std::string_view bytes) {
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xA282EAD8u;
}

constexpr size_t kLengthBytes = 8, kCrcBytes = 4;
constexpr size_t kFrameBytes = kLengthBytes + 2 * kCrcBytes;

std::string record(const std::string& event) {
  std::string bytes;
  put_fixed<uint64_t>(bytes, event.size());
  put_fixed(bytes, masked(bytes));
  bytes += event;
  put_fixed(bytes, masked(event));
  return bytes;
}

/// The data of the record at the begin of `bytes`; none where it is cut short or damaged.
std::optional<std::string_view> first_record(std::string_view bytes) {
  if (bytes.size() < kFrameBytes) return std::nullopt;
  const auto length = get_fixed<uint64_t>(bytes);
  if (masked(bytes.substr(0, kLengthBytes)) != get_fixed<uint32_t>(bytes.substr(kLengthBytes)))
    return std::nullopt;
  if (length > bytes.size() - kFrameBytes) return std::nullopt;
  const std::string_view data = bytes.substr(kLengthBytes + kCrcBytes, length);
  const std::string_view crc = bytes.substr(kLengthBytes + kCrcBytes + length);
  return masked(data) == get_fixed<uint32_t>(crc) ? std::optional(data) : std::nullopt;
}

/// 0 for what is cut short; it ends the message.
uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  bytes = {};
  return 0;
}

/// The step of an Event; 0 where it names none, as protocol buffers leave out a zero.
int64_t step_of(std::string_view event) {
  while (!event.empty()) {
    const uint64_t key = take_varint(event);
    const uint64_t type = key & 7;
    uint64_t skipped = type == kFixed64 ? 8 : type == kFixed32 ? 4 : 0;
    if (type == kVarint || type == kBytes) {
      const uint64_t value = take_varint(event);
      if (key == (kStep << 3 | kVarint)) return static_cast<int64_t>(value);
      if (type == kBytes) skipped = value;
    }
    event.remove_prefix(std::min<uint64_t>(skipped, event.size()));
  }
  return 0;
}

/// The bytes of an event file that stay when it goes on from `from_step`.
size_t kept_bytes(std::string_view bytes, int64_t from_step) {
  size_t kept = 0;
  while (const auto event = first_record(bytes.substr(kept))) {
    if (kept > 0 && step_of(*event) >= from_step) break;
    kept += event->size() + kFrameBytes;
  }
  return kept;
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

enum class Role { kLeftOut, kLayer, kHead, kLabel, kNumber };

Role role_of(std::string_view name, const SheetCell& cell) {
  if (name == store::kRunColumn || name == store::kStepColumn) return Role::kLeftOut;
  if (std::holds_alternative<std::string>(cell)) return Role::kLabel;
  const auto* value = std::get_if<double>(&cell);
  if (!value || !std::isfinite(*value)) return Role::kLeftOut;
  if (name == "layer") return Role::kLayer;
  if (name == "head") return Role::kHead;
  return name == "index" ? Role::kLabel : Role::kNumber;
}

std::string label_text(const SheetCell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text ? *text : fmt::format("{}", std::get<double>(cell));
}

std::vector<Scalar> row_scalars(const store::SheetTable& table, const store::SheetRow& row) {
  const size_t columns = std::min(table.columns.size(), row.cells.size());
  std::string place, labels;
  for (size_t c = 0; c < columns; ++c) {
    const Role role = role_of(table.columns[c].name, row.cells[c]);
    if (role == Role::kLayer) place += fmt::format("L{}", label_text(row.cells[c]));
    if (role == Role::kHead) place += fmt::format("H{}", label_text(row.cells[c]));
    if (role == Role::kLabel) labels += fmt::format("/{}", label_text(row.cells[c]));
  }
  if (!place.empty()) place.insert(0, 1, '/');
  std::vector<Scalar> scalars;
  for (size_t c = 0; c < columns; ++c) {
    const std::string& name = table.columns[c].name;
    if (role_of(name, row.cells[c]) != Role::kNumber) continue;
    scalars.push_back({fmt::format("{}{}{}/{}", table.name, place, labels, name),
                       std::get<double>(row.cells[c])});
  }
  return scalars;
}

/// Steps are counts; a larger number was none.
constexpr double kMostSteps = 0x1p53;

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc = kCrcTable[(crc ^ std::to_integer<uint32_t>(byte)) & 0xFF] ^ (crc >> 8);
  }
  return ~crc;
}

std::vector<StepScalars> step_scalars(const store::SheetTable& table,
                                      std::span<const store::SheetRow> rows) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [](const auto& c) { return c.name == store::kStepColumn; });
  const auto column = static_cast<size_t>(found - table.columns.begin());
  std::map<int64_t, std::vector<Scalar>> steps;
  for (const store::SheetRow& row : rows) {
    const auto* step =
        column < row.cells.size() ? std::get_if<double>(&row.cells[column]) : nullptr;
    if (!step || !(std::abs(*step) < kMostSteps)) continue;
    std::vector<Scalar>& known = steps[static_cast<int64_t>(*step)];
    for (Scalar& scalar : row_scalars(table, row)) known.push_back(std::move(scalar));
  }
  std::vector<StepScalars> all;
  for (auto& [step, scalars] : steps) all.push_back({step, std::move(scalars)});
  return all;
}

EventFile::EventFile(const std::filesystem::path& file, std::optional<int64_t> from_step)
    : file_(file) {
  const std::string begin = record(version_event());
  size_t kept = 0;
  if (from_step) {
    const std::string bytes = read_bytes(file);
    kept = kept_bytes(bytes, *from_step);
    if (kept == 0 && bytes.size() >= begin.size()) {
      throw Error(ErrorKind::kBadFile, kOperation,
                  fmt::format("{}: no event file, or damaged at its begin", file.string()),
                  "move it away; a new one is begun where there is none");
    }
  }
  descriptor_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("open");
  try {
    if (ftruncate(descriptor_, static_cast<off_t>(kept)) != 0) fail("shorten");
    if (kept == 0) write(begin);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

EventFile::~EventFile() { close(descriptor_); }

void EventFile::add(double wall_time, int64_t step, std::span<const Scalar> scalars) {
  if (!scalars.empty()) write(record(scalars_event(wall_time, step, scalars)));
}

void EventFile::write(const std::string& bytes) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    left.remove_prefix(static_cast<size_t>(written));
  }
}

void EventFile::fail(const char* what) const {
  const int cause = errno;
  const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
  throw Error(full ? ErrorKind::kTooLarge : ErrorKind::kUsage, kOperation,
              fmt::format("{}: cannot {} the file: {}", file_.string(), what, std::strerror(cause)),
              full ? "free some space or choose another disk"
                   : "choose a directory that exists and is writable");
}

}  // namespace sinkscope::report
