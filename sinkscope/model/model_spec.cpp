#include "sinkscope/model/model_spec.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace sinkscope::model {

std::vector<double> rope_frequencies(const Rope& rope, int64_t tokens) {
  if (rope.original_context == 0 || tokens <= rope.original_context) return rope.inverse_frequency;
  if (!rope.long_inverse_frequency.empty()) return rope.long_inverse_frequency;
  // Dynamic NTK (https://arxiv.org/abs/2309.00071, appendix A.2, as published models apply it).
  const auto width = static_cast<double>(rope.width);
  const double stretch = rope.dynamic_factor * static_cast<double>(tokens) /
                             static_cast<double>(rope.original_context) -
                         (rope.dynamic_factor - 1);
  const double base = rope.base * std::pow(stretch, width / (width - 2));
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rope.width / 2; ++i)
    frequencies.push_back(std::pow(base, -2 * static_cast<double>(i) / width));
  return frequencies;
}

const Rope* ModelSpec::rope_of(int64_t layer) const {
  if (positions != Positions::kRotary) return nullptr;
  const int index = blocks[static_cast<size_t>(layer)].rope;
  return index < 0 ? nullptr : &ropes[static_cast<size_t>(index)];
}

std::string ModelSpec::text() const {
  std::string out = fmt::format("{}, {} layers x {} heads of {} ({} key/value), width {}, MLP {}",
                                family, layers, heads, head_width, kv_heads, width, mlp_width);
  if (experts.count > 0) out += fmt::format(", {} of {} experts", experts.chosen, experts.count);
  if (is_vision()) {
    return out + fmt::format(", patches of {} at {} x {}", vision.patch, vision.image_height,
                             vision.image_width);
  }
  if (vectors) return out + fmt::format(", vectors of {}", width);
  return out + fmt::format(", vocabulary {}", vocabulary);
}

std::vector<float> alibi_slopes(int64_t heads) {
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const double base = std::exp2(-8.0 / static_cast<double>(whole)),
               between = std::exp2(-4.0 / static_cast<double>(whole));
  std::vector<float> slopes;
  for (int64_t h = 0; h < heads; ++h) {
    // Head counts that are no power of two take every second slope of the series of twice as many.
    const double slope = h < whole ? std::pow(base, static_cast<double>(h + 1))
                                   : std::pow(between, static_cast<double>(2 * (h - whole) + 1));
    slopes.push_back(static_cast<float>(slope));
  }
  return slopes;
}

}  // namespace sinkscope::model
