#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sinkscope/forward/kernels/attention.h"
#include "sinkscope/forward/kernels/attention_check.h"

namespace sinkscope::forward::kernels {
namespace {

double logit(const AttentionProblem& p, int64_t head, int64_t query, int64_t key) {
  const int64_t kv_head = head / (p.heads / p.kv_heads);
  const float* q = p.q + query * p.q_stride + head * p.width;
  const float* k = p.k + key * p.k_stride + kv_head * p.width;
  double dot = 0;
  for (int64_t c = 0; c < p.width; ++c) dot += static_cast<double>(q[c]) * k[c];
  double l = p.scale * dot;
  if (p.softcap > 0) l = p.softcap * std::tanh(l / p.softcap);
  if (p.alibi_slopes) l += static_cast<double>(p.alibi_slopes[head]) * (key - query);
  if (p.bias) l += p.bias[head * p.bias_head_stride + query * p.bias_row_stride + key];
  return l;
}

/// One row of the pattern, over the visible keys only.
struct Row {
  int64_t first = 0;
  std::vector<double> weights;
  double missing = 0;  ///< the sink logit's share
};

Row softmax_row(const AttentionProblem& p, int64_t head, int64_t query) {
  const Visibility::Range range = p.visibility.keys_of(query, p.tokens);
  Row row;
  row.first = std::max<int64_t>(range.first, 0);
  const double sink =
      p.sink_logits ? p.sink_logits[head] : -std::numeric_limits<double>::infinity();
  double max = sink;
  for (int64_t key = row.first; key < std::min(range.last, p.tokens); ++key) {
    row.weights.push_back(logit(p, head, query, key));
    max = std::max(max, row.weights.back());
  }
  if (row.weights.empty()) return row;
  if (std::isinf(max) && max < 0) {
    row.weights.assign(row.weights.size(), 0.0);
    return row;
  }
  double total = std::exp(sink - max);
  for (double& w : row.weights) total += w = std::exp(w - max);
  for (double& w : row.weights) w /= total;
  row.missing = std::exp(sink - max) / total;
  return row;
}

void write_output(const AttentionProblem& p, int64_t head, int64_t query, const Row& row) {
  const int64_t kv_head = head / (p.heads / p.kv_heads);
  std::vector<double> z(static_cast<size_t>(p.width), 0.0);
  for (size_t j = 0; j < row.weights.size(); ++j) {
    const int64_t key = row.first + static_cast<int64_t>(j);
    const float* v = p.v + key * p.v_stride + kv_head * p.width;
    for (int64_t c = 0; c < p.width; ++c) z[c] += row.weights[j] * v[c];
  }
  float* out = p.out + query * p.out_stride + head * p.width;
  for (int64_t c = 0; c < p.width; ++c) out[c] = static_cast<float>(z[c]);
}

void add_to_sums(const AttentionProblem& p, int64_t query, const Row& row, AttentionSums& sums) {
  double entropy = 0, square = 0;
  for (size_t j = 0; j < row.weights.size(); ++j) {
    const double w = row.weights[j];
    const int64_t key = row.first + static_cast<int64_t>(j);
    sums.key_mass[key] += w;
    sums.key_mass_sq[key] += w * w;
    sums.key_events[key] += w >= p.event_mass;
    if (key == query) sums.row_self[query] = static_cast<float>(w);
    if (w > 0) entropy -= w * std::log(w);
    square += w * w;
  }
  sums.row_entropy[query] = static_cast<float>(entropy);
  sums.row_square[query] = static_cast<float>(square);
  if (!sums.row_missing.empty()) sums.row_missing[query] = static_cast<float>(row.missing);
}

void run_head(const AttentionProblem& p, int64_t head) {
  for (int64_t query = 0; query < p.tokens; ++query) {
    const Row row = softmax_row(p, head, query);
    write_output(p, head, query, row);
    if (p.sums) add_to_sums(p, query, row, p.sums[head]);
  }
}

}  // namespace

void attention_reference(const AttentionProblem* problems, int64_t count, int threads) {
  for (int64_t i = 0; i < count; ++i) check_problem(problems[i]);
  for (int64_t i = 0; i < count; ++i) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(std::max(threads, 1))
    for (int64_t head = 0; head < problems[i].heads; ++head) run_head(problems[i], head);
  }
}

}  // namespace sinkscope::forward::kernels
