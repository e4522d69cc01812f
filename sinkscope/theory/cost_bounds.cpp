#include "sinkscope/theory/cost_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sinkscope/theory/cholesky.h"

namespace sinkscope::theory {
namespace {

using Vector = std::vector<double>;

// Of the sum of squared lengths: what float32 tokens leave of a norm or lead that is zero.
constexpr double kRounding = 1e-8;

/// Weights on pairs of tokens as a matrix B: M = sum_ij P_ij z_i (z_i - z_j)^T = Z^T B Z.
struct Weighting {
  Vector (*apply)(std::span<const double>);
  Vector (*apply_transposed)(std::span<const double>);
  double (*total)(size_t tokens);  ///< sum P, in the same scale as B
};

// P_ij = 1 / (i + 1) for j < i.
constexpr Weighting kRunningMean{[](std::span<const double> x) {
                                   Vector y(x.size());
                                   double sum = 0;
                                   for (size_t i = 0; i < x.size(); ++i) {
                                     sum += x[i];
                                     y[i] = x[i] - sum / static_cast<double>(i + 1);
                                   }
                                   return y;
                                 },
                                 [](std::span<const double> y) {
                                   Vector x(y.size());
                                   double sum = 0;
                                   for (size_t i = y.size(); i-- > 0;) {
                                     sum += y[i] / static_cast<double>(i + 1);
                                     x[i] = y[i] - sum;
                                   }
                                   return x;
                                 },
                                 [](size_t tokens) {
                                   double sum = 0;
                                   for (size_t i = 0; i < tokens; ++i)
                                     sum += static_cast<double>(i) / static_cast<double>(i + 1);
                                   return sum;
                                 }};

constexpr size_t kWindow = 8;
double window_share(size_t i) { return static_cast<double>(std::min(i, kWindow)) / kWindow; }

// P_ij = 1 / 8 for i - 8 <= j < i.
constexpr Weighting kNeighbours{[](std::span<const double> x) {
                                  Vector y(x.size());
                                  double sum = 0;
                                  for (size_t i = 0; i < x.size(); ++i) {
                                    y[i] = window_share(i) * x[i] - sum / kWindow;
                                    sum += x[i] - (i >= kWindow ? x[i - kWindow] : 0);
                                  }
                                  return y;
                                },
                                [](std::span<const double> y) {
                                  Vector x(y.size());
                                  double sum = 0;
                                  for (size_t i = y.size(); i-- > 0;) {
                                    x[i] = window_share(i) * y[i] - sum / kWindow;
                                    sum += y[i] - (i + kWindow < y.size() ? y[i + kWindow] : 0);
                                  }
                                  return x;
                                },
                                [](size_t tokens) {
                                  double sum = 0;
                                  for (size_t i = 0; i < tokens; ++i) sum += window_share(i);
                                  return sum;
                                }};

/// x_i less the mean over i >= 1; nothing at token 0. Its own transpose.
Vector less_mean(std::span<const double> x) {
  double mean = 0;
  for (size_t i = 1; i < x.size(); ++i) mean += x[i] / static_cast<double>(x.size() - 1);
  Vector y(x.size());
  for (size_t i = 1; i < x.size(); ++i) y[i] = x[i] - mean;
  return y;
}

// P_ij = 1 / T for i, j >= 1: M = (T - 1) S.
constexpr Weighting kAllPairs{less_mean, less_mean,
                              [](size_t tokens) { return static_cast<double>(tokens) - 2; }};

Vector product(std::span<const double> gram, std::span<const double> x) {
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = dot(gram.subspan(i * x.size(), x.size()), x);
  return y;
}

/// Largest eigenvalue of a symmetric tridiagonal matrix, by bisection: the number of negative
/// pivots of T - x is the number of eigenvalues below x (Golub and Van Loan, section 8.4).
double largest_eigenvalue(std::span<const double> diagonal, std::span<const double> beside) {
  double low = 0, high = 0;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    low = std::max(low, diagonal[i]);
    high = std::max(high, diagonal[i] + (i > 0 ? beside[i - 1] : 0) +
                              (i + 1 < diagonal.size() ? beside[i] : 0));
  }
  const auto all_below = [&](double x) {
    double pivot = 1;
    for (size_t i = 0; i < diagonal.size(); ++i) {
      pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0);
      if (!(pivot < 0)) return false;
    }
    return true;
  };
  for (int step = 0; step < 60 && high - low > 1e-14 * high; ++step) {
    const double middle = (low + high) / 2;
    (all_below(middle) ? high : low) = middle;
  }
  return high;
}

/// |Z^T B Z| from K = Z Z^T: the squares of the singular values are the eigenvalues of B^T K B K,
/// which is symmetric in the product x.K y. Lanczos in that product, without a D x D matrix.
double operator_norm(std::span<const double> gram, size_t tokens, const Weighting& weighting) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Vector v(tokens), previous(tokens);
  for (double& entry : v) entry = normal(random);
  Vector kv = product(gram, v);
  Vector diagonal, beside;
  double last = 0;
  int settled = 0;
  double length = std::sqrt(std::max(0.0, dot(v, kv)));
  const int steps = static_cast<int>(std::min<size_t>(tokens, 200));
  for (int step = 0; step < steps && length > 0 && settled < 2; ++step) {
    for (double& entry : v) entry /= length;
    for (double& entry : kv) entry /= length;
    Vector next = weighting.apply_transposed(product(gram, weighting.apply(kv)));
    diagonal.push_back(dot(kv, next));
    add_scaled(-diagonal.back(), v, next);
    if (step > 0) add_scaled(-length, previous, next);
    previous = std::exchange(v, std::move(next));
    kv = product(gram, v);
    length = std::sqrt(std::max(0.0, dot(v, kv)));
    const double found = largest_eigenvalue(diagonal, beside);
    settled = found - last <= 1e-9 * found ? settled + 1 : 0;
    last = found;
    beside.push_back(length);
  }
  return std::sqrt(last);
}

/// |Z^T B Z|_F from K: its square is the trace of (B^T K)(B K).
double frobenius_norm(std::span<const double> gram, size_t tokens, const Weighting& weighting) {
  Vector right(tokens * tokens);  // column i of B K as row i: K is symmetric
  for (size_t i = 0; i < tokens; ++i) {
    const Vector column = weighting.apply(gram.subspan(i * tokens, tokens));
    std::copy(column.begin(), column.end(),
              right.begin() + static_cast<std::ptrdiff_t>(i * tokens));
  }
  double square = 0;
  for (size_t j = 0; j < tokens; ++j) {
    const Vector column = weighting.apply_transposed(gram.subspan(j * tokens, tokens));
    for (size_t i = 0; i < tokens; ++i) square += column[i] * right[i * tokens + j];
  }
  return std::sqrt(std::max(0.0, square));
}

/// min z_i.(z_i - z_j) over the pairs.
double least_lead(std::span<const double> gram, size_t tokens, bool causal) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < tokens; ++i) {
    for (size_t j = 0; j < (causal ? i : tokens); ++j) {
      if (i != j) least = std::min(least, gram[i * tokens + i] - gram[i * tokens + j]);
    }
  }
  return least;
}

}  // namespace

Bracket sink_cost(const SinkGeometry& geometry) {
  const auto over = [](double product) {
    return product > 0 ? 1 / product : std::numeric_limits<double>::infinity();
  };
  const double all_pairs = over(geometry.margin_z * geometry.margin_d);
  if (!geometry.causal || std::isinf(all_pairs)) return {all_pairs, all_pairs};
  return {std::max(over(geometry.last_query * geometry.margin_d),
                   over(geometry.margin_z * geometry.first_lead)),
          all_pairs};
}

DiagonalCost diagonal_cost(std::span<const double> gram, int64_t tokens, bool causal,
                           int64_t rank) {
  DiagonalCost cost;
  if (tokens < 2) return cost;
  const auto n = static_cast<size_t>(tokens);
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += gram[i * n + i];
  const auto raise = [&](double& bound, double total, double norm) {
    const double found =
        norm > kRounding * squares ? total / norm : std::numeric_limits<double>::infinity();
    if (!(found <= bound)) bound = found;
  };
  std::vector<Weighting> weightings{kRunningMean, kNeighbours};
  if (!causal && tokens > 2) weightings.push_back(kAllPairs);
  for (const Weighting& weighting : weightings) {
    raise(cost.nuclear.lower, weighting.total(n), operator_norm(gram, n, weighting));
    raise(cost.frobenius.lower, weighting.total(n), frobenius_norm(gram, n, weighting));
  }
  const double lead = least_lead(gram, n, causal);
  if (lead > kRounding * squares) {
    cost.nuclear.upper = static_cast<double>(rank) / lead;
    cost.frobenius.upper = std::sqrt(static_cast<double>(rank)) / lead;
  }
  return cost;
}

}  // namespace sinkscope::theory
