#include "sinkscope/stats/step_patterns.h"

#include <ATen/ATen.h>

namespace sinkscope::stats {

StepPatterns step_patterns(std::span<const double> lambdas, bool skip) {
  StepPatterns patterns;
  patterns.count = static_cast<int64_t>(lambdas.size()) + 2;
  patterns.parts = at::zeros({patterns.count, kParts}, at::kDouble);
  auto parts = patterns.parts.accessor<double, 2>();
  for (int64_t l = 0; l < patterns.count - 2; ++l) {
    const double lambda = lambdas[static_cast<size_t>(l)];
    parts[l][kOwn] = 1 - lambda, parts[l][kMean] = lambda;
  }
  parts[patterns.count - 2][kContext] = 1;
  parts[patterns.count - 1][kDominant] = 1;
  if (skip) patterns.parts.select(1, kContext).sub_(1);

  patterns.forms = at::zeros({kProducts, patterns.count}, at::kDouble);
  patterns.squares = at::zeros_like(patterns.forms);
  int64_t row = 0;
  for (int64_t a = 0; a < kParts; ++a) {
    for (int64_t b = a; b < kParts; ++b, ++row) {
      patterns.forms[row] =
          patterns.parts.select(1, a) * patterns.parts.select(1, b) * (a == b ? 1 : 2);
      if (a == b) patterns.squares[row] = patterns.forms[row];
    }
  }
  if (!skip) return patterns;
  for (int64_t a = 0; a < kParts; ++a, ++row) patterns.forms[row] = patterns.parts.select(1, a) * 2;
  patterns.forms[row] = 1;
  patterns.squares[row] = 1;
  return patterns;
}

}  // namespace sinkscope::stats
