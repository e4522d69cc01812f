// DINOv2 with register tokens between the class token and the patches. They get no position, and
// the position table is resampled with antialiasing.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_dinov2_config(config);
  spec.vision.registers = read_count(config, "num_register_tokens", 4);
  spec.vision.antialias = true;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 1> kRegisters = {{
    {"registers", "dinov2_with_registers.embeddings.register_tokens", "", Dim::kRegisters, Dim::kWidth, when::registers},
}};
// clang-format on

constexpr auto kWeights =
    join(names::vit_ends<"dinov2_with_registers.">(), kRegisters,
         names::vit_attention<"dinov2_with_registers.">(),
         names::dinov2_mlp<"dinov2_with_registers.">(), names::kWideClassifier);

}  // namespace

const Family kDinov2WithRegisters{.name = "dinov2_with_registers",
                                  .read_config = read_config,
                                  .weights = kWeights,
                                  .optional_prefix = "dinov2_with_registers.",
                                  .hub_class = "Dinov2WithRegistersModel"};

}  // namespace sinkscope::model
