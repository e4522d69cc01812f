#include "sinkscope/stats/head_attention.h"

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::stats {
namespace {

template <class T>
void add_all(std::vector<T>& to, const std::vector<T>& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

HeadAttention::HeadAttention(int64_t tokens, double event_mass) : event_mass_(event_mass) {
  if (tokens <= 0) throw Error(ErrorKind::kUsage, "measure attention", "a sequence without tokens");
  const auto n = static_cast<size_t>(tokens);
  value_.key_mass.resize(n), value_.key_mass_sq.resize(n), value_.key_uniform.resize(n);
  value_.key_events.resize(n), value_.key_queries.resize(n);
}

void HeadAttention::count_visible(int64_t first, int64_t last) {
  const double share = 1 / static_cast<double>(last - first);
  for (int64_t k = first; k < last; ++k) {
    value_.key_queries[static_cast<size_t>(k)] += 1;
    value_.key_uniform[static_cast<size_t>(k)] += share;
  }
  value_.queries += 1;
  value_.queries_many += last - first > 1;
}

void HeadAttention::add(int64_t query, std::span<const float> row, int64_t first, int64_t last) {
  if (first >= last) return;
  count_visible(first, last);
  double entropy = 0, total = 0;
  for (int64_t k = first; k < last; ++k) {
    const auto i = static_cast<size_t>(k);
    const double a = row[i];
    value_.key_mass[i] += a;
    value_.key_mass_sq[i] += a * a;
    value_.key_events[i] += a >= event_mass_;
    value_.square_sum += a * a;
    total += a;
    if (a > 0) entropy -= a * std::log(a);
  }
  value_.entropy_sum += entropy;
  if (last - first > 1)
    value_.entropy_norm_sum += entropy / std::log(static_cast<double>(last - first));
  value_.self_sum += query >= first && query < last ? row[static_cast<size_t>(query)] : 0;
  value_.sink_logit_sum += 1 - total;
  value_.sink_logit_events += 1 - total >= event_mass_;
}

void HeadAttention::add(const forward::AttentionSums& sums, const forward::Visibility& visibility) {
  add_all(value_.key_mass, sums.key_mass);
  add_all(value_.key_mass_sq, sums.key_mass_sq);
  for (size_t k = 0; k < sums.key_events.size(); ++k) value_.key_events[k] += sums.key_events[k];
  const auto tokens = static_cast<int64_t>(sums.row_self.size());
  // A difference array: adding to every key of every query one by one would be T^2.
  std::vector<double> share_step(sums.row_self.size() + 1);
  for (int64_t query = 0; query < tokens; ++query) {
    const auto [first, last] = visibility.keys_of(query, tokens);
    if (first >= last) continue;
    const auto i = static_cast<size_t>(query);
    const double keys = static_cast<double>(last - first);
    share_step[static_cast<size_t>(first)] += 1 / keys,
        share_step[static_cast<size_t>(last)] -= 1 / keys;
    value_.queries += 1;
    value_.queries_many += last - first > 1;
    value_.entropy_sum += sums.row_entropy[i];
    if (last - first > 1) value_.entropy_norm_sum += sums.row_entropy[i] / std::log(keys);
    value_.self_sum += sums.row_self[i];
    value_.square_sum += sums.row_square[i];
    if (!sums.row_missing.empty()) {
      value_.sink_logit_sum += sums.row_missing[i];
      value_.sink_logit_events += sums.row_missing[i] >= event_mass_;
    }
  }
  const std::vector<int64_t> queries = visibility.queries_of_keys(tokens);
  double share = 0;
  for (size_t k = 0; k < sums.row_self.size(); ++k) {
    value_.key_queries[k] += queries[k];
    value_.key_uniform[k] += share += share_step[k];
  }
}

void HeadAttention::merge(const HeadAttention& other) {
  add_all(value_.key_mass, other.value_.key_mass);
  add_all(value_.key_mass_sq, other.value_.key_mass_sq);
  add_all(value_.key_events, other.value_.key_events);
  add_all(value_.key_queries, other.value_.key_queries);
  add_all(value_.key_uniform, other.value_.key_uniform);
  value_.entropy_sum += other.value_.entropy_sum;
  value_.entropy_norm_sum += other.value_.entropy_norm_sum;
  value_.self_sum += other.value_.self_sum;
  value_.square_sum += other.value_.square_sum;
  value_.sink_logit_sum += other.value_.sink_logit_sum;
  value_.sink_logit_events += other.value_.sink_logit_events;
  value_.queries += other.value_.queries;
  value_.queries_many += other.value_.queries_many;
}

}  // namespace sinkscope::stats
