#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinkscope::theory {

/// Points a_0 .. a_{n-1} of R^width, one after another. Not owned.
struct PointSet {
  std::span<const double> entries;  ///< [n, width]
  int64_t width = 0;

  int64_t count() const { return width > 0 ? std::ssize(entries) / width : 0; }
  std::span<const double> point(int64_t i) const {
    return entries.subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
  }
};

enum class HullVerdict {
  kApart,      ///< an open half-space holds every point: w.a_i >= margin |w| > 0
  kWithin,     ///< 0 is a convex combination of the points
  kUndecided,  ///< the solver stopped with a gap; the numbers are what it reached
};

struct MinNormOptions {
  double tolerance = 1e-9;  ///< of a distance, relative to the longest point (--hs-tol)
  double gap = 1e-6;        ///< largest relative gap of a verdict "apart"
};

/// The point w = sum_k weights_k a_support(k) of the convex hull that lies nearest to 0, with what
/// proves it. Every number is computed from the points themselves in float64.
struct MinNormPoint {
  HullVerdict verdict = HullVerdict::kUndecided;
  double distance = 0;           ///< |w|: an upper bound of dist(0, hull)
  double margin = 0;             ///< min_i w.a_i / |w|: a lower bound where positive; within: 0
  double gap = 0;                ///< (distance - margin) / distance; within: 0
  double scale = 0;              ///< length of the longest point
  std::vector<int64_t> support;  ///< points with a positive weight
  std::vector<double> weights;   ///< of these, positive, sum 1
  std::vector<double> point;     ///< w [width]
};

/// Nearest point to 0 in the convex hull of the points (method.md section 7, "Algorithm"), by
/// Wolfe's active set (Math. Programming 11, 1976): the active points are affinely independent, w
/// is the nearest point of their affine hull, and the point with the least w.a_i joins until none
/// lies below w.w. The Gram matrix of the active points is kept as a Cholesky factor. Several
/// points join between two passes over all of them. Time about n width + active^2 per joined point,
/// memory active^2.
///
/// Throws kUsage without points, kBadNumbers when a length is not finite or its square overflows.
MinNormPoint min_norm_point(const PointSet& points, const MinNormOptions& options = {});

/// What given weights prove: verdict, distance and gap recomputed from the points. Weights are
/// scaled to sum 1; `support` and `weights` have equal length.
MinNormPoint certify(const PointSet& points, std::vector<int64_t> support,
                     std::vector<double> weights, const MinNormOptions& options = {});

}  // namespace sinkscope::theory
