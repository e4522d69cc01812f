// gpt-oss: a learned sink logit per head, windows in every second block, biases on every
// projection, experts with a clamped SwiGLU whose gate and up columns alternate in safetensors; the
// published ones hold the experts packed as MXFP4.

#include <fmt/format.h>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"

namespace sinkscope::model {
namespace {

constexpr char kOperation[] = "read gpt_oss configuration";

ModelSpec complete(ModelSpec spec, const std::string& where) {
  if (spec.experts.count == 0) {
    throw Error(ErrorKind::kBadFile, kOperation, where + ": the number of experts is absent or 0");
  }
  spec.activation = Activation::kClampedSwiglu;
  spec.sink_logits = true;
  spec.experts.bias = true;
  for (BlockFacts& block : spec.blocks) block.experts = true;
  return spec;
}

void check_constant(const io::Config& config, std::string_view key, double expected) {
  const double value = config.number({key}, expected);
  if (value == expected) return;
  throw Error(ErrorKind::kUnsupported, kOperation,
              fmt::format("{}: {} is {}, only {} is known", config.where(), key, value, expected));
}

void check_form(const io::Config& config) {
  check_constant(config, "swiglu_alpha", 1.702);
  check_constant(config, "swiglu_limit", 7);
}

io::Config with_own_defaults(const io::Config& given) {
  const io::Config config =
      with_defaults(given, R"({"head_dim": 64, "rope_theta": 150000, "sliding_window": 128})");
  if (config.has("rope_parameters")) return config;
  return with_defaults(config, R"({"rope_scaling": {
      "rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false,
      "original_max_position_embeddings": 4096}})");
}

ModelSpec read_config(const io::Config& given) {
  check_form(given);
  const io::Config config = with_own_defaults(given);
  ModelSpec spec = read_llama_config(config);
  spec.norm_epsilon = config.number({"rms_norm_eps"}, 1e-5);
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, true);
  read_windows(config, spec, 2);
  spec.experts = read_experts(config);
  return complete(std::move(spec), config.where());
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  read_windows(file, spec, [](int64_t layer) { return layer % 2 == 0; });
  spec.experts = read_experts(file);
  return complete(std::move(spec), file.files().front().string());
}

// clang-format off
constexpr std::array<WeightName, 15> kOthers = {{
    pick(names::kPreNorms, "blocks.{}.norm1"),
    {"blocks.{}.norm2", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight", Dim::kWidth},
    {"blocks.{}.sinks", "model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight", Dim::kHeads},
    {"blocks.{}.router", "model.layers.{}.mlp.router.weight", "blk.{}.ffn_gate_inp.weight", Dim::kExperts, Dim::kWidth},
    {"blocks.{}.router.bias", "model.layers.{}.mlp.router.bias", "blk.{}.ffn_gate_inp.bias", Dim::kExperts},
    {"blocks.{}.experts.gate_up", "model.layers.{}.mlp.experts.gate_up_proj", "", Dim::kExpertGateUp, Dim::kWidth, when::always, Layout::kInterleavedColumns},
    {"blocks.{}.experts.gate_up", "model.layers.{}.mlp.experts.gate_up_proj_blocks", "", Dim::kExpertGateUp, Dim::kWidth, when::always, Layout::kMxfp4Interleaved},
    {"blocks.{}.experts.gate_up.bias", "model.layers.{}.mlp.experts.gate_up_proj_bias", "", Dim::kExpertGateUp, Dim::kNone, when::always, Layout::kInterleavedVector},
    {"blocks.{}.experts.gate", "", "blk.{}.ffn_gate_exps.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.gate.bias", "", "blk.{}.ffn_gate_exps.bias", Dim::kExpertMlp},
    {"blocks.{}.experts.up", "", "blk.{}.ffn_up_exps.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.up.bias", "", "blk.{}.ffn_up_exps.bias", Dim::kExpertMlp},
    {"blocks.{}.experts.down", "model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight", Dim::kWidth, Dim::kExpertMlp, when::always, Layout::kTransposedExperts},
    {"blocks.{}.experts.down", "model.layers.{}.mlp.experts.down_proj_blocks", "", Dim::kWidth, Dim::kExpertMlp, when::always, Layout::kMxfp4},
    {"blocks.{}.experts.down.bias", "model.layers.{}.mlp.experts.down_proj_bias", "blk.{}.ffn_down_exps.bias", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights = join(names::kEnds, names::attention(), kOthers);

}  // namespace

const Family kGptOss{"gpt_oss", "gpt-oss", read_config,        read_gguf,
                     kWeights,  "model.",  "GptOssForCausalLM"};

}  // namespace sinkscope::model
