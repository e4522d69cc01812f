#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sinkscope::stats {

// Plain results of the accumulators, without LibTorch, for the layers above. T tokens, K head
// width. One object per (sequence, layer, head) or per (sequence, layer).

/// Attention of one head over one sequence (method.md section 1, streaming form).
struct AttentionValues {
  std::vector<double> key_mass;      ///< [T] sum over queries of A_ik
  std::vector<double> key_mass_sq;   ///< [T] sum over queries of A_ik^2
  std::vector<int64_t> key_events;   ///< [T] queries with A_ik >= event mass
  std::vector<int64_t> key_queries;  ///< [T] queries that can see the key (n_k)
  std::vector<double> key_uniform;   ///< [T] sum over those queries of 1/|V(i)|
  double entropy_sum = 0;            ///< nats, over valid queries
  double entropy_norm_sum = 0;       ///< entropy / log|V(i)| over queries with |V(i)| > 1
  double self_sum = 0;               ///< A_ii over valid queries
  double square_sum = 0;             ///< sum_j A_ij^2 over valid queries
  double sink_logit_sum = 0;         ///< 1 - sum_j A_ij: mass of a learned sink logit
  int64_t sink_logit_events = 0;     ///< queries that give the sink logit >= event mass
  int64_t queries = 0;               ///< valid queries (at least one visible key)
  int64_t queries_many = 0;          ///< those with |V(i)| > 1
};

/// Lengths of the values before and after the head's slice of W_O (method.md section 2).
struct ValueNorms {
  std::vector<double> head;  ///< [T] ||v_j||
  std::vector<double> out;   ///< [T] ||u_j||, u_j = W_O^h v_j
};

/// Result of the second moments of the head update (method.md section 3); NaN: zero update.
struct UpdateValues {
  double energy = 0;       ///< ||U||_F^2
  double stable_rank = 0;  ///< ||U||_F^2 / ||U||_op^2
  double common_mode = 0;  ///< share of the energy in the mean over tokens
};

// Measured for diagnostics that are not plain; each has a header of its name.
struct GeometryValues;
struct SmoothingValues;
struct RoutingValues;
struct AdviceValues;
struct SelectionValues;
struct WeightSizeValues;
struct CircuitValues;
struct RangeValues;

/// Non-owning view of what was measured for one head; what was not is null.
struct HeadValues {
  const AttentionValues* attention = nullptr;
  const ValueNorms* norms = nullptr;
  /// Solves a K x K eigenproblem, so it is asked only where a verdict needs it.
  std::function<UpdateValues()> update;
  const GeometryValues* geometry = nullptr;       ///< of the rotated q and k
  const SmoothingValues* smoothing = nullptr;     ///< identity to uniform attention
  const RoutingValues* routing = nullptr;         ///< what queries do with the dominant key
  const SelectionValues* selection = nullptr;     ///< how queries find the dominant key
  const WeightSizeValues* weight_size = nullptr;  ///< norms of W_QK and W_VO
  /// Singular values of W_Q^T W_K, largest first, with the gain of the norm before folded in.
  std::span<const double> qk_spectrum;
  std::span<const double> qk_spectrum_plain;  ///< the same of the weights alone
};

struct TopActivation {
  int64_t channel = 0, position = 0;
  double value = 0;  ///< signed
};

/// One hidden state [T, D] of one sequence (method.md sections 5 and 12).
struct ResidualValues {
  std::vector<double> norm;          ///< [T]
  double median_abs = 0;             ///< exact median of |x| over all T x D entries
  std::array<TopActivation, 3> top;  ///< largest |x| first; ties: lowest position, then channel
  /// Every entry with |x| > massive_abs_floor, at most 4096 of them, by position then channel.
  std::vector<TopActivation> large;
  int64_t large_count = 0;  ///< number of such entries, also beyond the cap
};

/// Directions of one [T, D] state (method.md section 7).
struct SimilarityValues {
  std::vector<double> cos_first;  ///< [T] cosine with token 0; entry 0 is 1
  double pair_mean = 0;           ///< mean cosine of all pairs i < j; NaN for T = 1
  double pair_mean_rest = 0;      ///< without token 0; NaN for T < 3
};

}  // namespace sinkscope::stats
