#include "sinkscope/stats/routing.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sinkscope/stats/dot.h"
#include "sinkscope/stats/update_moments.h"
#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::stats {
namespace {

/// What a head's rows tell besides its context vectors, [T] each.
struct RowShares {
  std::vector<float> to_self, to_key;
  std::vector<float> value_length;  ///< sum_j A_ij ||v_j||
};

bool sees(const theory::SeenKeys& seen, int64_t key) {
  return key == kNoValueKey ? seen.first < seen.last : seen.first <= key && key < seen.last;
}

class RowReader {
 public:
  explicit RowReader(const RoutingInput& input)
      : input_(input), tokens_(input.v.size(0)), heads_(input.context.size(1)) {
    lengths_ = at::zeros({heads_, tokens_, 1}, at::kFloat);
    for (int64_t h = 0; h < heads_; ++h) {
      const auto at = static_cast<size_t>(h);
      if (input.dominant[at] == kHeadLeftOut) continue;
      virtual_key_ = virtual_key_ || input.dominant[at] == kNoValueKey;
      const std::vector<double>& length = input.norms[at]->head;
      std::copy(length.begin(), length.end(), lengths_.data_ptr<float>() + h * tokens_);
    }
  }

  std::vector<RowShares> read() {
    constexpr int64_t kEntries = 4 << 20;  // of a block of rows
    std::vector<RowShares> shares(static_cast<size_t>(heads_));
    for (RowShares& head : shares) {
      const auto n = static_cast<size_t>(tokens_);
      head.to_self.resize(n), head.to_key.resize(n), head.value_length.resize(n);
    }
    const int64_t block = std::clamp<int64_t>(kEntries / (heads_ * tokens_), 8, 128);
    for (int64_t first = 0; first < tokens_; first += block) {
      read_block(first, std::min(block, tokens_ - first), shares);
    }
    return shares;
  }

 private:
  void read_block(int64_t first, int64_t count, std::vector<RowShares>& shares) {
    const at::Tensor pattern = input_.pattern(first, count).contiguous();
    const at::Tensor length = at::matmul(pattern, lengths_).contiguous();
    const at::Tensor mass = virtual_key_ ? pattern.sum(-1).contiguous() : at::Tensor();
    for (int64_t h = 0; h < heads_; ++h) {
      RowShares& head = shares[static_cast<size_t>(h)];
      const int64_t key = input_.dominant[static_cast<size_t>(h)];
      for (int64_t r = 0; r < count; ++r) {
        const float* row = pattern.data_ptr<float>() + (h * count + r) * tokens_;
        const auto i = static_cast<size_t>(first + r);
        head.to_self[i] = row[first + r];
        head.value_length[i] = length.data_ptr<float>()[h * count + r];
        if (key >= 0) head.to_key[i] = row[key];
        if (key == kNoValueKey) {
          head.to_key[i] = std::max(0.0f, 1 - mass.data_ptr<float>()[h * count + r]);
        }
      }
    }
  }

  const RoutingInput& input_;
  int64_t tokens_, heads_;
  at::Tensor lengths_;  // [H, T, 1]
  bool virtual_key_ = false;
};

/// The values [T, K] of a group without the key.
ValueSet measure_values(const at::Tensor& v, int64_t key) {
  const at::Tensor all = v.to(at::kDouble);
  const at::Tensor rest =
      (key < 0 ? all : at::cat({all.slice(0, 0, key), all.slice(0, key + 1)})).contiguous();
  ValueSet set;
  set.count = rest.size(0);
  if (set.count == 0) return set;
  const at::Tensor squares =
      at::linalg_eigvalsh(at::mm(rest.t(), rest)).clamp_min(0);  // of the singular values
  const double largest = squares.max().item<double>();
  if (largest > 0) {
    set.rank = squares.gt(1e-6 * largest).sum().item<int64_t>();
    set.stable_rank = squares.sum().item<double>() / largest;
  }
  const theory::MinNormPoint nearest = theory::min_norm_point(
      {{rest.data_ptr<double>(), static_cast<size_t>(rest.numel())}, rest.size(1)});
  set.scale = nearest.scale;
  if (nearest.verdict == theory::HullVerdict::kUndecided) return set;
  set.margin = nearest.margin;
  if (key < 0) {
    set.sink_inside = true;
  } else {
    const double* sink = all.data_ptr<double>() + key * all.size(1);
    double inner = 0;
    for (size_t c = 0; c < nearest.point.size(); ++c) inner += nearest.point[c] * sink[c];
    set.sink_inside = inner >= 0;
  }
  return set;
}

/// One value set for every group and key that some head asks for.
std::map<std::pair<int64_t, int64_t>, ValueSet> measure_value_sets(const RoutingInput& input) {
  const int64_t shared = input.context.size(1) / input.v.size(1);
  std::map<std::pair<int64_t, int64_t>, ValueSet> sets;
  for (size_t h = 0; h < input.dominant.size(); ++h) {
    if (input.dominant[h] != kHeadLeftOut) {
      sets[{static_cast<int64_t>(h) / shared, input.dominant[h]}] = {};
    }
  }
  std::vector<std::pair<const std::pair<int64_t, int64_t>, ValueSet>*> entries;
  for (auto& entry : sets) entries.push_back(&entry);
  at::parallel_for(0, static_cast<int64_t>(entries.size()), 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t e = begin; e < end; ++e) {
      auto& [place, set] = *entries[static_cast<size_t>(e)];
      set = measure_values(input.v.select(1, place.first), place.second);
    }
  });
  return sets;
}

class HeadRouting {
 public:
  HeadRouting(const RoutingInput& input, const RowShares& rows, const ValueSet& values,
              int64_t head)
      : input_(input),
        rows_(rows),
        head_(head),
        key_(input.dominant[static_cast<size_t>(head)]),
        norms_(*input.norms[static_cast<size_t>(head)]) {
    routing_.values = values;
    context_ = input.context.select(1, head).contiguous();
    const at::Tensor length = context_.square().sum(1, false, at::kDouble).sqrt();
    context_length_.assign(length.data_ptr<double>(), length.data_ptr<double>() + length.numel());
  }

  RoutingValues measure() {
    for (size_t i = 0; i < input_.seen.size(); ++i) {
      if (!sees(input_.seen[i], key_)) continue;
      // fmin: the first query meets NaN.
      routing_.min_to_key = std::fmin(routing_.min_to_key, to_key(i));
    }
    count_queries();
    if (routing_.values.margin > 0 && routing_.values.sink_inside) count_violations();
    add_mixing();
    if (input_.conditional[static_cast<size_t>(head_)]) measure_routed();
    return routing_;
  }

 private:
  double to_key(size_t i) const { return rows_.to_key[i]; }
  double keys(size_t i) const {
    return static_cast<double>(input_.seen[i].last - input_.seen[i].first);
  }
  /// Queries of section 10: a query that sees one key has no choice.
  bool chooses(size_t i) const { return sees(input_.seen[i], key_) && keys(i) > 1; }

  void count_queries() {
    double total = 0;
    for (const double length : norms_.head) total += length;
    if (key_ >= 0) total -= norms_.head[static_cast<size_t>(key_)];
    if (!(total > 0)) return;
    const double mean = total / static_cast<double>(routing_.values.count);
    for (size_t i = 0; i < input_.seen.size(); ++i) {
      if (chooses(i)) count_query(i, mean);
    }
  }

  void count_query(size_t i, double mean_length) {
    SwitchCounts& counts = routing_.counts;
    const double off = context_length_[i] / mean_length;
    const bool dormant = off <= kDormant;
    counts.queries += 1;
    counts.dormant += dormant;
    for (size_t e = 0; e < kSwitchEpsilons.size(); ++e) {
      const bool sink = to_key(i) >= 1 - kSwitchEpsilons[e];
      SwitchTable& table = counts.tables[e];
      (dormant ? (sink ? table.off_sink : table.off_else)
               : (sink ? table.on_sink : table.on_else)) += 1;
    }
    const auto bin = std::lower_bound(kOffEdges.begin(), kOffEdges.end(), off) - kOffEdges.begin();
    counts.off_bins[static_cast<size_t>(bin)] += 1;
    const double reach = rows_.value_length[i];
    const double rho = reach > 0 ? context_length_[i] / reach : 1;
    counts.rho_bins[std::min<size_t>(9, static_cast<size_t>(rho * 10))] += 1;
    const double most = 1 - kSwitchEpsilons[kExplaining];
    const bool to_self = rows_.to_self[i] >= most;
    counts.soft += dormant || to_self;
    if (!dormant) return;
    DormantReasons& reasons = counts.reasons;
    if (to_key(i) >= most) {
      reasons.sink += 1;
    } else if (to_self && norms_.head[i] <= kDormant * mean_length) {
      reasons.self += 1;
    } else {
      (rho <= kCancelledRho ? reasons.cancel : reasons.small) += 1;
    }
  }

  void count_violations() {
    // Weights and context come in float32: known to some 1e-7 of the longest value.
    const double slack = 1e-6 * routing_.values.scale;
    for (size_t i = 0; i < input_.seen.size(); ++i) {
      if (!chooses(i)) continue;
      routing_.violations += (1 - to_key(i)) * routing_.values.margin > context_length_[i] + slack;
    }
  }

  void add_mixing() {
    const int64_t tokens = context_.size(0), width = context_.size(1);
    const int64_t group = head_ / (input_.context.size(1) / input_.v.size(1));
    const auto column = [](const std::vector<float>& values) {
      return at::tensor(at::ArrayRef<float>(values)).unsqueeze(1);
    };
    const at::Tensor v = input_.v.select(1, group);
    const at::Tensor with_payload = context_ - column(rows_.to_self) * v;
    const at::Tensor rest = key_ < 0 ? with_payload : with_payload - column(rows_.to_key) * v[key_];
    const at::Tensor parts = at::cat({context_, rest, with_payload}),
                     mapped = at::mm(parts, input_.gram[head_]);
    const auto square = [&](int64_t part, size_t i) {
      const int64_t at = (part * tokens + static_cast<int64_t>(i)) * width;
      return std::max(0.0, dot(parts.data_ptr<float>() + at, mapped.data_ptr<float>() + at, width));
    };
    MixingSums& sums = routing_.mixing;
    for (size_t i = 0; i < input_.seen.size(); ++i) {
      if (keys(i) < 2 || static_cast<int64_t>(i) == key_) continue;
      const double out_sq = square(0, i);
      sums.queries += 1;
      sums.to_self += rows_.to_self[i];
      sums.to_sink += to_key(i);
      sums.out += std::sqrt(out_sq);
      sums.out_sq += out_sq;
      sums.self_sq += norms_.out[i] * norms_.out[i];
      sums.rest_sq += square(1, i);
      sums.rest_payload_sq += square(2, i);
    }
  }

  void measure_routed() {
    std::vector<int64_t> routed;
    for (size_t i = 0; i < input_.seen.size(); ++i) {
      if (sees(input_.seen[i], key_) && to_key(i) >= input_.event_mass) {
        routed.push_back(static_cast<int64_t>(i));
      }
    }
    UpdateMoments moments(context_.size(1));
    moments.add(context_.index_select(0, at::tensor(routed, at::kLong)));
    routing_.routed_stable_rank = moments.value(input_.gram[head_]).stable_rank;
  }

  const RoutingInput& input_;
  const RowShares& rows_;
  int64_t head_, key_;
  const ValueNorms& norms_;
  at::Tensor context_;  // [T, K]
  std::vector<double> context_length_;
  RoutingValues routing_;
};

}  // namespace

std::vector<RoutingValues> routing(const RoutingInput& input) {
  const int64_t heads = input.context.size(1), shared = heads / input.v.size(1);
  const std::vector<RowShares> rows = RowReader(input).read();
  const auto sets = measure_value_sets(input);
  std::vector<RoutingValues> values(static_cast<size_t>(heads));
  at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t h = begin; h < end; ++h) {
      const auto at = static_cast<size_t>(h);
      if (input.dominant[at] == kHeadLeftOut) continue;
      const ValueSet& set = sets.at({h / shared, input.dominant[at]});
      values[at] = HeadRouting(input, rows[at], set, h).measure();
    }
  });
  return values;
}

}  // namespace sinkscope::stats
