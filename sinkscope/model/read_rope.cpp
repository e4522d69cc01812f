#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/rope_scaling.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr char kOperation[] = "read rotary positions";

/// Where a configuration says how positions turn: its own keys, and the object that newer files
/// call rope_parameters and older ones rope_scaling.
struct RopeKeys {
  const io::Config& config;
  std::optional<io::Config> inner;

  std::string type() const {
    return inner ? inner->text({"rope_type", "type"}, "default") : "default";
  }
  /// Positive; the inner object's value goes first.
  double number(std::string_view key, std::optional<double> fallback) const {
    const io::Config& holder = inner && inner->has(key) ? *inner : config;
    const double value = fallback ? holder.number({key}, *fallback) : holder.number({key});
    check_positive(value, holder.where(), key);
    return value;
  }
  /// Positive; only the inner object's.
  double scaling(std::string_view key) const {
    const double value = inner->number({key});
    check_positive(value, inner->where(), key);
    return value;
  }
  /// The same; 0 where it is absent or 0.
  double optional_scaling(std::string_view key) const {
    const double value = inner->number({key}, 0);
    if (value != 0) check_positive(value, inner->where(), key);
    return value;
  }
  int64_t context() const {
    const auto value = static_cast<double>(config.integer({"max_position_embeddings"}));
    check_positive(value, config.where(), "max_position_embeddings");
    return static_cast<int64_t>(value);
  }
  /// Files with the outer key mean that one (phi3).
  int64_t original_context() const {
    constexpr std::string_view kKey = "original_max_position_embeddings";
    for (const io::Config* holder : {&config, &*inner}) {
      if (!holder->has(kKey)) continue;
      const int64_t value = holder->integer({kKey});
      check_positive(static_cast<double>(value), holder->where(), kKey);
      return value;
    }
    return context();
  }
  /// `factor`, or how much longer the context has become.
  double stretch() const {
    if (inner->has("factor")) return scaling("factor");
    return static_cast<double>(context()) / static_cast<double>(original_context());
  }
};

/// The object under `key`; an empty one counts as absent.
std::optional<io::Config> present(const io::Config& config, std::string_view key) {
  std::optional<io::Config> child = config.child(key);
  if (child && child->json().empty()) return std::nullopt;
  return child;
}

RopeKeys find_keys(const io::Config& config, std::string_view layer_type) {
  const std::optional<io::Config> newer = present(config, "rope_parameters");
  if (newer && !layer_type.empty() && newer->has(layer_type)) {
    return {config, newer->child(layer_type)};
  }
  if (newer && newer->json().contains("full_attention")) {
    if (layer_type.empty()) {
      throw Error(ErrorKind::kUnsupported, kOperation,
                  newer->where() + " differs by layer type, which this family does not");
    }
    return {config, std::nullopt};
  }
  // Files with both were rewritten by hand, which is done with the older key.
  if (std::optional<io::Config> older = present(config, "rope_scaling")) return {config, older};
  return {config, newer};
}

int64_t rotated_channels(const RopeKeys& keys, int64_t head_width) {
  constexpr std::string_view kPart = "partial_rotary_factor";
  const double part = keys.inner && keys.inner->has(kPart)
                          ? keys.inner->number({kPart})
                          : keys.config.number({kPart, "rotary_pct"}, 1);
  const double channels = std::trunc(part * static_cast<double>(head_width));
  const double most = static_cast<double>(head_width);
  const bool possible = channels >= 2 && channels <= most && std::fmod(channels, 2) == 0;
  if (!possible) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: {} of {} channels would be rotated", keys.config.where(),
                            std::clamp(channels, -1e15, 1e15), head_width));
  }
  return static_cast<int64_t>(channels);
}

void scale_linear(Rope& rope, const RopeKeys& keys) {
  const double factor = keys.scaling("factor");
  for (double& frequency : rope.inverse_frequency) frequency /= factor;
}

void scale_dynamic(Rope& rope, const RopeKeys& keys) {
  rope.dynamic_factor = keys.scaling("factor");
  rope.original_context = keys.context();
  if (rope.width <= 2) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: rope_type dynamic needs more than 2 rotated channels",
                            keys.inner->where()));
  }
}

void scale_llama3(Rope& rope, const RopeKeys& keys) {
  const double factor = keys.scaling("factor"), low = keys.scaling("low_freq_factor"),
               high = keys.scaling("high_freq_factor"),
               original = static_cast<double>(keys.original_context());
  if (high <= low) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: high_freq_factor {} is not above low_freq_factor {}",
                            keys.inner->where(), high, low));
  }
  for (double& frequency : rope.inverse_frequency) {
    frequency = llama3_frequency(frequency, factor, low, high, original);
  }
}

void scale_yarn(Rope& rope, const RopeKeys& keys) {
  Yarn yarn;
  yarn.factor = keys.stretch();
  yarn.original_context = static_cast<double>(keys.original_context());
  if (const double fast = keys.optional_scaling("beta_fast")) yarn.beta_fast = fast;
  if (const double slow = keys.optional_scaling("beta_slow")) yarn.beta_slow = slow;
  yarn.truncate = keys.inner->flag({"truncate"}, true);
  apply_yarn(rope, yarn, keys.inner->where());
  const double numerator = keys.optional_scaling("mscale"),
               denominator = keys.optional_scaling("mscale_all_dim");
  if (keys.inner->has("attention_factor")) {
    rope.magnitude = keys.scaling("attention_factor");
  } else if (numerator > 0 && denominator > 0) {
    rope.magnitude =
        yarn_magnitude(yarn.factor, numerator) / yarn_magnitude(yarn.factor, denominator);
  } else {
    rope.magnitude = yarn_magnitude(yarn.factor);
  }
}

void scale_longrope(Rope& rope, const RopeKeys& keys) {
  rope.original_context = keys.original_context();
  const std::vector<double> plain = rope.inverse_frequency;
  const auto scaled = [&](std::string_view key) {
    return divided(plain, keys.inner->numbers(key), keys.inner->where(), key);
  };
  rope.inverse_frequency = scaled("short_factor");
  rope.long_inverse_frequency = scaled("long_factor");
  const double factor = keys.stretch();
  if (keys.inner->has("attention_factor")) {
    rope.magnitude = keys.scaling("attention_factor");
  } else if (factor > 1) {
    if (rope.original_context < 2) {
      throw Error(ErrorKind::kBadFile, kOperation,
                  fmt::format("{}: original_max_position_embeddings is 1", keys.inner->where()));
    }
    rope.magnitude =
        std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(rope.original_context)));
  }
}

}  // namespace

Rope read_rope(const io::Config& config, int64_t head_width, std::string_view layer_type) {
  const RopeKeys keys = find_keys(config, layer_type);
  const std::string_view base_key =
      config.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta";
  const bool base_inside = keys.inner && keys.inner->has("rope_theta");
  const double base = keys.number(base_inside ? "rope_theta" : base_key, 10000);
  Rope rope = make_rope(rotated_channels(keys, head_width), base);
  const std::string type = keys.type();
  if (type == "default") return rope;
  // Early phi3 files say "su", or "yarn" with longrope's lists.
  const bool longrope =
      type == "longrope" || type == "su" || (type == "yarn" && keys.inner->has("short_factor"));
  if (longrope) {
    scale_longrope(rope, keys);
  } else if (type == "linear") {
    scale_linear(rope, keys);
  } else if (type == "dynamic") {
    scale_dynamic(rope, keys);
  } else if (type == "llama3") {
    scale_llama3(rope, keys);
  } else if (type == "yarn") {
    scale_yarn(rope, keys);
  } else {
    throw Error(ErrorKind::kUnsupported, kOperation,
                fmt::format("{}: rope_type \"{}\"", keys.inner->where(), io::printable(type)),
                "known: default, linear, dynamic, llama3, yarn, longrope");
  }
  return rope;
}

}  // namespace sinkscope::model
