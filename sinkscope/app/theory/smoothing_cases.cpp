#include "sinkscope/app/theory/smoothing_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinkscope::app {
namespace {

using theory::StepMoments;

Measured measured_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

struct TestValue {
  StepMoments moments;
  int64_t tokens;
  double full[3], causal[3];  // lambda = 0, 0.5, 1
};

// method.md section 9, test values; printed to six digits.
constexpr TestValue kTestValues[] = {
    {{1, 0, 0.25, 1}, 8, {0.444444, 0.490637, 0.507692}, {0.444444, 0.481561, 0.502494}},
    {{1, -0.5, 0.25, 1}, 8, {0.8, 0.630769, 0.475410}, {0.8, 0.672090, 0.551886}},
    {{1, -0.75, 2.25, 1}, 64, {0.363636, 0.555318, 0.502913}, {0.363636, 0.544450, 0.508487}},
    {{2, 0.3, 0.5, 0}, 16, {0, 0.017099, 0.033233}, {0, 0.016204, 0.037089}},
};

store::SheetRow moments_row() {
  double worst = 0;
  for (const TestValue& value : kTestValues) {
    for (const size_t l : {0, 1, 2}) {
      const double lambda = 0.5 * static_cast<double>(l);
      for (const bool causal : {false, true}) {
        const double expected = causal ? value.causal[l] : value.full[l];
        const double found = predicted_cosine(value.moments, lambda, value.tokens, causal);
        worst = std::max(worst, std::abs(found - expected));
      }
    }
  }
  return check_row("24 cosines of method.md section 9 for given R, C, E, N0, T", "within 1e-6",
                   fmt::format("{:.1e} off at worst", worst), worst <= 1e-6);
}

/// W = -3 I, beta = 0.5, d = 128, T = 64: full attention lowers the cosine, causal raises it.
store::SheetRow counteracting_row() {
  theory::StepModel model;
  model.width = 128;
  const size_t d = 128;
  model.map.assign(d * d, 0), model.covariance.assign(d * d, 0);
  for (size_t c = 0; c < d; ++c) model.map[c * d + c] = -1.5, model.covariance[c * d + c] = 1;
  model.mean.assign(d, 0);
  const StepMoments centred = theory::step_moments(model);
  model.mean.assign(d, 0.75);
  const StepMoments moved = theory::step_moments(model);
  const double found[] = {
      predicted_cosine(centred, 1, 64, false), predicted_cosine(centred, 1, 64, true),
      predicted_cosine(moved, 0, 64, false), predicted_cosine(moved, 0.5, 64, false),
      predicted_cosine(moved, 1, 64, false)};
  const double expected[] = {-0.0119, 0.0252, 0.36, 0.6967, 0.1142};
  double worst = std::abs(theory::smoothing_peak(moved) - 1.0 / 3);
  for (size_t i = 0; i < std::size(found); ++i) {
    worst = std::max(worst, std::abs(found[i] - expected[i]));
  }
  return check_row(
      "W = -3I, beta = 0.5, T = 64, full: 0 to -0.0119, causal 0 to 0.0252, with a mean 0.36, "
      "0.6967, 0.1142",
      "within 5e-5", fmt::format("{:.1e} off at worst", worst), worst <= 5e-5);
}

}  // namespace

double predicted_cosine(const StepMoments& moments, double lambda, int64_t tokens, bool causal) {
  if (!causal) return theory::smoothed_cosine(moments, lambda, tokens);
  std::vector<theory::SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
  return theory::smoothed_cosine(moments, lambda, seen);
}

std::optional<MeasuredCurve> measure_curve(const theory::StepModel& model,
                                           const SmoothingCase& step,
                                           std::span<const double> lambdas, int64_t draws,
                                           uint64_t seed) {
  if (step.tokens < 2 || draws < 2) return std::nullopt;
  const theory::StepSampler sampler(model);
  std::mt19937_64 random(seed);
  std::vector<std::vector<double>> values(lambdas.size());
  std::vector<double> changes;
  for (int64_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> cosines = sampler.cosines(step.tokens, step.causal, lambdas, random);
    for (size_t l = 0; l < cosines.size(); ++l) values[l].push_back(cosines[l]);
    changes.push_back(cosines.back() - cosines.front());
  }
  MeasuredCurve curve;
  for (const std::vector<double>& at : values) curve.cosines.push_back(measured_of(at));
  curve.change = measured_of(changes);
  return curve;
}

std::vector<store::SheetRow> smoothing_test_values() {
  return {moments_row(), counteracting_row()};
}

}  // namespace sinkscope::app
