#pragma once

#include <cstdint>
#include <string_view>

#include "sinkscope/theory/clouds.h"
#include "sinkscope/theory/cost_bounds.h"

namespace sinkscope::theory {

/// What is asked of a closed form.
struct ClosedQuestion {
  std::string_view kind;  ///< of cloud_kinds()
  bool diagonal = false;  ///< otherwise a sink
  bool nuclear = true;    ///< otherwise Frobenius
  bool causal = true;
};

/// Least cost at margin 1 of a sink or a diagonal for the geometries of method.md section 8, both
/// ends equal where it is exact; NaN at an end that no formula gives. With H_n the harmonic number
///
///   orthonormal     sink: T / sqrt(T+1), Frobenius causal sqrt(T+1-H_{T+1}); diagonal: Frobenius
///   the
///                   same, nuclear T-1+1/sqrt(T+1), causal from T+1-H_{T+1} to that
///   simplex         sink T^2/(T+1) (causal: nuclear); diagonal nuclear T^2/(T+1)
///   cone            sink 1/(g_Z g_D), g_Z^2 = c^2+(1-c^2)/T, g_D^2 = (a-c)^2+1-a^2+(1-c^2)/T;
///                   causal at most that
///   cross-polytope  sink 1/(s sqrt(1+s^2)), causal at most that; diagonal nuclear at most
///                   (T/2)/(1-s^2), of all keys exact where (1-s^2)/(T/2) >= s sqrt(1+s^2)
Bracket closed_cost(const ClosedQuestion& question, const CloudRequest& request);

/// sum_{k=1}^n 1/k.
double harmonic(int64_t n);

/// Of a causal diagonal with q and k of one dimension, orthonormal tokens: W = q k^T with q_i = 1,
/// k_j = j - T/2: sqrt(T) sqrt(T (T+1) (T+2) / 12), an upper bound of a rank-one diagonal's cost.
double rank_one_diagonal(int64_t context);

}  // namespace sinkscope::theory
