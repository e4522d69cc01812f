#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

// What the readers of both formats share about rotary tables.

/// base^(-2i / width) into rope.inverse_frequency.
void fill_frequencies(Rope& rope);
/// `frequencies` over `divisors`, which must be one positive number per frequency; `key` is what
/// the file calls them.
std::vector<double> divided(const std::vector<double>& frequencies,
                            const std::vector<double>& divisors, const std::string& where,
                            std::string_view key);

/// https://arxiv.org/abs/2309.00071: channels that turn often within the original context keep
/// their frequency, those that turn seldom are divided by `factor`, with a ramp between.
struct Yarn {
  double factor = 1, original_context = 0;
  double beta_fast = 32, beta_slow = 1;  ///< turns within the original context that end the ramp
  bool truncate = true;                  ///< the ramp's ends are rounded outwards
};
/// Applies it to rope.inverse_frequency. Throws kBadFile for a base of at most 1.
void apply_yarn(Rope& rope, const Yarn& yarn, const std::string& where);
/// The paper's factor on cos and sin, `weight` being its optional strength.
double yarn_magnitude(double factor, double weight = 1);

}  // namespace sinkscope::model
