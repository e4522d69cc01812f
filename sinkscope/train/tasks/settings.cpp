#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/families/lab.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::train {
namespace {

[[noreturn]] void refuse(const std::string& seen, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, "read task settings", seen, allowed);
}

}  // namespace

int64_t read_setting(const io::Config& settings, std::string_view key, int64_t fallback,
                     int64_t least, int64_t most) {
  const int64_t value = settings.integer({key}, fallback);
  if (value < least || value > most) {
    refuse(fmt::format("{} {}", key, value), fmt::format("from {} to {}", least, most));
  }
  return value;
}

double read_setting(const io::Config& settings, std::string_view key, double fallback, double least,
                    double most) {
  const double value = settings.number({key}, fallback);
  if (!(value >= least && value <= most)) {
    refuse(fmt::format("{} {}", key, value), fmt::format("from {} to {}", least, most));
  }
  return value;
}

std::string read_setting(const io::Config& settings, std::string_view key,
                         std::initializer_list<std::string_view> words) {
  const std::string value = settings.text({key}, *words.begin());
  if (std::find(words.begin(), words.end(), value) != words.end()) return value;
  std::string known;
  for (const std::string_view word : words)
    known += (known.empty() ? "" : ", ") + std::string(word);
  refuse(fmt::format("{} \"{}\"", key, io::printable(value)), known);
}

model::ModelSpec lab_spec(int64_t layers, int64_t heads, int64_t width, int64_t tokens) {
  model::ModelSpec spec;
  spec.family = std::string(model::kLabType);
  spec.layers = layers, spec.heads = spec.kv_heads = heads;
  spec.width = width, spec.head_width = width / heads;
  spec.context = tokens;
  spec.blocks.resize(static_cast<size_t>(layers));
  spec.norm = model::Norm::kLayer;
  spec.positions = model::Positions::kLearned;
  spec.final_norm = false;
  spec.score_scale = 1 / std::sqrt(static_cast<double>(spec.head_width));
  spec.activation = model::Activation::kGelu;
  spec.mlp = spec.gated_mlp = false;
  return spec;
}

}  // namespace sinkscope::train
