#include "sinkscope/report/tensorboard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "sinkscope/base/error.h"
#include "tests/report/sample_training.h"
#include "tests/support/paths.h"

namespace sinkscope::report {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// A second way to the checksum: a bit at a time, by the definition.
uint32_t slow_crc(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78 : 0);
  }
  return crc ^ 0xFFFFFFFF;
}

uint32_t slow_mask(std::string_view bytes) {
  const uint32_t crc = slow_crc(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

/// What a reader of the format finds; protocol buffers by their wire format alone.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {
    while (place_ < bytes_.size()) {
      const std::string_view length = take(8);
      EXPECT_EQ(take_as<uint32_t>(), slow_mask(length));
      uint64_t size = 0;
      std::memcpy(&size, length.data(), sizeof(size));
      const std::string_view data = take(size);
      EXPECT_EQ(take_as<uint32_t>(), slow_mask(data));
      read_event(data);
    }
  }

  /// "version brain.Event:2", "1.5 s, step 7: a/b 0.25, c 1"
  std::vector<std::string> events;

 private:
  std::string_view take(size_t size) {
    const std::string_view part = std::string_view(bytes_).substr(place_, size);
    EXPECT_EQ(part.size(), size) << "a record is cut short";
    place_ += size;
    return part;
  }

  template <typename T>
  T take_as() {
    T value{};
    const std::string_view part = take(sizeof(T));
    if (part.size() == sizeof(T)) std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }

  struct Field {
    uint32_t number = 0;
    uint64_t varint = 0;
    std::string_view bytes;
  };

  static uint64_t varint(std::string_view& message) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<uint8_t>(message.at(0));
      message.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  static std::vector<Field> fields(std::string_view message) {
    std::vector<Field> all;
    while (!message.empty()) {
      const uint64_t key = varint(message);
      Field field{static_cast<uint32_t>(key >> 3), 0, {}};
      size_t size = 0;
      switch (key & 7) {
        case 0: field.varint = varint(message); break;
        case 1: size = 8; break;
        case 2: size = varint(message); break;
        case 5: size = 4; break;
        default: ADD_FAILURE() << "wire type " << (key & 7);
      }
      field.bytes = message.substr(0, size);
      message.remove_prefix(size);
      all.push_back(field);
    }
    return all;
  }

  template <typename T>
  static std::string number(std::string_view bytes) {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof(T));
    std::ostringstream text;
    text << value;
    return text.str();
  }

  static std::string values(std::string_view summary) {
    std::string text;
    for (const Field& value : fields(summary)) {
      EXPECT_EQ(value.number, 1u);
      if (!text.empty()) text += ", ";
      for (const Field& part : fields(value.bytes)) {
        if (part.number == 1) text += part.bytes;
        if (part.number == 2) text.append(" ").append(number<float>(part.bytes));
      }
    }
    return text;
  }

  void read_event(std::string_view data) {
    std::string time, step, text;
    for (const Field& field : fields(data)) {
      if (field.number == 1) time = number<double>(field.bytes);
      if (field.number == 2) step = std::to_string(static_cast<int64_t>(field.varint));
      if (field.number == 3) text.append("version ").append(field.bytes);
      if (field.number == 5) text += values(field.bytes);
    }
    if (!step.empty()) text.insert(0, time.append(" s, step ").append(step).append(": "));
    events.push_back(text);
  }

  std::string bytes_;
  size_t place_ = 0;
};

using Texts = std::vector<std::string>;

fs::path written(const std::string& name) {
  const fs::path file = test::scratch_directory(name) / "events.out.tfevents.1.sinkscope";
  EventFile events(file);
  const Scalar first[] = {{"losses/loss", 1.5}, {"losses/rate", 0.25}};
  const Scalar second[] = {{"losses/loss", 0.5}};
  events.add(1.5e9, 0, first);
  events.add(1.5e9 + 1, 300, second);
  events.add(1.5e9 + 2, 400, {});
  return file;
}

const Texts kWritten = {"version brain.Event:2",
                        "1.5e+09 s, step 0: losses/loss 1.5, losses/rate 0.25",
                        "1.5e+09 s, step 300: losses/loss 0.5"};

TEST(TensorBoard, ChecksumsAreThoseOfTheStandard) {
  const auto crc = [](std::string_view text) { return crc32c(std::as_bytes(std::span(text))); };
  EXPECT_EQ(crc("123456789"), 0xE3069283u);
  EXPECT_EQ(crc(""), 0u);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(crc(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(TensorBoard, ARecordIsTheOneThatTensorBoardWrites) {
  // RecordWriter of tensorboard 2.21 with Event(wall_time=1.5e9, step=300) and the value
  // losses/loss = 0.5.
  const unsigned char expected[] = {0x22, 0,    0,    0,    0,    0,    0,    0,    0x78, 0x11,
                                    0x3d, 0xfd, 0x09, 0,    0,    0,    0xc0, 0x0b, 0x5a, 0xd6,
                                    0x41, 0x10, 0xac, 0x02, 0x2a, 0x14, 0x0a, 0x12, 0x0a, 0x0b,
                                    'l',  'o',  's',  's',  'e',  's',  '/',  'l',  'o',  's',
                                    's',  0x15, 0,    0,    0,    0x3f, 0x77, 0xa1, 0x01, 0xf9};
  const fs::path file = test::scratch_directory("events_bytes") / "tfevents";
  EventFile(file).add(1.5e9, 300, std::vector<Scalar>{{"losses/loss", 0.5}});
  const std::string bytes = read(file);
  ASSERT_GT(bytes.size(), sizeof(expected));
  EXPECT_EQ(bytes.substr(bytes.size() - sizeof(expected)),
            std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(TensorBoard, AnIndependentReaderFindsWhatWasWritten) {
  EXPECT_EQ(Reader(read(written("events_read"))).events, kWritten);
}

TEST(TensorBoard, GoingOnDropsWhatComesAgainAndWhatWasCutShort) {
  const fs::path file = written("events_go_on");
  const std::string whole = read(file);
  const Scalar scalars[] = {{"x", 2}};

  write(file, whole.substr(0, whole.size() - 1));  // as a killed run leaves it
  EventFile(file, kAll).add(1, 400, scalars);
  EXPECT_EQ(Reader(read(file)).events, (Texts{kWritten[0], kWritten[1], "1 s, step 400: x 2"}));

  write(file, whole);
  EventFile(file, 300).add(1, 300, scalars);
  EXPECT_EQ(Reader(read(file)).events, (Texts{kWritten[0], kWritten[1], "1 s, step 300: x 2"}));

  write(file, whole);
  EventFile(file, 301).add(1, 301, scalars);
  EXPECT_EQ(Reader(read(file)).events,
            (Texts{kWritten[0], kWritten[1], kWritten[2], "1 s, step 301: x 2"}));

  EventFile(file, 0).add(1, 0, scalars);
  EXPECT_EQ(Reader(read(file)).events, (Texts{kWritten[0], "1 s, step 0: x 2"}));
}

TEST(TensorBoard, GoingOnBeginsAFileThatIsNotThereOrHardlyBegun) {
  const fs::path file = test::scratch_directory("events_begin") / "tfevents";
  EventFile(file, 5).add(1, -7, std::vector<Scalar>{{"x", 2}});
  const Texts expected = {kWritten[0], "1 s, step -7: x 2"};
  EXPECT_EQ(Reader(read(file)).events, expected);
  write(file, read(file).substr(0, 20));
  EventFile(file, 5).add(1, -7, std::vector<Scalar>{{"x", 2}});
  EXPECT_EQ(Reader(read(file)).events, expected);
}

TEST(TensorBoard, AFileOfAnotherKindIsNotTouched) {
  const fs::path file = test::scratch_directory("events_other") / "notes.txt";
  const std::string notes(100, 'n');
  write(file, notes);
  try {
    EventFile events(file, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kBadFile);
    EXPECT_NE(error.seen.find("notes.txt"), std::string::npos) << error.seen;
  }
  EXPECT_EQ(read(file), notes);
}

TEST(TensorBoard, AFullDiskAndAMissingFolderAreTold) {
  const fs::path folder = test::scratch_directory("events_full");
  try {
    EventFile events(folder / "absent" / "tfevents");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EventFile events(folder / "tfevents");
  ErrorKind kind = ErrorKind::kInternal;
  try {
    events.add(1, 1, std::vector<Scalar>{{std::string(100, 'x'), 2}});
  } catch (const Error& error) {
    kind = error.kind;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(kind, ErrorKind::kTooLarge);
}

/// "step tag value" of each scalar of a table of the sample's first run.
Texts scalars_of(const std::string& name) {
  const auto sheet = sample_training();
  Texts texts;
  for (const store::SheetTable& table : sheet->tables()) {
    if (table.name != name) continue;
    std::vector<store::SheetRow> rows = sheet->rows(name);
    std::erase_if(rows,
                  [](const auto& row) { return std::get<std::string>(row.cells[0]) != "seed-0"; });
    for (const StepScalars& step : step_scalars(table, rows)) {
      for (const Scalar& scalar : step.scalars) {
        std::ostringstream text;
        text << step.step << ' ' << scalar.tag << ' ' << scalar.value;
        texts.push_back(text.str());
      }
    }
  }
  return texts;
}

TEST(TensorBoard, TagsNameTheTableThePlaceTheLabelsAndTheColumn) {
  EXPECT_EQ(scalars_of("attention"),
            (Texts{"100 attention/L0H1/nop/mass 0.75", "100 attention/L0H1/active/mass 0.25"}));
  EXPECT_EQ(scalars_of("spectrum"), (Texts{"100 spectrum/L0H0/1/sigma 2.5"}));
  EXPECT_EQ(scalars_of("layers"), (Texts{"100 layers/L2/norm_key 8"}));
}

TEST(TensorBoard, NoDataIsNoScalar) {
  EXPECT_EQ(scalars_of("losses"),
            (Texts{"0 losses/loss 1.5", "0 losses/rate 0.003", "100 losses/loss 0.5"}));
  EXPECT_EQ(scalars_of("results"), Texts{});  // no number beside the step
}

TEST(TensorBoard, RowsOfAStepComeTogetherWhateverTheirOrder) {
  const store::SheetTable table = {"losses", "", {{"step", "", ""}, {"loss", "", ""}}};
  const store::SheetRow rows[] = {{"losses", {8.0, 1.0}},  {"losses", {2.0, 2.0}},
                                  {"losses", {kNaN, 3.0}}, {"losses", {8.0, 4.0}},
                                  {"losses", {"8", 5.0}},  {"losses", {}}};
  EXPECT_TRUE(step_scalars({"losses", "", {{"epoch", "", ""}, {"loss", "", ""}}}, rows).empty());
  const std::vector<StepScalars> steps = step_scalars(table, rows);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, 2);
  EXPECT_EQ(steps[1].step, 8);
  ASSERT_EQ(steps[1].scalars.size(), 2u);
  EXPECT_EQ(steps[1].scalars[1].value, 4.0);
}

}  // namespace
}  // namespace sinkscope::report
