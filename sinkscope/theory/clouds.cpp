#include "sinkscope/theory/clouds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"

namespace sinkscope::theory {
namespace {

Cloud zeros(int64_t tokens, int64_t width) {
  return {std::vector<double>(static_cast<size_t>((tokens + 1) * width)), width};
}

std::span<double> token_of(Cloud& cloud, int64_t i) {
  return std::span(cloud.entries)
      .subspan(static_cast<size_t>(i * cloud.width), static_cast<size_t>(cloud.width));
}

void scale_to_unit(std::span<double> token) {
  const double length = std::sqrt(dot(token, token));
  for (double& entry : token) entry /= length;
}

void draw_normal(std::span<double> token, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  for (double& entry : token) entry = normal(random);
}

Cloud make_orthonormal(const CloudRequest& request, std::mt19937_64&) {
  Cloud cloud = zeros(request.tokens, request.width);
  for (int64_t i = 0; i <= request.tokens; ++i) token_of(cloud, i)[static_cast<size_t>(i)] = 1;
  return cloud;
}

// In the coordinates of Helmert's contrasts of e_0 .. e_T: T numbers for T + 1 corners.
Cloud make_simplex(const CloudRequest& request, std::mt19937_64&) {
  Cloud cloud = zeros(request.tokens, request.width);
  const auto count = static_cast<double>(request.tokens + 1);
  const double scale = std::sqrt(count / (count - 1));
  for (int64_t k = 1; k <= request.tokens; ++k) {
    const auto before = static_cast<double>(k);
    const double length = std::sqrt(before * (before + 1));
    for (int64_t i = 0; i <= k; ++i) {
      token_of(cloud, i)[static_cast<size_t>(k - 1)] = scale * (i < k ? 1 : -before) / length;
    }
  }
  return cloud;
}

/// Axis first; token i has its own direction at 1 + i.
Cloud make_cone(const CloudRequest& request, std::mt19937_64&) {
  Cloud cloud = zeros(request.tokens, request.width);
  for (int64_t i = 0; i <= request.tokens; ++i) {
    const double along = i == 0 ? request.sink_cosine : request.cosine;
    token_of(cloud, i)[0] = along;
    token_of(cloud, i)[static_cast<size_t>(i + 1)] = std::sqrt(1 - along * along);
  }
  return cloud;
}

Cloud make_random_cone(const CloudRequest& request, std::mt19937_64& random) {
  Cloud cloud = zeros(request.tokens, request.width);
  for (int64_t i = 0; i <= request.tokens; ++i) {
    const double along = i == 0 ? request.sink_cosine : request.cosine;
    const std::span<double> token = token_of(cloud, i), rest = token.subspan(1);
    draw_normal(rest, random);
    scale_to_unit(rest);
    for (double& entry : rest) entry *= std::sqrt(1 - along * along);
    token[0] = along;
  }
  return cloud;
}

Cloud make_isotropic(const CloudRequest& request, std::mt19937_64& random) {
  Cloud cloud = zeros(request.tokens, request.width);
  for (int64_t i = 0; i <= request.tokens; ++i) {
    draw_normal(token_of(cloud, i), random);
    scale_to_unit(token_of(cloud, i));
  }
  return cloud;
}

Cloud make_low_rank(const CloudRequest& request, std::mt19937_64& random) {
  Cloud cloud = zeros(request.tokens, request.width);
  for (int64_t i = 0; i <= request.tokens; ++i) {
    const std::span<double> token = token_of(cloud, i);
    draw_normal(i == 0 ? token : token.first(static_cast<size_t>(request.rank)), random);
    scale_to_unit(token);
  }
  return cloud;
}

/// Plane of the cross first, then the lift, then the sink's own direction.
Cloud make_cross_polytope(const CloudRequest& request, std::mt19937_64&) {
  const int64_t axes = request.tokens / 2;
  Cloud cloud = zeros(request.tokens, request.width);
  token_of(cloud, 0)[static_cast<size_t>(axes + 1)] = 1;
  for (int64_t i = 1; i <= request.tokens; ++i) {
    const std::span<double> token = token_of(cloud, i);
    const double along = std::sqrt(1 - request.sine * request.sine);
    token[static_cast<size_t>((i - 1) / 2)] = i % 2 == 1 ? along : -along;
    token[static_cast<size_t>(axes)] = request.sine;
  }
  return cloud;
}

int64_t cross_polytope_width(const CloudRequest& request) {
  if (request.tokens % 2 != 0) {
    throw Error(ErrorKind::kUsage, "make tokens",
                fmt::format("a cross-polytope of {} tokens", request.tokens),
                "it has two tokens per axis: give an even T");
  }
  return request.tokens / 2 + 2;
}

constexpr std::array kKinds = {
    CloudKind{"orthonormal", "z_i = e_i", false, [](const CloudRequest& r) { return r.tokens + 1; },
              make_orthonormal},
    CloudKind{"simplex", "unit tokens with inner products -1/T (centred simplex)", false,
              [](const CloudRequest& r) { return r.tokens; }, make_simplex},
    CloudKind{"cone", "z_i = c mu + sqrt(1 - c^2) e_i, the sink with its own cosine", false,
              [](const CloudRequest& r) { return r.tokens + 2; }, make_cone},
    CloudKind{"random-cone", "the cone with random unit directions across its axis", true,
              [](const CloudRequest&) -> int64_t { return 2; }, make_random_cone},
    CloudKind{"isotropic", "random unit tokens", true,
              [](const CloudRequest&) -> int64_t { return 1; }, make_isotropic},
    CloudKind{"low-rank", "random unit tokens of a subspace, the sink outside of it", true,
              [](const CloudRequest& r) { return r.rank; }, make_low_rank},
    CloudKind{"cross-polytope", "+-cos(phi) e_k + sin(phi) mu, the sink across all", false,
              cross_polytope_width, make_cross_polytope},
};

}  // namespace

Cloud context_of(const PointSet& tokens) {
  return {{tokens.entries.begin() + tokens.width, tokens.entries.end()}, tokens.width};
}

Cloud leads_of(const PointSet& tokens) {
  Cloud leads = context_of(tokens);
  for (int64_t j = 0; j < leads.count(); ++j) {
    const std::span<double> lead = token_of(leads, j);
    for (size_t k = 0; k < lead.size(); ++k) lead[k] = tokens.point(0)[k] - lead[k];
  }
  return leads;
}

std::span<const CloudKind> cloud_kinds() { return kKinds; }

CloudRequest check_cloud(const CloudKind& kind, CloudRequest request) {
  const auto cosine = [](double value) { return value >= -1 && value <= 1; };
  if (request.tokens < 1 || !cosine(request.cosine) || !cosine(request.sink_cosine) ||
      !cosine(request.sine) || request.rank < 1) {
    throw Error(
        ErrorKind::kUsage, "make tokens",
        fmt::format("{}: T = {}, rank {}, cosines {} and {}, sine {}", kind.name, request.tokens,
                    request.rank, request.cosine, request.sink_cosine, request.sine),
        "T and the rank are at least 1, cosines and sines lie in [-1, 1]");
  }
  const int64_t least = kind.least_width(request);
  if (request.width == 0) request.width = least;
  if (request.width < least) {
    throw Error(
        ErrorKind::kUsage, "make tokens",
        fmt::format("{}: {} tokens in {} dimensions", kind.name, request.tokens, request.width),
        fmt::format("it needs at least {}", least));
  }
  return request;
}

Cloud make_cloud(const CloudKind& kind, const CloudRequest& request, std::mt19937_64& random) {
  return kind.make(check_cloud(kind, request), random);
}

}  // namespace sinkscope::theory
