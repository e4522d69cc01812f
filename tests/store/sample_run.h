#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "sinkscope/store/store.h"

namespace sinkscope::store::test {

inline constexpr int kLayers = 3, kHeads = 2;

// clang-format off
inline constexpr diagnostics::MetricInfo kMetrics[] = {
    {"alpha", diagnostics::Scope::kHead, 4, diagnostics::Aggregate::kMean, "share", "alpha of keys 0..3"},
    {"event", diagnostics::Scope::kHead, 1, diagnostics::Aggregate::kMean, "share", "the event rule holds"},
    {"median_abs", diagnostics::Scope::kLayer, 1, diagnostics::Aggregate::kMean, "", "median |x|"},
    {"loss", diagnostics::Scope::kSequence, 1, diagnostics::Aggregate::kMean, "nats", "loss"},
};
// clang-format on

inline const diagnostics::MetricInfo& metric(std::string_view name) {
  for (const auto& candidate : kMetrics) {
    if (candidate.name == name) return candidate;
  }
  throw Error(ErrorKind::kInternal, "test", std::string(name));
}

inline SequenceInfo sample_info(int64_t id) {
  SequenceInfo info{id, "text " + std::to_string(id), 64 * id, {}};
  for (int32_t token = 0; token < 5; ++token)
    info.ids.push_back(static_cast<int32_t>(id) * 100 + token);
  return info;
}

/// Numbers that no sum of others gives, so that a mixed-up row shows; layer 1 is not measured.
inline diagnostics::Record sample_record(int64_t id) {
  diagnostics::Record record(kLayers, kHeads);
  for (int layer : {0, 2}) {
    const auto alpha = record.values(metric("alpha"), layer);
    for (size_t i = 0; i < alpha.size(); ++i) {
      alpha[i] = std::sin(static_cast<double>(id + 1) * (layer + 1) * static_cast<double>(i + 1));
    }
    alpha[3] = diagnostics::kNoData;
    for (double& event : record.values(metric("event"), layer)) event = id % 2 == 0;
    record.values(metric("median_abs"), layer)[0] = 0.5 + static_cast<double>(id);
  }
  record.values(metric("loss"), 0)[0] = 2 + static_cast<double>(id);
  return record;
}

inline Curve sample_curve(int64_t id, int64_t positions) {
  Curve curve{positions, std::vector<double>(static_cast<size_t>(kHeads * positions)),
              std::vector<double>(static_cast<size_t>(positions))};
  for (size_t i = 0; i < curve.mass.size(); ++i)
    curve.mass[i] = static_cast<double>(id + 1) / static_cast<double>(i + 3);
  for (size_t i = 0; i < curve.queries.size(); ++i)
    curve.queries[i] = static_cast<double>(curve.queries.size() - i);
  return curve;
}

/// Two vectors, one of which grows with the sequence, as those of longer inputs do.
inline std::vector<RunSum> sample_sums(int64_t id) {
  const double x = static_cast<double>(id);
  return {{"direction", 0, {1, x}},
          {"direction", 2, std::vector<double>(static_cast<size_t>(id) + 1, x + 0.1)}};
}

inline void put_sample(Store& store, const std::vector<int64_t>& ids,
                       const std::function<void()>& after = {}) {
  std::vector<SequenceInfo> infos;
  std::vector<diagnostics::Record> records;
  std::vector<Curve> curves(static_cast<size_t>(kLayers));
  for (const int64_t id : ids)
    infos.push_back(sample_info(id)), records.push_back(sample_record(id));
  for (size_t layer : {0, 2}) curves[layer] = sample_curve(ids.front(), 5);
  std::vector<Store::Finished> finished;
  for (size_t i = 0; i < ids.size(); ++i) finished.push_back({&infos[i], &records[i]});
  store.put_batch(finished, curves, sample_sums(ids.front()), after);
}

inline const Facts kIdentity = {{"model.sha256", "\"aa11\""}, {"seed", "7"}};

}  // namespace sinkscope::store::test
