#include "sinkscope/report/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/report/text.h"

namespace sinkscope::report {
namespace {

using diagnostics::kNoData;
using diagnostics::Scope;
using store::RunResult;
using store::StoredMetric;

static_assert(std::endian::native == std::endian::little,
              "numbers are written as they lie in memory");

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;  ///< C order
};

/// A .npy file, format 1.0: magic, header padded so that the data begin at a multiple of 64.
std::string npy_bytes(const Array& array) {
  std::string shape;
  for (const int64_t size : array.shape) shape += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", shape);
  constexpr size_t kPrefix = 10;
  header.append((64 - (kPrefix + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.values.data()),
               array.values.size() * sizeof(double));
  return bytes;
}

/// A zip of stored entries (APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16).
class Zip {
 public:
  explicit Zip(std::ostream& out) : out_(out) {}

  void add(const std::string& name, const std::string& bytes) {
    const uint64_t end = offset_ + 30 + name.size() + bytes.size();
    if (end > std::numeric_limits<uint32_t>::max()) {
      throw Error(
          ErrorKind::kTooLarge, "write npz", fmt::format("{} would end at byte {}", name, end),
          "a zip holds 4 GiB; measure fewer layers or shorter sequences, or read the store");
    }
    const uint32_t crc = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    const uint32_t size = static_cast<uint32_t>(bytes.size());
    std::string entry;
    put16(entry, 20), put16(entry, 0), put16(entry, 0);  // version 2.0, no flags, stored
    put16(entry, 0), put16(entry, kDate),
        put32(entry, crc);  // a fixed date: equal runs, equal bytes
    put32(entry, size), put32(entry, size), put16(entry, static_cast<uint32_t>(name.size())),
        put16(entry, 0);
    put32(central_, 0x02014B50), put16(central_, 20);
    central_ += entry;
    put16(central_, 0), put16(central_, 0), put16(central_, 0), put32(central_, 0);
    put32(central_, static_cast<uint32_t>(offset_));
    central_ += name;
    ++entries_;
    std::string local;
    put32(local, 0x04034B50);
    out_ << local << entry << name << bytes;
    offset_ = end;
  }

  void finish() {
    std::string end;
    put32(end, 0x06054B50), put16(end, 0), put16(end, 0), put16(end, entries_),
        put16(end, entries_);
    put32(end, static_cast<uint32_t>(central_.size())), put32(end, static_cast<uint32_t>(offset_));
    put16(end, 0);
    out_ << central_ << end;
  }

 private:
  static constexpr uint32_t kDate = 33;  // 1980-01-01, the first a zip can hold

  static void put16(std::string& to, uint32_t value) {
    to += {static_cast<char>(value & 0xFF), static_cast<char>(value >> 8 & 0xFF)};
  }
  static void put32(std::string& to, uint32_t value) { put16(to, value), put16(to, value >> 16); }

  std::ostream& out_;
  std::string central_;
  uint64_t offset_ = 0;
  uint32_t entries_ = 0;
};

Array metric_array(const RunResult& run, const StoredMetric& metric) {
  Array array;
  if (metric.scope != Scope::kSequence) array.shape.push_back(run.layers);
  if (metric.scope == Scope::kHead) array.shape.push_back(run.heads);
  if (metric.width > 1) array.shape.push_back(metric.width);
  const size_t row = static_cast<size_t>(metric.width) *
                     static_cast<size_t>(metric.scope == Scope::kHead ? run.heads : 1);
  for (const auto& values : run.value.at(metric.name)) {
    array.values.insert(array.values.end(), values.begin(), values.end());
    array.values.insert(array.values.end(), row - values.size(), kNoData);
  }
  return array;
}

/// alpha [L, H, T], NaN where no query of a measured layer saw the key.
Array alpha_array(const RunResult& run) {
  int64_t positions = 0;
  for (const store::Curve& curve : run.curves) positions = std::max(positions, curve.positions);
  Array array{{run.layers, run.heads, positions}, {}};
  array.values.assign(static_cast<size_t>(run.layers * run.heads * positions), kNoData);
  for (size_t l = 0; l < run.curves.size(); ++l) {
    const store::Curve& curve = run.curves[l];
    for (int64_t h = 0; h < run.heads && curve.positions > 0; ++h) {
      for (int64_t k = 0; k < curve.positions; ++k) {
        const double queries = curve.queries[static_cast<size_t>(k)];
        if (queries == 0) continue;
        array.values[static_cast<size_t>((static_cast<int64_t>(l) * run.heads + h) * positions +
                                         k)] =
            curve.mass[static_cast<size_t>(h * curve.positions + k)] / queries;
      }
    }
  }
  return array;
}

}  // namespace

void write_npz(const RunResult& run, std::ostream& out) {
  Zip zip(out);
  for (const StoredMetric& metric : run.metrics) {
    zip.add(metric_key(metric.name) + ".npy", npy_bytes(metric_array(run, metric)));
  }
  if (!run.curves.empty()) zip.add("alpha_by_position.npy", npy_bytes(alpha_array(run)));
  zip.finish();
}

}  // namespace sinkscope::report
