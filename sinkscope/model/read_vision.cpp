#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr int64_t kMaxSide = 1 << 16;

struct Sides {
  int64_t height = 0, width = 0;
};

/// One number, or height and width.
Sides read_sides(const io::Config& config, std::string_view key, int64_t fallback) {
  const bool two = config.has(key) && config.json()[std::string(key)].is_array();
  const std::vector<int64_t> sides =
      two ? config.integers(key) : std::vector<int64_t>(2, config.integer({key}, fallback));
  if (sides.size() != 2) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: {} has {} entries, expected height and width", config.where(), key,
                            sides.size()));
  }
  for (const int64_t side : sides) check_size(side, config.where(), key, 1, kMaxSide);
  return {sides[0], sides[1]};
}

void read_grid(const io::Config& config, Vision& vision) {
  vision.channels =
      check_size(config.integer({"num_channels"}, 3), config.where(), "num_channels", 1, 1024);
  const Sides image = read_sides(config, "image_size", 224),
              patch = read_sides(config, "patch_size", 16);
  if (patch.height != patch.width) {
    throw Error(ErrorKind::kUnsupported, "read model sizes",
                fmt::format("{}: patch_size is {} x {}, only square patches are supported",
                            config.where(), patch.height, patch.width));
  }
  if (image.height < patch.height || image.width < patch.width) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: image_size {} x {} is smaller than patch_size {}", config.where(),
                            image.height, image.width, patch.height));
  }
  vision.patch = patch.height;
  vision.image_height = image.height;
  vision.image_width = image.width;
}

}  // namespace

ModelSpec read_vision_config(const io::Config& config) {
  // read_decoder_config asks for a vocabulary, and these have no grouped keys.
  ModelSpec spec = read_decoder_config(with_defaults(config, R"({"vocab_size": 1})"));
  spec.vocabulary = 0;
  read_grid(config, spec.vision);
  spec.causal = false;
  spec.norm = Norm::kLayer;
  spec.positions = Positions::kPatchGrid;
  spec.attention_bias = config.flag({"qkv_bias"}, true);
  spec.output_bias = spec.mlp_bias = true;
  spec.gated_mlp = false;
  spec.activation = read_activation(config, {"hidden_act"}, "gelu");
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-12);
  return spec;
}

}  // namespace sinkscope::model
