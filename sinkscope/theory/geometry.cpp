#include "sinkscope/theory/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/clouds.h"

namespace sinkscope::theory {
namespace {

void check_tokens(const PointSet& tokens) {
  if (tokens.count() < 2) {
    throw Error(ErrorKind::kUsage, "judge the geometry of a sink",
                "fewer than two tokens: a sink and one that attends to it");
  }
}

double checked_margin(const PointSet& tokens, const SinkCertificate& certificate) {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 1; i < tokens.count(); ++i) {
    const double query = dot(tokens.point(i), certificate.u);
    for (int64_t j = 1; j <= i; ++j) {
      double lead = 0;
      for (size_t k = 0; k < certificate.v.size(); ++k) {
        lead += (tokens.point(0)[k] - tokens.point(j)[k]) * certificate.v[k];
      }
      least = std::min(least, query * lead);
    }
  }
  return least;
}

}  // namespace

SinkCertificate sink_certificate(const PointSet& tokens, const MinNormOptions& options) {
  check_tokens(tokens);
  SinkCertificate certificate;
  certificate.queries = min_norm_point(context_of(tokens), options);
  certificate.leads = min_norm_point(leads_of(tokens), options);
  certificate.checked = std::numeric_limits<double>::quiet_NaN();
  if (!certificate.representable()) return certificate;
  // w.a_i >= |w| margin for every point, so w / (|w| margin) leads by 1.
  const auto scaled = [](const MinNormPoint& nearest) {
    std::vector<double> direction = nearest.point;
    for (double& entry : direction) entry /= nearest.distance * nearest.margin;
    return direction;
  };
  certificate.u = scaled(certificate.queries);
  certificate.v = scaled(certificate.leads);
  certificate.checked = checked_margin(tokens, certificate);
  return certificate;
}

SinkCosine sink_cosine(const PointSet& tokens) {
  check_tokens(tokens);
  SinkCosine result{-1, 0};
  const std::span<const double> sink = tokens.point(0);
  for (int64_t i = 1; i < tokens.count(); ++i) {
    const std::span<const double> token = tokens.point(i);
    const double lengths = std::sqrt(dot(sink, sink)) * std::sqrt(dot(token, token));
    result.largest = std::max(result.largest, lengths > 0 ? dot(sink, token) / lengths : 0.0);
    if (std::equal(sink.begin(), sink.end(), token.begin())) ++result.duplicates;
  }
  return result;
}

double wendel_probability(int64_t width, int64_t tokens) {
  if (tokens <= width) return 1;
  const auto n = static_cast<double>(tokens - 1);
  double sum = 0;
  for (int64_t k = 0; k < width; ++k) {
    const auto at = static_cast<double>(k);
    // Binomial coefficients of thousands overflow; their logarithms do not.
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(at + 1) - std::lgamma(n - at + 1) -
                    n * std::log(2.0));
  }
  return std::min(1.0, sum);
}

double margin_needed(double others, double epsilon) {
  return std::log(others * (1 - epsilon) / epsilon);
}

}  // namespace sinkscope::theory
