#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/diagnostics/planted.h"

// Statistics of planted heads by plain loops: the slow clear twin of the accumulators.

namespace sinkscope::test {

using diagnostics::PlantedHead;
using diagnostics::PlantedPattern;
using diagnostics::Record;
using diagnostics::Thresholds;

/// Adds one query that sees the keys [first, last) of `row`.
inline void add_row(stats::AttentionValues& sums, std::span<const double> row, int64_t query,
                    int64_t first, int64_t last, double event_mass = 0.5) {
  const double visible = static_cast<double>(last - first);
  double entropy = 0, total = 0;
  for (int64_t k = first; k < last; ++k) {
    const double a = row[static_cast<size_t>(k)];
    const auto at = static_cast<size_t>(k);
    sums.key_mass[at] += a;
    sums.key_mass_sq[at] += a * a;
    sums.key_events[at] += a >= event_mass;
    sums.key_queries[at] += 1;
    sums.key_uniform[at] += 1 / visible;
    if (a > 0) entropy -= a * std::log(a);
    sums.square_sum += a * a;
    total += a;
  }
  sums.entropy_sum += entropy;
  if (visible > 1) {
    sums.entropy_norm_sum += entropy / std::log(visible);
    sums.queries_many += 1;
  }
  sums.self_sum += row[static_cast<size_t>(query)];
  const double missing = 1 - total;
  if (missing > 1e-12) {
    sums.sink_logit_sum += missing;
    sums.sink_logit_events += missing >= event_mass;
  }
  sums.queries += 1;
}

inline stats::AttentionValues empty_attention(int64_t tokens) {
  const auto n = static_cast<size_t>(tokens);
  stats::AttentionValues sums;
  sums.key_mass.assign(n, 0);
  sums.key_mass_sq.assign(n, 0);
  sums.key_events.assign(n, 0);
  sums.key_queries.assign(n, 0);
  sums.key_uniform.assign(n, 0);
  return sums;
}

inline stats::AttentionValues attention_of(const PlantedPattern& pattern) {
  stats::AttentionValues sums = empty_attention(pattern.tokens);
  std::vector<double> row(static_cast<size_t>(pattern.tokens));
  for (int64_t i = 0; i < pattern.tokens; ++i) {
    pattern.write_row(i, row);
    add_row(sums, row, i, pattern.first_key(i), pattern.last_key(i));
  }
  return sums;
}

inline double alpha(const stats::AttentionValues& sums, size_t k) {
  return sums.key_mass[k] / static_cast<double>(sums.key_queries[k]);
}

/// Largest eigenvalue of a symmetric n x n matrix by cyclic Jacobi rotations.
inline double largest_eigenvalue(std::vector<double> a, size_t n) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        off += a[p * n + q] * a[p * n + q];
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::hypot(theta, 1));
        const double c = 1 / std::hypot(t, 1), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
        }
      }
    }
    if (off < 1e-28) break;
  }
  double largest = a[0];
  for (size_t i = 1; i < n; ++i) largest = std::max(largest, a[i * n + i]);
  return largest;
}

/// The update U = A V of a head whose W_O is the identity.
inline stats::UpdateValues update_of(const PlantedHead& head) {
  const auto tokens = static_cast<size_t>(head.tokens), width = static_cast<size_t>(head.width);
  std::vector<double> gram(width * width), mean(width), update(width);
  double energy = 0;
  for (size_t i = 0; i < tokens; ++i) {
    std::fill(update.begin(), update.end(), 0.0);
    for (size_t j = 0; j < tokens; ++j) {
      const double a = head.attention[i * tokens + j];
      for (size_t c = 0; c < width; ++c) update[c] += a * head.values[j * width + c];
    }
    for (size_t c = 0; c < width; ++c) {
      mean[c] += update[c] / static_cast<double>(tokens);
      energy += update[c] * update[c];
      for (size_t e = 0; e < width; ++e) gram[c * width + e] += update[c] * update[e];
    }
  }
  if (energy <= 1e-30) return {energy, diagnostics::kNoData, diagnostics::kNoData};
  double common = 0;
  for (const double m : mean) common += m * m;
  return {energy, energy / largest_eigenvalue(std::move(gram), width),
          common * static_cast<double>(tokens) / energy};
}

inline stats::ValueNorms norms_of(const PlantedHead& head) {
  stats::ValueNorms norms;
  const auto width = static_cast<size_t>(head.width);
  for (size_t j = 0; j < static_cast<size_t>(head.tokens); ++j) {
    double sum = 0;
    for (size_t c = 0; c < width; ++c) {
      sum += head.values[j * width + c] * head.values[j * width + c];
    }
    norms.head.push_back(std::sqrt(sum));
  }
  norms.out = norms.head;
  return norms;
}

/// Runs every diagnostic that measures a layer, in table order.
inline Record run_layer(const diagnostics::LayerInput& input, int heads,
                        const Thresholds& thresholds = {}) {
  Record record(input.layer + 1, heads);
  for (const diagnostics::Diagnostic& diagnostic : diagnostics::all_diagnostics()) {
    if (diagnostic.measure_layer) diagnostic.measure_layer(input, thresholds, record);
  }
  return record;
}

/// One head alone in its layer, and how often its update was asked for.
struct Measured {
  Record record{1, 1};
  int updates = 0;
  double value(std::string_view metric, size_t i = 0) const {
    const auto values = record.find(metric, 0);
    return i < values.size() ? values[i] : diagnostics::kNoData;
  }
  diagnostics::HeadClass head_class() const {
    return static_cast<diagnostics::HeadClass>(static_cast<int>(value("class")));
  }
};

inline Measured measure(const PlantedHead& head, const Thresholds& thresholds = {}) {
  const stats::AttentionValues attention = attention_of(head.pattern);
  const stats::ValueNorms norms = norms_of(head);
  Measured measured;
  diagnostics::LayerInput input;
  input.tokens = head.tokens;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].norms = &norms;
  input.heads[0].update = [&] {
    ++measured.updates;
    return update_of(head);
  };
  measured.record = run_layer(input, 1, thresholds);
  return measured;
}

/// Attention alone, without values or update.
inline Measured measure(const stats::AttentionValues& attention,
                        const Thresholds& thresholds = {}) {
  Measured measured;
  diagnostics::LayerInput input;
  input.tokens = static_cast<int64_t>(attention.key_mass.size());
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  measured.record = run_layer(input, 1, thresholds);
  return measured;
}

}  // namespace sinkscope::test
