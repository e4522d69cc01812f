#include "sinkscope/theory/cost_closed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sinkscope::theory {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Bracket exactly(double cost) { return {cost, cost}; }

double inverse(double value) {
  return value > 0 ? 1 / value : std::numeric_limits<double>::infinity();
}

Bracket orthonormal(const ClosedQuestion& q, const CloudRequest& request) {
  const auto t = static_cast<double>(request.tokens);
  const double rows = t + 1 - harmonic(request.tokens + 1);
  if (!q.nuclear) return exactly(q.causal ? std::sqrt(rows) : t / std::sqrt(t + 1));
  if (!q.diagonal) return exactly(t / std::sqrt(t + 1));
  const double all_keys = t - 1 + 1 / std::sqrt(t + 1);
  return q.causal ? Bracket{rows, all_keys} : exactly(all_keys);
}

Bracket simplex(const ClosedQuestion& q, const CloudRequest& request) {
  const auto t = static_cast<double>(request.tokens);
  const double cost = t * t / (t + 1);
  if (q.nuclear) return exactly(cost);
  if (q.diagonal) return {};
  return q.causal ? Bracket{kUnknown, cost} : exactly(cost);
}

Bracket sink_of(const ClosedQuestion& q, double cost) {
  return q.causal ? Bracket{kUnknown, cost} : exactly(cost);
}

Bracket cone(const ClosedQuestion& q, const CloudRequest& request) {
  if (q.diagonal) return {};
  const double c = request.cosine, a = request.sink_cosine,
               spread = (1 - c * c) / static_cast<double>(request.tokens);
  const double z = std::sqrt(c * c + spread), d = std::sqrt((a - c) * (a - c) + 1 - a * a + spread);
  return sink_of(q, inverse(z * d));
}

Bracket cross_polytope(const ClosedQuestion& q, const CloudRequest& request) {
  const double s = request.sine, sink = s * std::sqrt(1 + s * s);
  if (!q.diagonal) return sink_of(q, inverse(sink));
  if (!q.nuclear) return {};
  const double axes = static_cast<double>(request.tokens) / 2, plane = 1 - s * s;
  const double cost = axes * inverse(plane);
  const bool tight = !q.causal && plane / axes >= sink;
  return tight ? exactly(cost) : Bracket{kUnknown, cost};
}

struct Form {
  std::string_view kind;
  Bracket (*cost)(const ClosedQuestion&, const CloudRequest&);
};
constexpr std::array kForms = {Form{"orthonormal", orthonormal}, Form{"simplex", simplex},
                               Form{"cone", cone}, Form{"cross-polytope", cross_polytope}};

}  // namespace

double harmonic(int64_t n) {
  double sum = 0;
  for (int64_t k = n; k >= 1; --k) sum += 1 / static_cast<double>(k);
  return sum;
}

Bracket closed_cost(const ClosedQuestion& question, const CloudRequest& request) {
  for (const Form& form : kForms) {
    if (form.kind == question.kind) return form.cost(question, request);
  }
  return {};
}

double rank_one_diagonal(int64_t context) {
  const auto t = static_cast<double>(context);
  return std::sqrt(t) * std::sqrt(t * (t + 1) * (t + 2) / 12);
}

}  // namespace sinkscope::theory
