#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::store {

/// What identifies a run: two runs with different identity never share a store. Written once.
/// Keys are dotted ("model.sha256", "thresholds.epsilon", "inputs.seq_len"); values are JSON text.
using Facts = std::map<std::string, std::string>;

/// One input sequence, known before it is measured.
struct SequenceInfo {
  int64_t id = 0;            ///< its place in the inputs, from 0
  std::string source;        ///< file, "prompt 0", ...
  int64_t start = 0;         ///< first token's place in the source's token stream
  std::vector<int32_t> ids;  ///< of a text; empty for an image and for rows of numbers
  int64_t rows = 0;          ///< tokens of what has no ids
  int64_t tokens() const { return ids.empty() ? rows : static_cast<int64_t>(ids.size()); }
};

/// A metric as stored, read back without the diagnostics table.
struct StoredMetric {
  std::string name, unit, definition;
  diagnostics::Scope scope = diagnostics::Scope::kHead;
  diagnostics::Aggregate aggregate = diagnostics::Aggregate::kMean;
  int width = 1;
};

/// Attention received by each position, added over sequences: alpha = mass / queries.
struct Curve {
  int64_t positions = 0;        ///< of the longest sequence
  std::vector<double> mass;     ///< [H x positions]
  std::vector<double> queries;  ///< [positions]
};

/// A vector added over the sequences of a run: what no rule over single values gives, such as a mean
/// direction. A shorter one counts as continued with zeros.
struct RunSum {
  std::string name;
  int layer = 0;
  std::vector<double> values;
};

/// A run database: SQLite, WAL, schema in schema/*.sql by number.
///
/// Everything of a batch of sequences is written in one transaction, so a killed run loses at most
/// the batch in flight and repeats no finished one; the same command again continues.
class Store {
 public:
  /// In memory; nothing is left behind.
  static std::unique_ptr<Store> in_memory();
  /// Creates `file`, or opens it when it exists: `identity` must then equal what is stored (else
  /// Error{kUsage} naming the first difference and both values), unless `overwrite`, which
  /// replaces the file. A file that is no store of ours is kBadFile; one of a newer schema
  /// kUnsupported.
  static std::unique_ptr<Store> open_or_create(const std::filesystem::path& file,
                                               const Facts& identity, bool overwrite);
  /// Read only; kBadFile when it is not a store, naming what is wrong.
  static std::unique_ptr<Store> open(const std::filesystem::path& file);
  virtual ~Store() = default;

  virtual const Facts& identity() const = 0;
  virtual void set_identity(const Facts& identity) = 0;  ///< for in_memory()

  /// Facts that may differ between two runs of the same command: timing, host, version, warnings.
  virtual void put_fact(std::string_view key, std::string_view json) = 0;
  virtual Facts facts() const = 0;

  virtual void put_metrics(std::span<const diagnostics::MetricInfo> metrics) = 0;
  virtual std::vector<StoredMetric> metrics() const = 0;

  /// One finished batch, in one transaction. `curves` [L] and `sums` are added to the stored ones.
  /// `after` (may be empty) runs inside the transaction before commit; tests use it to die there.
  struct Finished {
    const SequenceInfo* info = nullptr;
    const diagnostics::Record* record = nullptr;
  };
  virtual void put_batch(std::span<const Finished> sequences, std::span<const Curve> curves,
                         std::span<const RunSum> sums = {},
                         const std::function<void()>& after = {}) = 0;

  virtual std::vector<int64_t> finished() const = 0;  ///< ids, ascending
  virtual std::vector<SequenceInfo> sequences() const = 0;
  /// All values of one metric at one layer, by sequence id; `width` x heads doubles each (NaN: no
  /// data).
  virtual std::map<int64_t, std::vector<double>> values(std::string_view metric,
                                                        int layer) const = 0;
  /// The same for every layer at once: by sequence id, [layer][heads x width].
  virtual std::map<int64_t, std::vector<std::vector<double>>> values(
      std::string_view metric) const = 0;
  virtual std::vector<Curve> curves() const = 0;  ///< [L], empty when none was stored
  /// By name, then layer; empty when none was stored.
  virtual std::vector<RunSum> run_sums() const = 0;

  /// Run-level long rows (layer, head, metric, value, count): one per (model, step, layer, head)
  /// and metric, rebuilt from the sequences whenever a batch was added. Head -1: layer scope;
  /// layer -1: sequence scope.
  virtual void rebuild_summary() = 0;
};

}  // namespace sinkscope::store
