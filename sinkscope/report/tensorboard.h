#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/store/sheet.h"

namespace sinkscope::report {

/// One number under its name; kept as float32.
struct Scalar {
  std::string tag;
  double value = 0;
};

struct StepScalars {
  int64_t step = 0;
  std::vector<Scalar> scalars;
};

/// The rows of one run of a table with a column "step", by step upwards. A number's tag is the
/// table, what labels its row, and its column: "attention/L0H1/nop/mass". Labels are the columns
/// layer and head, texts and index; the column "run" is left out, for each run has a file of its
/// own. No data and lists have no place here.
std::vector<StepScalars> step_scalars(const store::SheetTable& table,
                                      std::span<const store::SheetRow> rows);

/// A file of TensorBoard, which finds those with "tfevents" in their name. Format: TFRecord (length
/// u64, masked CRC-32C of it, data, masked CRC-32C of the data) of Event messages (tensorflow's
/// event.proto and summary.proto), the first naming the version brain.Event:2.
class EventFile {
 public:
  /// Anew, or with `from_step` going on with the file that is there: its records of that step and
  /// later are dropped, and one that a killed run left unfinished. Throws kTooLarge when the disk
  /// is full, kUsage when the place is not writable, kBadFile when the file that is there is none
  /// of TensorBoard's.
  explicit EventFile(const std::filesystem::path& file, std::optional<int64_t> from_step = {});
  EventFile(const EventFile&) = delete;
  ~EventFile();

  /// `wall_time` in seconds since 1970. The record is with the system when this returns. Errors as
  /// above; nothing is written without scalars.
  void add(double wall_time, int64_t step, std::span<const Scalar> scalars);

 private:
  void write(const std::string& bytes);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// CRC-32C (Castagnoli), as in RFC 3720.
uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace sinkscope::report
