#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::theory {

/// Tokens that own their entries: z_0, the sink, then z_1 .. z_T.
struct Cloud {
  std::vector<double> entries;  ///< [T + 1, width]
  int64_t width = 0;

  operator PointSet() const { return {entries, width}; }
  int64_t count() const { return PointSet(*this).count(); }
  std::span<const double> token(int64_t i) const { return PointSet(*this).point(i); }
};

/// z_1 .. z_T, and z_0 - z_1 .. z_0 - z_T: the two sets whose half-spaces decide whether a sink can
/// exist (method.md section 7).
Cloud context_of(const PointSet& tokens);
Cloud leads_of(const PointSet& tokens);

struct CloudRequest {
  int64_t tokens = 1;      ///< T >= 1
  int64_t width = 0;       ///< d; 0: the least that the kind needs
  double cosine = 0.5;     ///< cone: of a context token with the axis
  double sink_cosine = 0;  ///< cone: of the sink with the axis
  double sine = 0.2;       ///< cross-polytope: of the tokens with the plane of the cross
  int64_t rank = 1;        ///< low-rank: of the context tokens
};

struct CloudKind {
  std::string_view name;
  std::string_view definition;
  bool random;
  int64_t (*least_width)(const CloudRequest&);  ///< throws kUsage for a T that the kind cannot have
  Cloud (*make)(const CloudRequest&, std::mt19937_64&);  ///< of a request that was checked
};
/// The geometries of method.md section 8.
std::span<const CloudKind> cloud_kinds();

/// The request with its width filled in; nothing is made. Throws kUsage when T, a width, a cosine
/// or the rank does not fit the kind.
CloudRequest check_cloud(const CloudKind& kind, CloudRequest request);
/// Checks, then makes.
Cloud make_cloud(const CloudKind& kind, const CloudRequest& request, std::mt19937_64& random);

}  // namespace sinkscope::theory
