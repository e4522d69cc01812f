#include "sinkscope/store/store.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "sinkscope/store/blob.h"
#include "sinkscope/store/database.h"
#include "sinkscope/store/errors.h"
#include "sinkscope/store/merge.h"
#include "sinkscope/store/summary.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::store {
namespace {

using diagnostics::Aggregate;
using diagnostics::Scope;

constexpr std::array<std::pair<Scope, const char*>, 3> kScopes = {
    {{Scope::kHead, "head"}, {Scope::kLayer, "layer"}, {Scope::kSequence, "sequence"}}};
constexpr std::array<std::pair<Aggregate, const char*>, 4> kAggregates = {
    {{Aggregate::kMean, "mean"},
     {Aggregate::kMode, "mode"},
     {Aggregate::kSum, "sum"},
     {Aggregate::kMax, "max"}}};

constexpr int64_t kMaxLayers = 65536;  // a damaged number must not ask for memory

template <typename Enum, size_t N>
const char* name_of(const std::array<std::pair<Enum, const char*>, N>& names, Enum value) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == value; });
  return found == names.end() ? "" : found->second;
}

template <typename Enum, size_t N>
Enum value_of(const std::array<std::pair<Enum, const char*>, N>& names, std::string_view name) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == name; });
  if (found != names.end()) return found->first;
  throw damaged_store("metric table: unknown word " + valid_utf8(name));
}

Error internal(const std::string& seen) { return {ErrorKind::kInternal, "store sequences", seen}; }

/// [layers][heads x width] in one piece, NaN for the layers that were never written.
std::vector<double> join_layers(const std::string& metric,
                                std::span<const std::vector<double>> layers) {
  size_t size = 0;
  for (const auto& values : layers) size = std::max(size, values.size());
  std::vector<double> joined(layers.size() * size, diagnostics::kNoData);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].empty()) continue;
    if (layers[i].size() != size)
      throw internal("metric " + metric + " has layers of different size");
    std::copy(layers[i].begin(), layers[i].end(),
              joined.begin() + static_cast<ptrdiff_t>(i * size));
  }
  return joined;
}

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Connection connection)
      : database_(std::move(connection.database)), name_(std::move(connection.name)) {
    guarded("open run store", [&] {
      identity_ = read_pairs(database_, "identity");
      read_metrics();
    });
  }

  const Facts& identity() const override { return identity_; }

  void set_identity(const Facts& identity) override {
    guarded("store identity", [&] {
      SQLite::Transaction transaction(database_);
      database_.exec("DELETE FROM identity");
      for (const auto& [key, value] : identity) write_pair(database_, "identity", key, value);
      transaction.commit();
    });
    identity_ = identity;
  }

  void put_fact(std::string_view key, std::string_view json) override {
    guarded("store fact",
            [&] { write_pair(database_, "fact", std::string(key), std::string(json)); });
  }

  Facts facts() const override {
    return guarded("read run store", [&] { return read_pairs(database_, "fact"); });
  }

  void put_metrics(std::span<const diagnostics::MetricInfo> metrics) override;
  std::vector<StoredMetric> metrics() const override { return metrics_; }

  void put_batch(std::span<const Finished> sequences, std::span<const Curve> curves,
                 std::span<const RunSum> sums, const std::function<void()>& after) override {
    guarded("store sequences", [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      put_sequences(sequences);
      put_values(sequences);
      put_curves(curves);
      put_sums(sums);
      if (after) after();
      transaction.commit();
    });
  }

  std::vector<int64_t> finished() const override;
  std::vector<SequenceInfo> sequences() const override;
  std::map<int64_t, std::vector<double>> values(std::string_view metric, int layer) const override;
  std::map<int64_t, std::vector<std::vector<double>>> values(
      std::string_view metric) const override;
  std::vector<Curve> curves() const override;
  std::vector<RunSum> run_sums() const override;
  void rebuild_summary() override {
    // Read before the transaction: an error of the rows must not look like one of the summary.
    const RunResult run = read_run(*this);
    guarded("rebuild summary", [&] { write_summary(database_, run); });
  }

 private:
  template <typename Body>
  std::invoke_result_t<Body> guarded(const char* operation, Body body) const {
    return store::guarded(operation, name_, body);
  }

  void read_metrics();
  void put_sequences(std::span<const Finished> sequences);
  void put_values(std::span<const Finished> sequences);
  void put_curves(std::span<const Curve> curves);
  void put_sums(std::span<const RunSum> sums);
  struct Known {
    int64_t id;
    Scope scope;
  };
  /// nullptr when there is no such metric.
  const Known* find_metric(std::string_view name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
  }

  // mutable: reading compiles statements on the connection.
  mutable SQLite::Database database_;
  std::string name_;
  Facts identity_;
  std::vector<StoredMetric> metrics_;
  std::map<std::string, Known, std::less<>> known_;
};

void SqliteStore::read_metrics() {
  metrics_.clear();
  known_.clear();
  SQLite::Statement query(
      database_,
      "SELECT id, name, scope, aggregate, width, unit, definition FROM metric ORDER BY id");
  while (query.executeStep()) {
    StoredMetric metric;
    metric.name = query.getColumn(1).getString();
    metric.scope = value_of(kScopes, query.getColumn(2).getString());
    metric.aggregate = value_of(kAggregates, query.getColumn(3).getString());
    metric.width = query.getColumn(4).getInt();
    metric.unit = query.getColumn(5).getString();
    metric.definition = query.getColumn(6).getString();
    known_[metric.name] = {query.getColumn(0).getInt64(), metric.scope};
    metrics_.push_back(std::move(metric));
  }
}

void SqliteStore::put_metrics(std::span<const diagnostics::MetricInfo> metrics) {
  guarded("store metrics", [&] {
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(database_,
                             "INSERT INTO metric (name, scope, aggregate, width, unit, definition) "
                             "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET unit = "
                             "excluded.unit, definition = excluded.definition");
    for (const auto& metric : metrics) {
      const auto old = std::find_if(metrics_.begin(), metrics_.end(),
                                    [&](const StoredMetric& m) { return m.name == metric.name; });
      if (old != metrics_.end() && (old->width != metric.width || old->scope != metric.scope)) {
        throw Error(ErrorKind::kUsage, "continue run store",
                    name_ + ": metric " + old->name + " has width " + std::to_string(old->width) +
                        " there and " + std::to_string(metric.width) + " now",
                    "another version wrote it; give another output (-o), or --overwrite");
      }
      insert.bind(1, std::string(metric.name));
      insert.bind(2, name_of(kScopes, metric.scope));
      insert.bind(3, name_of(kAggregates, metric.aggregate));
      insert.bind(4, metric.width);
      insert.bind(5, std::string(metric.unit));
      insert.bind(6, std::string(metric.definition));
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    read_metrics();
  });
}

void SqliteStore::put_sequences(std::span<const Finished> sequences) {
  SQLite::Statement known(database_, "SELECT 1 FROM sequence WHERE id = ?");
  SQLite::Statement insert(
      database_, "INSERT INTO sequence (id, source, start, tokens, ids) VALUES (?, ?, ?, ?, ?)");
  for (const Finished& finished : sequences) {
    const SequenceInfo& info = *finished.info;
    known.bind(1, info.id);
    const bool there = known.executeStep();
    known.reset();
    if (there)
      throw internal("sequence " + std::to_string(info.id) + " is in " + name_ + " already");
    insert.bind(1, info.id);
    insert.bind(2, valid_utf8(info.source));
    insert.bind(3, info.start);
    insert.bind(4, info.tokens());
    bind_array<int32_t>(insert, 5, info.ids);
    insert.exec();
    insert.reset();
  }
}

void SqliteStore::put_values(std::span<const Finished> sequences) {
  SQLite::Statement insert(
      database_, "INSERT INTO sequence_value (metric, sequence, layers, data) VALUES (?, ?, ?, ?)");
  for (const Finished& finished : sequences) {
    for (const auto& [metric, layers] : finished.record->all()) {
      const Known* known = find_metric(metric);
      if (!known) throw internal("metric " + metric + " was not announced with put_metrics");
      // A record has room for every layer; values of the whole sequence stand in the first row.
      const size_t rows =
          std::min(layers.size(), known->scope == Scope::kSequence ? size_t{1} : layers.size());
      const std::vector<double> joined = join_layers(metric, {layers.data(), rows});
      insert.bind(1, known->id);
      insert.bind(2, finished.info->id);
      insert.bind(3, static_cast<int64_t>(rows));
      bind_array<double>(insert, 4, joined);
      insert.exec();
      insert.reset();
    }
  }
}

void SqliteStore::put_curves(std::span<const Curve> curves) {
  SQLite::Statement read(database_, "SELECT positions, mass, queries FROM curve WHERE layer = ?");
  SQLite::Statement write(
      database_,
      "INSERT OR REPLACE INTO curve (layer, positions, mass, queries) VALUES (?, ?, ?, ?)");
  for (size_t layer = 0; layer < curves.size(); ++layer) {
    if (curves[layer].positions == 0) continue;
    Curve sum;
    read.bind(1, static_cast<int64_t>(layer));
    if (read.executeStep()) {
      sum = {read.getColumn(0).getInt64(), read_array<double>(read, 1, name_ + ": curve"),
             read_array<double>(read, 2, name_ + ": curve")};
    }
    read.reset();
    add_curve(sum, curves[layer]);
    write.bind(1, static_cast<int64_t>(layer));
    write.bind(2, sum.positions);
    bind_array<double>(write, 3, sum.mass);
    bind_array<double>(write, 4, sum.queries);
    write.exec();
    write.reset();
  }
}

void SqliteStore::put_sums(std::span<const RunSum> sums) {
  SQLite::Statement read(database_, "SELECT data FROM run_sum WHERE name = ? AND layer = ?");
  SQLite::Statement write(database_,
                          "INSERT OR REPLACE INTO run_sum (name, layer, data) VALUES (?, ?, ?)");
  for (const RunSum& sum : sums) {
    std::vector<double> total;
    read.bind(1, sum.name);
    read.bind(2, sum.layer);
    if (read.executeStep()) total = read_array<double>(read, 0, name_ + ": run sum");
    read.reset();
    add_sum(total, sum.values);
    write.bind(1, sum.name);
    write.bind(2, sum.layer);
    bind_array<double>(write, 3, total);
    write.exec();
    write.reset();
  }
}

std::vector<int64_t> SqliteStore::finished() const {
  return guarded("read run store", [&] {
    std::vector<int64_t> ids;
    SQLite::Statement query(database_, "SELECT id FROM sequence ORDER BY id");
    while (query.executeStep()) ids.push_back(query.getColumn(0).getInt64());
    return ids;
  });
}

std::vector<SequenceInfo> SqliteStore::sequences() const {
  return guarded("read run store", [&] {
    std::vector<SequenceInfo> infos;
    SQLite::Statement query(database_,
                            "SELECT id, source, start, ids, tokens FROM sequence ORDER BY id");
    while (query.executeStep()) {
      infos.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getString(),
                       query.getColumn(2).getInt64(),
                       read_array<int32_t>(query, 3, name_ + ": sequence"), 0});
      if (infos.back().ids.empty()) infos.back().rows = query.getColumn(4).getInt64();
    }
    return infos;
  });
}

std::map<int64_t, std::vector<double>> SqliteStore::values(std::string_view metric,
                                                           int layer) const {
  std::map<int64_t, std::vector<double>> picked;
  for (auto& [sequence, layers] : values(metric)) {
    if (layer >= 0 && static_cast<size_t>(layer) < layers.size()) {
      picked[sequence] = std::move(layers[static_cast<size_t>(layer)]);
    }
  }
  return picked;
}

std::map<int64_t, std::vector<std::vector<double>>> SqliteStore::values(
    std::string_view metric) const {
  std::map<int64_t, std::vector<std::vector<double>>> all;
  const Known* known = find_metric(metric);
  if (!known) return all;
  return guarded("read run store", [&] {
    SQLite::Statement query(
        database_,
        "SELECT sequence, layers, data FROM sequence_value WHERE metric = ? ORDER BY sequence");
    query.bind(1, known->id);
    while (query.executeStep()) {
      const std::string what = name_ + ": metric " + valid_utf8(metric);
      const auto joined = read_array<double>(query, 2, what);
      const int64_t layers = query.getColumn(1).getInt64();
      if (layers < 1 || joined.size() % static_cast<uint64_t>(layers) != 0) {
        throw damaged_store(what + ": " + std::to_string(joined.size()) + " values for " +
                            std::to_string(layers) + " layers");
      }
      auto& rows = all[query.getColumn(0).getInt64()];
      const size_t size = joined.size() / static_cast<size_t>(layers);
      // Bounded by the data: an empty array never asks for `layers` rows.
      for (size_t at = 0; at < joined.size(); at += size) {
        rows.emplace_back(joined.begin() + static_cast<ptrdiff_t>(at),
                          joined.begin() + static_cast<ptrdiff_t>(at + size));
      }
    }
    return all;
  });
}

std::vector<Curve> SqliteStore::curves() const {
  return guarded("read run store", [&] {
    std::vector<Curve> curves;
    SQLite::Statement query(database_,
                            "SELECT layer, positions, mass, queries FROM curve ORDER BY layer");
    while (query.executeStep()) {
      const int64_t layer = query.getColumn(0).getInt64();
      Curve curve{query.getColumn(1).getInt64(), read_array<double>(query, 2, name_ + ": curve"),
                  read_array<double>(query, 3, name_ + ": curve")};
      const uint64_t positions = curve.queries.size();
      if (layer < 0 || layer > kMaxLayers || positions == 0 ||
          static_cast<uint64_t>(curve.positions) != positions ||
          curve.mass.size() % positions != 0) {
        throw damaged_store(name_ + ": curve of layer " + std::to_string(layer) +
                            " has arrays that do not fit");
      }
      curves.resize(static_cast<size_t>(layer) + 1);
      curves.back() = std::move(curve);
    }
    return curves;
  });
}

std::vector<RunSum> SqliteStore::run_sums() const {
  return guarded("read run store", [&] {
    std::vector<RunSum> sums;
    if (!database_.tableExists("run_sum")) return sums;  // read only, of schema version 1
    SQLite::Statement query(database_,
                            "SELECT name, layer, data FROM run_sum ORDER BY name, layer");
    while (query.executeStep()) {
      const int64_t layer = query.getColumn(1).getInt64();
      if (layer < 0 || layer > kMaxLayers) {
        throw damaged_store(name_ + ": run sum of layer " + std::to_string(layer));
      }
      sums.push_back({query.getColumn(0).getString(), static_cast<int>(layer),
                      read_array<double>(query, 2, name_ + ": run sum")});
    }
    return sums;
  });
}

}  // namespace

std::unique_ptr<Store> Store::in_memory() {
  return std::make_unique<SqliteStore>(connect_memory());
}

std::unique_ptr<Store> Store::open_or_create(const std::filesystem::path& file,
                                             const Facts& identity, bool overwrite) {
  return std::make_unique<SqliteStore>(connect_writing(file, identity, overwrite));
}

std::unique_ptr<Store> Store::open(const std::filesystem::path& file) {
  return std::make_unique<SqliteStore>(connect_reading(file));
}

}  // namespace sinkscope::store
