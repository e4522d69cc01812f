// Qwen3-Next, its full-attention blocks only: q_proj yields query and gate of each head, the
// attention output is multiplied by the gate's sigmoid; norms hold w - 1; a quarter of each head is
// rotated; experts with a shared one beside them. Linear-attention blocks have no attention pattern
// and are refused.

#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/qwen_parts.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

[[noreturn]] void refuse(const std::string& seen) {
  throw Error(ErrorKind::kUnsupported, "read qwen3_next configuration", seen,
              "only full-attention blocks have an attention pattern to measure");
}

void check_interval(int64_t interval, const std::string& where, const std::string& key) {
  check_size(interval, where, key);
  if (interval == 1) return;
  refuse(fmt::format("{}: {} is {}: the other blocks are linear_attention", where, key, interval));
}

void check_layer_types(const io::Config& config, const ModelSpec& spec) {
  const std::vector<std::string> types = read_layer_types(config, spec);
  for (const std::string& type : types) {
    if (type == "full_attention") continue;
    refuse(fmt::format("{}: layer_types has \"{}\"", config.where(), io::printable(type)));
  }
  if (types.empty()) {
    check_interval(config.integer({"full_attention_interval"}, 4), config.where(),
                   "layer_types is absent and full_attention_interval");
  }
}

ModelSpec complete(ModelSpec spec) {
  spec.qk_norm = QkNorm::kHead;
  spec.attention_gate = true;
  return spec;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(
      given, R"({"num_key_value_heads": 2, "head_dim": 256, "partial_rotary_factor": 0.25,
                 "num_experts_per_tok": 10, "moe_intermediate_size": 512,
                 "shared_expert_intermediate_size": 512})");
  ModelSpec spec = complete(read_llama_config(config));
  check_layer_types(config, spec);
  qwen::read_biases(config, spec);
  spec.experts = read_experts(config, 512);
  spec.experts.normalise = config.flag({"norm_topk_prob"}, true);
  if (spec.experts.count > 0) {
    constexpr std::string_view kShared = "shared_expert_intermediate_size";
    spec.experts.shared_width = check_size(config.integer({kShared}), config.where(), kShared);
  }
  read_sparse_blocks(config, spec);
  return spec;
}

void check_recurrent_blocks(const io::GgufFile& file, const std::string& where) {
  const std::string flags = "qwen3next.attention.recurrent_layers",
                    interval = "qwen3next.full_attention_interval";
  if (file.has(flags)) {
    const std::vector<int64_t> recurrent = file.integers(flags);
    if (std::any_of(recurrent.begin(), recurrent.end(), [](int64_t flag) { return flag != 0; })) {
      refuse(fmt::format("{} names linear-attention blocks", file.place(flags)));
    }
  } else {
    check_interval(file.integer(interval, 4), where, interval);
  }
}

ModelSpec read_gguf(const io::GgufFile& file) {
  const std::string where = file.files().front().string(),
                    shared = "qwen3next.expert_shared_feed_forward_length";
  ModelSpec spec = complete(read_llama_gguf(file));
  check_recurrent_blocks(file, where);
  qwen::read_biases(file, spec);
  spec.experts = read_experts(file);
  spec.experts.shared_width = check_size(file.integer(shared, spec.mlp_width), where, shared);
  for (BlockFacts& block : spec.blocks) block.experts = spec.experts.count > 0;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 2> kNorms = {{
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm2", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight", Dim::kWidth},
}};

constexpr std::array<WeightName, 4> kSharedExpert = {{
    {"blocks.{}.shared.router", "model.layers.{}.mlp.shared_expert_gate.weight", "blk.{}.ffn_gate_inp_shexp.weight", Dim::kOne, Dim::kWidth, when::shared_expert},
    {"blocks.{}.shared.gate", "model.layers.{}.mlp.shared_expert.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight", Dim::kSharedMlp, Dim::kWidth, when::shared_expert},
    {"blocks.{}.shared.up", "model.layers.{}.mlp.shared_expert.up_proj.weight", "blk.{}.ffn_up_shexp.weight", Dim::kSharedMlp, Dim::kWidth, when::shared_expert},
    {"blocks.{}.shared.down", "model.layers.{}.mlp.shared_expert.down_proj.weight", "blk.{}.ffn_down_shexp.weight", Dim::kWidth, Dim::kSharedMlp, when::shared_expert},
}};
// clang-format on

/// Each head's query is followed by its gate.
constexpr std::array<WeightName, 8> gated_attention() {
  std::array<WeightName, 8> rows = names::attention();
  for (WeightName& row : rows) {
    if (row.rows == Dim::kQueries) row.rows = Dim::kQueriesGate, row.layout = Layout::kQueryGate;
  }
  return rows;
}

constexpr auto kWeights =
    join(names::minus_one(names::kEnds), names::minus_one(kNorms), gated_attention(),
         names::minus_one(names::kHeadNorms), names::kGatedMlp, names::kExperts, kSharedExpert);

}  // namespace

const Family kQwen3Next{"qwen3_next", "qwen3next", read_config,           read_gguf,
                        kWeights,     "model.",    "Qwen3NextForCausalLM"};

}  // namespace sinkscope::model
