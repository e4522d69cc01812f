#include "sinkscope/report/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

template <typename T>
T read(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Entries by the central directory, each checked against its local header and its crc.
std::map<std::string, std::string> unzip(const std::string& bytes) {
  std::map<std::string, std::string> entries;
  const size_t end = bytes.size() - 22;
  EXPECT_EQ(read<uint32_t>(bytes, end), 0x06054B50u);
  size_t at = read<uint32_t>(bytes, end + 16);
  EXPECT_EQ(at + read<uint32_t>(bytes, end + 12), end);
  for (int i = 0; i < read<uint16_t>(bytes, end + 10); ++i) {
    EXPECT_EQ(read<uint32_t>(bytes, at), 0x02014B50u);
    const uint32_t crc = read<uint32_t>(bytes, at + 16), size = read<uint32_t>(bytes, at + 24);
    const uint16_t name_size = read<uint16_t>(bytes, at + 28);
    const uint32_t local = read<uint32_t>(bytes, at + 42);
    const std::string name = bytes.substr(at + 46, name_size);
    EXPECT_EQ(read<uint32_t>(bytes, local), 0x04034B50u);
    EXPECT_EQ(read<uint32_t>(bytes, local + 14), crc);
    EXPECT_EQ(read<uint32_t>(bytes, local + 18), size);
    EXPECT_EQ(bytes.substr(local + 30, name_size), name);
    entries[name] = bytes.substr(local + 30 + name_size, size);
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(entries[name].data()), size), crc) << name;
    at += 46 + name_size;
  }
  return entries;
}

struct Npy {
  std::string header;
  std::vector<double> values;
};

Npy read_npy(const std::string& bytes) {
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t data = 10u + read<uint16_t>(bytes, 8);
  EXPECT_EQ(data % 64, 0u);
  EXPECT_EQ(bytes[data - 1], '\n');
  Npy npy{bytes.substr(10, data - 10), std::vector<double>((bytes.size() - data) / 8)};
  std::memcpy(npy.values.data(), bytes.data() + data, npy.values.size() * 8);
  return npy;
}

TEST(Npz, HoldsEveryMetricInCOrderUnderItsJsonKey) {
  const store::RunResult run = test::read_sample({});
  std::ostringstream out;
  write_npz(run, out);
  const auto entries = unzip(out.str());
  EXPECT_EQ(entries.size(), run.metrics.size() + 1);
  ASSERT_TRUE(entries.contains("alpha.npy") && entries.contains("sink_share.npy"));

  const Npy alpha = read_npy(entries.at("alpha.npy"));
  EXPECT_NE(alpha.header.find("'descr': '<f8'"), std::string::npos);
  EXPECT_NE(alpha.header.find("'shape': (4, 4, 4, )"), std::string::npos) << alpha.header;
  ASSERT_EQ(alpha.values.size(), 64u);
  EXPECT_EQ(alpha.values[(3 * 4 + 1) * 4 + 0], run.head("alpha", 3, 1, 0));
  EXPECT_EQ(alpha.values[(3 * 4 + 1) * 4 + 2], run.head("alpha", 3, 1, 2));

  EXPECT_TRUE(std::isnan(read_npy(entries.at("ratio_out.npy")).values[0]));
  EXPECT_NE(read_npy(entries.at("loss.npy")).header.find("'shape': ()"), std::string::npos);
  const Npy curve = read_npy(entries.at("alpha_by_position.npy"));
  EXPECT_NE(curve.header.find("'shape': (4, 4, 8, )"), std::string::npos);
  EXPECT_EQ(curve.values[17], 0.125);
}

TEST(Npz, LayersThatWereNotMeasuredAreNaN) {
  test::Sample sample;
  sample.layers = 2;
  sample.facts.layers = 3, sample.facts.heads = 4;
  std::ostringstream out;
  write_npz(test::read_sample(sample), out);
  const Npy entropy = read_npy(unzip(out.str()).at("entropy.npy"));
  ASSERT_EQ(entropy.values.size(), 12u);
  EXPECT_FALSE(std::isnan(entropy.values[7]));
  EXPECT_TRUE(std::isnan(entropy.values[8]));
}

TEST(Npz, EqualRunsAreEqualBytes) {
  std::ostringstream first, second;
  write_npz(test::read_sample({}), first);
  write_npz(test::read_sample({}), second);
  EXPECT_EQ(first.str(), second.str());
}

}  // namespace
}  // namespace sinkscope::report
