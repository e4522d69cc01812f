#include "sinkscope/model/rope_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sinkscope/base/error.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {

void fill_frequencies(Rope& rope) {
  for (int64_t i = 0; i < rope.width / 2; ++i) {
    rope.inverse_frequency.push_back(
        std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rope.width)));
  }
}

std::vector<double> divided(const std::vector<double>& frequencies,
                            const std::vector<double>& divisors, const std::string& where,
                            std::string_view key) {
  if (divisors.size() != frequencies.size()) {
    throw Error(ErrorKind::kBadFile, "read rotary positions",
                fmt::format("{}: {} has {} entries, expected {}", where, key, divisors.size(),
                            frequencies.size()));
  }
  std::vector<double> result;
  for (size_t i = 0; i < divisors.size(); ++i) {
    check_positive(divisors[i], where, key);
    result.push_back(frequencies[i] / divisors[i]);
  }
  return result;
}

Rope make_rope(int64_t width, double base) {
  Rope rope;
  rope.width = width;
  rope.base = base;
  fill_frequencies(rope);
  return rope;
}

double llama3_frequency(double frequency, double factor, double low, double high,
                        double original_context) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original_context / high) return frequency;
  if (wavelength > original_context / low) return frequency / factor;
  const double share = (original_context / wavelength - low) / (high - low);
  return frequency * ((1 - share) / factor + share);
}

void apply_yarn(Rope& rope, const Yarn& yarn, const std::string& where) {
  if (rope.base <= 1) {
    throw Error(ErrorKind::kBadFile, "read rotary positions",
                fmt::format("{}: yarn needs a base above 1, found {}", where, rope.base));
  }
  const auto width = static_cast<double>(rope.width);
  // The channel that turns `turns` times within the original context.
  const auto channel = [&](double turns) {
    return width * std::log(yarn.original_context / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.base));
  };
  double low = channel(yarn.beta_fast), high = channel(yarn.beta_slow);
  if (yarn.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, width - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < rope.inverse_frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rope.inverse_frequency[i] *= ramp / yarn.factor + (1 - ramp);
  }
}

double yarn_magnitude(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

}  // namespace sinkscope::model
