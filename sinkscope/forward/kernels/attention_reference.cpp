#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sinkscope/forward/kernels/attention.h"
#include "sinkscope/forward/kernels/attention_check.h"

namespace sinkscope::forward::kernels {
namespace {

double product(const AttentionProblem& p, int64_t head, int64_t query, const float* k) {
  const float* q = p.q + query * p.q_stride + head * p.width;
  double sum = 0;
  for (int64_t c = 0; c < p.width; ++c) sum += static_cast<double>(q[c]) * k[c];
  const double l = p.scale * sum;
  return p.softcap > 0 ? p.softcap * std::tanh(l / p.softcap) : l;
}

int64_t kv_head_of(const AttentionProblem& p, int64_t head) {
  return head / (p.heads / p.kv_heads);
}

double logit(const AttentionProblem& p, int64_t head, int64_t query, int64_t key) {
  double l = product(p, head, query, p.k + key * p.k_stride + kv_head_of(p, head) * p.width);
  if (p.alibi_slopes) l += static_cast<double>(p.alibi_slopes[head]) * (key - query);
  if (p.bias) l += p.bias[head * p.bias_head_stride + query * p.bias_row_stride + key];
  return l;
}

/// One row of the pattern, over the visible keys only.
struct Row {
  int64_t first = 0;
  std::vector<double> weights;
  double missing = 0;  ///< the sink logit's or extra key's share
};

/// What joins the softmax beside the visible keys.
double missing_logit(const AttentionProblem& p, int64_t head, int64_t query) {
  if (p.sink_logits) return p.sink_logits[head];
  if (p.extra_key) return product(p, head, query, p.extra_key + kv_head_of(p, head) * p.width);
  return -std::numeric_limits<double>::infinity();
}

void softmax(const AttentionProblem& p, int64_t head, int64_t query, Row& row) {
  const double sink = missing_logit(p, head, query);
  double max = sink;
  for (const double w : row.weights) max = std::max(max, w);
  if (std::isinf(max) && max < 0) {
    row.weights.assign(row.weights.size(), 0.0);
    return;
  }
  double total = std::exp(sink - max);
  for (double& w : row.weights) total += w = std::exp(w - max);
  for (double& w : row.weights) w /= total;
  row.missing = std::exp(sink - max) / total;
}

void clip(const model::ScoreForm& form, double& w) {
  w = std::clamp((form.stretch_high - form.stretch_low) * w + form.stretch_low, 0.0, 1.0);
}

Row make_row(const AttentionProblem& p, int64_t head, int64_t query) {
  const Visibility::Range range = p.visibility.keys_of(query, p.tokens);
  Row row;
  row.first = std::max<int64_t>(range.first, 0);
  for (int64_t key = row.first; key < std::min(range.last, p.tokens); ++key) {
    row.weights.push_back(logit(p, head, query, key));
  }
  if (row.weights.empty()) return row;
  switch (p.scores.kind) {
    case model::ScoreKind::kSoftmax: softmax(p, head, query, row); break;
    case model::ScoreKind::kClipped:
      softmax(p, head, query, row);
      for (double& w : row.weights) clip(p.scores, w);
      clip(p.scores, row.missing);
      break;
    case model::ScoreKind::kSigmoid:
      for (double& w : row.weights) w = 1 / (1 + std::exp(-w - p.scores.bias));
      break;
    case model::ScoreKind::kRelu:
      for (double& w : row.weights) w = std::max(w, 0.0) / static_cast<double>(row.weights.size());
      break;
  }
  return row;
}

void write_output(const AttentionProblem& p, int64_t head, int64_t query, const Row& row) {
  const int64_t kv_head = kv_head_of(p, head);
  std::vector<double> z(static_cast<size_t>(p.width), 0.0);
  for (size_t j = 0; j < row.weights.size(); ++j) {
    const int64_t key = row.first + static_cast<int64_t>(j);
    const float* v = p.v + key * p.v_stride + kv_head * p.width;
    for (int64_t c = 0; c < p.width; ++c) z[c] += row.weights[j] * v[c];
  }
  if (p.extra_value) {
    const float* v = p.extra_value + kv_head * p.width;
    for (int64_t c = 0; c < p.width; ++c) z[c] += row.missing * v[c];
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
    const Row row = make_row(p, head, query);
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
