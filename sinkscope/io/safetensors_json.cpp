#include "sinkscope/io/safetensors_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

using Json = nlohmann::json;

constexpr char kOperation[] = "read safetensors header";
constexpr std::string_view kMetadata = "__metadata__";

constexpr DType kTypes[] = {DType::kBool, DType::kU8,   DType::kI8,  DType::kI16, DType::kU16,
                            DType::kF16,  DType::kBF16, DType::kI32, DType::kU32, DType::kF32,
                            DType::kF64,  DType::kI64,  DType::kU64};
constexpr std::string_view kUnread[] = {"F4",          "F6_E2M3",     "F6_E3M2",
                                        "F8_E5M2",     "F8_E4M3",     "F8_E8M0",
                                        "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"};

// Events of the parser. The place in the document is one of the States; anything that does not
// fit there is refused at once.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, uint64_t file_offset, std::string file)
      : text_(text), file_offset_(file_offset), file_(std::move(file)) {}

  std::vector<SafetensorsEntry> take() { return std::move(entries_); }

  bool start_object(size_t) {
    switch (state_) {
      case State::kStart: state_ = State::kTop; return true;
      case State::kEntryStart: state_ = State::kEntry; return true;
      case State::kMetadataStart: state_ = State::kMetadata; return true;
      default: unexpected("an object");
    }
  }

  bool end_object() {
    if (state_ == State::kEntry) check_complete();
    state_ = State::kTop;
    return true;
  }

  bool key(std::string& name) {
    if (state_ == State::kTop) {
      if (!names_.insert(name).second) refuse("tensor " + printable(name) + " is given twice");
      if (name == kMetadata) {
        state_ = State::kMetadataStart;
      } else {
        entries_.emplace_back().name = name;
        state_ = State::kEntryStart;
      }
      field_.clear();
    } else {
      field_ = name;
      if (state_ == State::kEntry) check_field();
    }
    return true;
  }

  bool start_array(size_t) {
    if (state_ != State::kEntry) unexpected("an array");
    if (field_ == "shape") {
      entries_.back().shape.emplace();
    } else if (field_ == "data_offsets") {
      entries_.back().data_offsets.emplace();
    } else {
      unexpected("an array");
    }
    state_ = State::kArray;
    return true;
  }

  bool end_array() {
    state_ = State::kEntry;
    return true;
  }

  bool string(std::string& value) {
    if (state_ == State::kMetadata) return true;
    if (state_ != State::kEntry || field_ != "dtype") {
      unexpected("text \"" + printable(value) + "\"");
    }
    entries_.back().dtype = read_type(value);
    return true;
  }

  bool number_unsigned(uint64_t value) {
    if (state_ != State::kArray) unexpected(fmt::format("number {}", value));
    if (field_ == "data_offsets") {
      entries_.back().data_offsets->push_back(value);
      return true;
    }
    if (value > INT64_MAX) refuse(fmt::format("{}: {} is too large", place(), value));
    entries_.back().shape->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool number_integer(int64_t value) { unexpected(fmt::format("the negative number {}", value)); }
  bool number_float(double, const std::string& text) { unexpected("number " + printable(text)); }
  bool boolean(bool value) { unexpected(value ? "true" : "false"); }
  bool null() { unexpected("null"); }
  bool binary(Json::binary_t&) { unexpected("binary data"); }

  bool parse_error(size_t byte, const std::string&, const Json::exception&) {
    // The parser counts from 1 and stops behind the last byte it looked at.
    const size_t at = byte > 0 ? byte - 1 : 0;
    refuse(at >= text_.size()
               ? fmt::format("not valid JSON: the header ends at its byte {} (byte {} of the file) "
                             "in the middle",
                             text_.size(), file_offset_ + text_.size())
               : fmt::format("not valid JSON: byte {} of the header (byte {} of the file) is '{}'",
                             at, file_offset_ + at, printable(text_.substr(at, 1))));
  }

 private:
  enum class State { kStart, kTop, kEntryStart, kEntry, kArray, kMetadataStart, kMetadata };

  [[noreturn]] void refuse(const std::string& seen) const {
    throw Error(ErrorKind::kBadFile, kOperation, file_ + ": " + seen);
  }

  std::string place() const {
    switch (state_) {
      case State::kStart:
        return fmt::format("byte {}: an object is expected instead of a header", file_offset_);
      case State::kMetadataStart:
      case State::kMetadata:
        return fmt::format("key {}{}{}", kMetadata, field_.empty() ? "" : ".", printable(field_));
      default: break;
    }
    const std::string tensor = "tensor " + printable(entries_.back().name);
    return field_.empty() ? tensor : fmt::format("{}, {}", tensor, printable(field_));
  }

  [[noreturn]] void unexpected(const std::string& what) const {
    refuse(fmt::format("{}: {} does not belong here", place(), what));
  }

  void check_field() const {
    const SafetensorsEntry& entry = entries_.back();
    const bool again = (field_ == "dtype" && entry.dtype) || (field_ == "shape" && entry.shape) ||
                       (field_ == "data_offsets" && entry.data_offsets);
    if (again) refuse(place() + " is given twice");
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
      refuse(place() + ": a tensor has only dtype, shape and data_offsets");
    }
  }

  void check_complete() {
    const SafetensorsEntry& entry = entries_.back();
    field_.clear();
    if (!entry.dtype) refuse(place() + ": dtype is missing");
    if (!entry.shape) refuse(place() + ": shape is missing");
    if (!entry.data_offsets) refuse(place() + ": data_offsets is missing");
    if (entry.data_offsets->size() != 2) {
      refuse(fmt::format("{}: data_offsets has {} entries, not 2", place(),
                         entry.data_offsets->size()));
    }
  }

  DType read_type(const std::string& name) const {
    for (const DType type : kTypes) {
      if (dtype_name(type) == name) return type;
    }
    for (const std::string_view unread : kUnread) {
      if (unread != name) continue;
      throw Error(ErrorKind::kUnsupported, kOperation,
                  fmt::format("{}: {} \"{}\" is not supported", file_, place(), name),
                  "use a file of the model in F32, F16 or BF16");
    }
    refuse(fmt::format("{} \"{}\" is unknown", place(), printable(name)));
  }

  std::string_view text_;
  uint64_t file_offset_;
  std::string file_;
  State state_ = State::kStart;
  std::string field_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_json(std::string_view text, uint64_t file_offset,
                                                     const std::string& file) {
  HeaderReader reader(text, file_offset, file);
  Json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace sinkscope::io
