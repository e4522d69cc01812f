#include <fmt/format.h>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/rope_scaling.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr char kOperation[] = "read rotary positions";

struct RopeKeys {
  const io::GgufFile& file;
  std::string architecture = file.text("general.architecture");
  std::string prefix = architecture + ".rope.";
  std::string where = file.files().front().string();

  double positive(const std::string& key, double fallback) const {
    const double value = file.number(prefix + key, fallback);
    check_positive(value, where, prefix + key);
    return value;
  }
  /// 1 where it is absent or 0, as the files' own engine has it. Old files have the second name.
  double factor() const {
    double value = file.number(prefix + "scaling.factor", file.number(prefix + "scale_linear", 0));
    if (value == 0) value = 1;
    check_positive(value, where, prefix + "scaling.factor");
    return value;
  }
  int64_t original_context() const {
    const std::string key = prefix + "scaling.original_context_length";
    const int64_t value = file.integer(key, file.integer(architecture + ".context_length", 0));
    check_positive(static_cast<double>(value), where, key);
    return value;
  }
};

std::vector<double> divided_by(const std::vector<double>& frequencies, const RopeKeys& keys,
                               const io::TensorInfo& tensor) {
  const std::string name = "tensor " + tensor.name;
  if (tensor.elements() != static_cast<int64_t>(frequencies.size())) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: {} has {} entries, expected {}", keys.where, name,
                            tensor.elements(), frequencies.size()));
  }
  std::vector<float> values(frequencies.size());
  io::read_floats(keys.file, tensor, 0, values);
  return divided(frequencies, {values.begin(), values.end()}, keys.where, name);
}

void scale_yarn(Rope& rope, const RopeKeys& keys) {
  const double share = keys.file.number(keys.prefix + "scaling.yarn_ext_factor", 1);
  if (share != 1 && share >= 0) {  // negative: not set
    throw Error(ErrorKind::kUnsupported, kOperation,
                fmt::format("{}: {}scaling.yarn_ext_factor is {}, expected 1", keys.where,
                            keys.prefix, share));
  }
  Yarn yarn;
  yarn.factor = keys.factor();
  yarn.original_context = static_cast<double>(keys.original_context());
  yarn.beta_fast = keys.positive("scaling.yarn_beta_fast", yarn.beta_fast);
  yarn.beta_slow = keys.positive("scaling.yarn_beta_slow", yarn.beta_slow);
  apply_yarn(rope, yarn, keys.where);
  const double weight = keys.file.number(keys.prefix + "scaling.yarn_log_multiplier", 0);
  rope.magnitude *= yarn_magnitude(yarn.factor);
  if (weight != 0) rope.magnitude /= yarn_magnitude(yarn.factor, weight);
}

/// Longrope's tables and llama3's divisors are tensors, whatever the scaling type says.
void apply_tensors(Rope& rope, const RopeKeys& keys) {
  if (const io::TensorInfo* divisors = keys.file.find("rope_freqs.weight")) {
    rope.inverse_frequency = divided_by(rope.inverse_frequency, keys, *divisors);
    return;
  }
  const io::TensorInfo* short_ones = keys.file.find("rope_factors_short.weight");
  const io::TensorInfo* long_ones = keys.file.find("rope_factors_long.weight");
  if (!short_ones && !long_ones) return;
  if (!short_ones || !long_ones) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: tensor rope_factors_{}.weight is missing", keys.where,
                            short_ones ? "long" : "short"),
                "the file may be incomplete");
  }
  rope.original_context = keys.original_context();
  rope.long_inverse_frequency = divided_by(rope.inverse_frequency, keys, *long_ones);
  rope.inverse_frequency = divided_by(rope.inverse_frequency, keys, *short_ones);
}

}  // namespace

Rope read_rope(const io::GgufFile& file, int64_t head_width) {
  const RopeKeys keys{file};
  const int64_t width = file.integer(keys.prefix + "dimension_count", head_width);
  if (width < 2 || width > head_width || width % 2 != 0) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: {}dimension_count is {}, the heads have {} channels", keys.where,
                            keys.prefix, width, head_width));
  }
  Rope rope = make_rope(width, keys.positive("freq_base", 10000));
  rope.magnitude = keys.positive("scaling.attn_factor", 1);
  const std::string type = file.text(keys.prefix + "scaling.type", "linear");
  if (type == "linear") {
    const double factor = keys.factor();
    for (double& frequency : rope.inverse_frequency) frequency /= factor;
  } else if (type == "yarn") {
    scale_yarn(rope, keys);
  } else if (type != "none" && type != "longrope") {
    throw Error(
        ErrorKind::kUnsupported, kOperation,
        fmt::format("{}: {}scaling.type is \"{}\"", keys.where, keys.prefix, io::printable(type)),
        "known: none, linear, yarn, longrope");
  }
  apply_tensors(rope, keys);
  return rope;
}

}  // namespace sinkscope::model
