#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sinkscope/base/error.h"
#include "sinkscope/model/family.h"

namespace sinkscope::model {
namespace {

void fill_frequencies(Rope& rope) {
  for (int64_t i = 0; i < rope.width / 2; ++i) {
    rope.inverse_frequency.push_back(
        std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rope.width)));
  }
}

void check_base(double base, const std::string& where, std::string_view key) {
  if (!(base > 0) || !std::isfinite(base)) {
    throw Error(ErrorKind::kBadFile, "read rotary positions",
                fmt::format("{}: {} is {}, expected a positive number", where, key, base));
  }
}

double positive(const io::Config& config, std::string_view key) {
  const double value = config.number({key});
  check_base(value, config.where(), key);
  return value;
}

}  // namespace

double llama3_frequency(double frequency, double factor, double low, double high,
                        double original_context) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original_context / high) return frequency;
  if (wavelength > original_context / low) return frequency / factor;
  const double share = (original_context / wavelength - low) / (high - low);
  return frequency * ((1 - share) / factor + share);
}

Rope read_rope(const io::Config& config, int64_t head_width) {
  // transformers 5 writes everything under rope_parameters; before, theta stood outside.
  const std::optional<io::Config> nested = config.has("rope_parameters")
                                               ? config.child("rope_parameters")
                                               : config.child("rope_scaling");
  Rope rope;
  const bool theta_inside = nested && nested->has("rope_theta");
  rope.base = theta_inside ? nested->number({"rope_theta"}) : config.number({"rope_theta"}, 10000);
  check_base(rope.base, config.where(), "rope_theta");
  const double part = config.number({"partial_rotary_factor", "rotary_pct"}, 1);
  rope.width = static_cast<int64_t>(std::llround(part * static_cast<double>(head_width)));
  if (rope.width < 2 || rope.width > head_width || rope.width % 2 != 0) {
    throw Error(ErrorKind::kBadFile, "read rotary positions",
                fmt::format("{}: {} of {} channels would be rotated", config.where(), rope.width,
                            head_width));
  }
  fill_frequencies(rope);
  const std::string type = nested ? nested->text({"rope_type", "type"}, "default") : "default";
  if (type == "default") return rope;
  if (type == "linear") {
    const double factor = positive(*nested, "factor");
    for (double& frequency : rope.inverse_frequency) frequency /= factor;
  } else if (type == "llama3") {
    const double factor = positive(*nested, "factor"), low = positive(*nested, "low_freq_factor"),
                 high = positive(*nested, "high_freq_factor"),
                 original = positive(*nested, "original_max_position_embeddings");
    if (high <= low) {
      throw Error(ErrorKind::kBadFile, "read rotary positions",
                  fmt::format("{}: high_freq_factor {} is not above low_freq_factor {}",
                              nested->where(), high, low));
    }
    for (double& frequency : rope.inverse_frequency) {
      frequency = llama3_frequency(frequency, factor, low, high, original);
    }
  } else {
    throw Error(ErrorKind::kUnsupported, "read rotary positions",
                fmt::format("{}: rope_type \"{}\"", nested->where(), type),
                "known: default, linear, llama3");
  }
  return rope;
}

Rope read_rope(const io::GgufFile& file, int64_t head_width) {
  const std::string prefix = file.text("general.architecture") + ".rope.";
  const std::string where = file.files().front().string();
  Rope rope;
  rope.base = file.number(prefix + "freq_base", 10000);
  check_base(rope.base, where, prefix + "freq_base");
  rope.width = file.integer(prefix + "dimension_count", head_width);
  if (rope.width < 2 || rope.width > head_width || rope.width % 2 != 0) {
    throw Error(ErrorKind::kBadFile, "read rotary positions",
                fmt::format("{}: {}dimension_count is {}, the heads have {} channels", where,
                            prefix, rope.width, head_width));
  }
  fill_frequencies(rope);
  const std::string type = file.text(prefix + "scaling.type", "none");
  if (type == "linear") {
    const double factor = file.number(prefix + "scaling.factor");
    check_base(factor, where, prefix + "scaling.factor");
    for (double& frequency : rope.inverse_frequency) frequency /= factor;
  } else if (type != "none") {
    throw Error(ErrorKind::kUnsupported, "read rotary positions",
                fmt::format("{}: {}scaling.type is \"{}\"", where, prefix, type),
                "known: none, linear");
  }
  if (const io::TensorInfo* divisors = file.find("rope_freqs.weight")) {
    if (divisors->elements() != rope.width / 2) {
      throw Error(ErrorKind::kBadFile, "read rotary positions",
                  fmt::format("{}: tensor rope_freqs.weight has {} entries, expected {}", where,
                              divisors->elements(), rope.width / 2));
    }
    std::vector<float> values(static_cast<size_t>(rope.width / 2));
    io::read_floats(file, *divisors, 0, values);
    for (size_t i = 0; i < values.size(); ++i) {
      check_base(values[i], where, "tensor rope_freqs.weight");
      rope.inverse_frequency[i] /= values[i];
    }
  }
  return rope;
}

}  // namespace sinkscope::model
