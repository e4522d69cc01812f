#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/app/theory/calculator.h"
#include "sinkscope/app/theory/step_source.h"

namespace sinkscope::app {

/// The method's default: cos(1) - cos(0) that counts as a change (method.md section 9).
inline constexpr double kSmoothDelta = 0.01;

/// One attention step whose curve is asked for.
struct SmoothingCase {
  std::string map;  ///< of StepSource::model
  double factor;    ///< beta times scale
  double mean;      ///< length of the mean token
  bool causal;
  int64_t tokens;
  std::string name;
};

double predicted_cosine(const theory::StepMoments& moments, double lambda, int64_t tokens,
                        bool causal);

/// Mean and standard error of what was drawn; NaN where a draw had no value.
struct Measured {
  double mean, error;
};
/// Mean cosines at each lambda, and of the last minus the first of the same draws.
struct MeasuredCurve {
  std::vector<Measured> cosines;
  Measured change;
};
/// Nothing for fewer than two tokens or draws.
std::optional<MeasuredCurve> measure_curve(const theory::StepModel& model,
                                           const SmoothingCase& step,
                                           std::span<const double> lambdas, int64_t draws,
                                           uint64_t seed);

/// The closed forms against the test values of method.md section 9.
std::vector<store::SheetRow> smoothing_test_values();

/// `theory smoothing --sweep W`.
std::unique_ptr<Calculator> make_map_sweep(const SmoothingOptions& options, uint64_t seed);

}  // namespace sinkscope::app
