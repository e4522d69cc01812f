#pragma once

#include <span>

#include "sinkscope/stats/selection_values.h"

namespace sinkscope::diagnostics {

/// Least sigma_1 / sigma_2 of W_Q^T W_K (with the norm's gain) that counts as spectral gating.
inline constexpr double kSpectralGap = 2;
/// Least ||x_s|| over the median that counts as a norm outlier.
inline constexpr double kNormOutlierRatio = 5;

/// Codes stored for the metric "subtype" (method.md section 4; thresholds ours).
enum class Subtype { kNeither = 0, kSpectral = 1, kMassive = 2, kBoth = 3, kLearnedLogit = 4 };

/// `spectrum`: singular values of W_Q^T W_K, largest first. A second one of 0 is an infinite gap.
Subtype subtype_of(const stats::SelectionValues& selection, std::span<const double> spectrum);

}  // namespace sinkscope::diagnostics
