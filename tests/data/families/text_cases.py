"""Language models and text encoders. The configurations have the keys that published files of the family have."""

import numpy as np
import torch
from engine import Case, Places
from transformers.models.roberta.modeling_roberta import RobertaPooler


# ---- inputs ----
def text(tokens: int, batch: int = 1):
    return lambda rng, config: {"input_ids": torch.from_numpy(rng.integers(3, config["vocab_size"], (batch, tokens)))}


def padded(tokens: int, pads: list[int], pad: int):
    """Right padding, as tokenizers of encoders do it."""

    def inputs(rng, config):
        ids = text(tokens, len(pads))(rng, config)["input_ids"]
        mask = torch.ones_like(ids)
        for row, n in enumerate(pads):
            ids[row, tokens - n :], mask[row, tokens - n :] = pad, 0
        return {"input_ids": ids, "attention_mask": mask}

    return inputs


def clip_text(rng, config):
    """The last token has the highest id; what follows it is padding that the family does not mask."""
    ids = torch.from_numpy(rng.integers(3, config["vocab_size"] - 2, (2, 12)))
    ids[:, 0] = config["vocab_size"] - 2
    for row, end in enumerate((11, 7)):
        ids[row, end], ids[row, end + 1 :] = config["vocab_size"] - 1, config["pad_token_id"]
    return {"input_ids": ids}


# ---- where to listen ----
LLAMA = Places("model.layers", final_norm="model.norm")
PHI = Places("model.layers", final_norm="model.final_layernorm")
SANDWICH = Places("model.layers", "post_attention_layernorm", "post_feedforward_layernorm", "model.norm")
GPT = Places("transformer.h", "attn", final_norm="transformer.ln_f")
FALCON = Places("transformer.h", "self_attention", final_norm="transformer.ln_f")
NEOX = Places("gpt_neox.layers", "attention", final_norm="gpt_neox.final_layer_norm")
OPT = Places("model.decoder.layers", mlp="fc2", norms=("self_attn_layer_norm", "final_layer_norm"))
ROBERTA = Places("roberta.encoder.layer", "attention.output.dense", "output.dense",
                 norms=("attention.output.LayerNorm", "output.LayerNorm"))  # fmt: skip
DISTILBERT = Places("distilbert.transformer.layer", "attention", "ffn", norms=("sa_layer_norm", "output_layer_norm"))
CLIP = Places("encoder.layers", final_norm="final_layer_norm")


# ---- names ----
def roberta_pooler(model) -> RobertaPooler:
    """In the published files, though the masked language model does not use it."""
    pooler = RobertaPooler(model.config).to(model.dtype)
    rng = np.random.default_rng(31)
    for parameter in pooler.parameters():
        parameter.data.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(parameter.shape))).half())
    return pooler


def roberta_hub_names(state: dict, model) -> dict:
    pooler = {f"roberta.pooler.{k}": v.half() for k, v in roberta_pooler(model).state_dict().items()}
    positions = {"roberta.embeddings.position_ids": torch.arange(model.config.max_position_embeddings)[None]}
    return state | pooler | positions


def clip_hub_names(state: dict, model) -> dict:
    positions = {"embeddings.position_ids": torch.arange(model.config.max_position_embeddings)[None]}
    return {f"text_model.{k}": v for k, v in (state | positions).items()}


def opt_350m_names(state: dict, model) -> dict:
    return {k.removeprefix("model."): v for k, v in state.items()}


# ---- configurations ----
DROP = object()  # a key that this family's files do not have


def decoder(architecture: str, model_type: str, **keys) -> dict:
    config = dict(
        architectures=[architecture], attention_bias=False, attention_dropout=0.0, bos_token_id=1, eos_token_id=2,
        hidden_act="silu", hidden_size=24, initializer_range=0.02, intermediate_size=40, max_position_embeddings=64,
        model_type=model_type, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=2, rms_norm_eps=1e-05,
        rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False, torch_dtype="float16",
        transformers_version="4.44.0", use_cache=True, vocab_size=60,
    )  # fmt: skip
    return {k: v for k, v in (config | keys).items() if v is not DROP}


def llama(**keys) -> dict:
    return decoder("LlamaForCausalLM", "llama", mlp_bias=False, pretraining_tp=1, **keys)


def phi(**keys) -> dict:
    return decoder("PhiForCausalLM", "phi", **dict(
        attention_bias=DROP, rms_norm_eps=DROP, bos_token_id=None, eos_token_id=None, embd_pdrop=0.0, resid_pdrop=0.0,
        hidden_act="gelu_new", layer_norm_eps=1e-05, qk_layernorm=False, num_key_value_heads=None, hidden_size=32,
        partial_rotary_factor=0.5) | keys)  # fmt: skip


def stablelm(**keys) -> dict:
    return decoder("StableLmForCausalLM", "stablelm", attention_bias=DROP, rms_norm_eps=DROP, rope_scaling=DROP,
                   hidden_dropout=0.0, layer_norm_eps=1e-05, partial_rotary_factor=0.25, hidden_size=32,
                   intermediate_size=36, **keys)  # fmt: skip


def cohere(**keys) -> dict:
    return decoder("CohereForCausalLM", "cohere", **dict(
        rms_norm_eps=DROP, rope_scaling=DROP, tie_word_embeddings=DROP, layer_norm_eps=1e-05, logit_scale=0.0625,
        model_max_length=131072, pad_token_id=0, bos_token_id=5, eos_token_id=59,
        rope_theta=8000000.0) | keys)  # fmt: skip


def bigcode(**keys) -> dict:
    return dict(
        activation_function="gelu", architectures=["GPTBigCodeForCausalLM"], attention_softmax_in_fp32=True,
        attn_pdrop=0.1, bos_token_id=0, embd_pdrop=0.1, eos_token_id=0, inference_runner=0, initializer_range=0.02,
        layer_norm_epsilon=1e-05, max_batch_size=None, max_sequence_length=None, model_type="gpt_bigcode",
        multi_query=True, n_embd=24, n_head=4, n_inner=40, n_layer=2, n_positions=32, pad_key_length=True,
        pre_allocate_kv_cache=False, resid_pdrop=0.1, scale_attention_softmax_in_fp32=True, scale_attn_weights=True,
        summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index",
        summary_use_proj=True, torch_dtype="float16", transformers_version="4.28.1", use_cache=True,
        validate_runner_input=True, vocab_size=60,
    ) | keys  # fmt: skip


def falcon(**keys) -> dict:
    return dict(
        alibi=False, apply_residual_connection_post_layernorm=False, architectures=["FalconForCausalLM"],
        attention_dropout=0.0, bias=False, bos_token_id=11, eos_token_id=11, hidden_dropout=0.0, hidden_size=24,
        initializer_range=0.02, layer_norm_epsilon=1e-05, model_type="falcon", new_decoder_architecture=False,
        num_attention_heads=4, num_hidden_layers=2, parallel_attn=True, torch_dtype="float16",
        transformers_version="4.27.4", use_cache=True, vocab_size=60,
    ) | keys  # fmt: skip


def rope_differs(a: int, b: int):
    """The same tokens turn by other angles in the two runs, from the second token on."""

    def proof(model, runs: list[dict]) -> bool:
        n = min(a, b)
        same = torch.equal(runs[0]["input_ids"][:, :n], runs[1]["input_ids"][:, :n])
        return same and not torch.allclose(runs[0]["k.0"][:, :, 1:n], runs[1]["k.0"][:, :, 1:n], atol=1e-3)

    return proof


def same_start(tokens: int):
    """The first tokens of one text, for every run of a case."""
    return lambda rng, config: {"input_ids": text(64)(np.random.default_rng(9), config)["input_ids"][:, :tokens]}


def routes(top: int, unvisited: bool):
    """No choice of an expert hangs on rounding; some expert sees no token where that is asked for."""

    def proof(model, runs: list[dict]) -> bool:
        for i, block in enumerate(model.model.layers):
            router = getattr(block.mlp, "gate", getattr(block.mlp, "router", None))
            if router is None:  # a dense layer between others
                continue
            x = block.post_attention_layernorm(runs[0][f"resid_pre.{i}"] + runs[0][f"attn_out.{i}"])
            scores = x @ router.weight.T + getattr(router, "bias", 0)
            scores, order = scores.sort(dim=-1, descending=True)
            idle = len(order[..., :top].unique()) < scores.shape[-1]
            if float((scores[..., top - 1] - scores[..., top]).min()) < 0.01 or idle != unvisited:
                return False
        return True

    return proof


def gated_by_qwen(attention, x: torch.Tensor) -> torch.Tensor:
    raw = attention.q_proj(x).view(*x.shape[:2], -1, 2 * attention.head_dim)
    return raw[..., attention.head_dim :].sigmoid()


FIRST = np.random.default_rng(7)  # factors of the long and the short rotary table
SHORT = [float(f"{x:.4f}") for x in 1 + 0.2 * FIRST.random(4)]
LONG = [float(f"{x:.4f}") for x in 1 + 6 * FIRST.random(4)]

CASES = [
    Case("phi", 201, "PhiForCausalLM", phi(), PHI, runs=[text(14)],
         note="parallel block with one LayerNorm; biases everywhere, on the head too; half of each head is rotated; "
              "num_key_value_heads is null; gelu_new"),
    Case("phi_qk_layernorm", 202, "PhiForCausalLM",
         phi(hidden_size=30, num_attention_heads=3, num_key_value_heads=1, partial_rotary_factor=0.4,
              qk_layernorm=True),
         PHI, runs=[text(14)],
         note="LayerNorm with bias over each head of q and k, one gain for all heads, before rotary; 0.4 of 10 "
              "channels are rotated"),
    Case("nemotron", 203, "NemotronForCausalLM",
         decoder("NemotronForCausalLM", "nemotron", head_dim=12, hidden_act="relu2", initializer_range=0.0134,
                 mlp_bias=False, norm_eps=1e-05, partial_rotary_factor=0.5, rms_norm_eps=DROP, rope_scaling=DROP,
                 bos_token_id=2, eos_token_id=3),
         LLAMA, runs=[text(14)], gain=0.0,
         note="LayerNorm with a gain stored as w-1 and a bias; plain MLP with squared ReLU; head_dim 12 != 24/4"),
    Case("stablelm", 204, "StableLmForCausalLM",
         stablelm(qk_layernorm=False, use_parallel_residual=False, use_qkv_bias=True), LLAMA, runs=[text(14)],
         note="LayerNorm with bias, SwiGLU; use_qkv_bias: biases on q, k, v and none on o; a quarter of each head "
              "rotated"),
    Case("stablelm_parallel", 205, "StableLmForCausalLM",
         stablelm(qk_layernorm=True, use_parallel_residual=True, use_qkv_bias=False), LLAMA, runs=[text(14)],
         note="parallel block with one norm for both branches; q and k normed with a gain of their own for every head "
              "(q_layernorm.norms.H.weight), no bias"),
    Case("cohere", 206, "CohereForCausalLM", cohere(num_key_value_heads=4), LLAMA, runs=[text(14)],
         note="parallel block with one LayerNorm without bias; rotary on pairs (2i, 2i+1); tied head, logits times "
              "logit_scale"),
    Case("cohere_qk_norm", 207, "CohereForCausalLM",
         cohere(use_qk_norm=True, logit_scale=0.8333333333333334, rope_theta=75000000.0), LLAMA, runs=[text(14)],
         note="as cohere with use_qk_norm: LayerNorm over each head with gains [H, K], mean removed; grouped-query"),
    Case("gpt_bigcode", 208, "GPTBigCodeForCausalLM", bigcode(), GPT, runs=[text(14)],
         note="multi-query: c_attn rows are [q of all heads | k | v]; weights stored [out, in] unlike gpt2; exact "
              "GELU; learned positions; tied head"),
    Case("gpt_bigcode_multi_head", 209, "GPTBigCodeForCausalLM",
         bigcode(multi_query=False, activation_function="gelu_pytorch_tanh", n_inner=None), GPT, runs=[text(14)],
         note="multi_query false: c_attn rows are interleaved per head, [q|k|v] of head 0, then of head 1; tanh GELU; "
              "n_inner null means four times the width"),
    Case("olmo", 210, "OlmoForCausalLM",
         decoder("OlmoForCausalLM", "olmo", bos_token_id=DROP, eos_token_id=59, clip_qkv=1.5, pad_token_id=1,
                 pretraining_tp=1, rms_norm_eps=DROP, tie_word_embeddings=True),
         LLAMA, runs=[text(14)],
         proof=lambda model, runs: float((runs[0]["v.0"].abs() == 1.5).double().mean()) > 0.1,
         note="LayerNorm without gain and bias, epsilon 1e-5 without a key; q, k and v clamped to +-1.5 before rotary"),
    Case("olmo3", 211, "Olmo3ForCausalLM",
         decoder("Olmo3ForCausalLM", "olmo3", bos_token_id=DROP, pad_token_id=1, rms_norm_eps=1e-06, head_dim=DROP,
                 hidden_size=32, intermediate_size=32, rope_theta=500000, sliding_window=6,
                 layer_types=["sliding_attention", "full_attention"], max_position_embeddings=256,
                 rope_scaling=dict(attention_factor=1.2079441541679836, beta_fast=32, beta_slow=1, factor=8.0,
                                   original_max_position_embeddings=32, rope_type="yarn")),
         SANDWICH, runs=[text(14)],
         note="norms after the branches, q and k normed over the full projection; window 6 in layer 0; yarn and its "
              "attention factor on the full layer only, the sliding one has the plain rotary table"),
    Case("falcon_new", 212, "FalconForCausalLM",
         falcon(new_decoder_architecture=True, num_kv_heads=2), FALCON, runs=[text(14)],
         note="new decoder architecture: query_key_value holds, per group, [its queries | k | v]; ln_attn and ln_mlp"),
    Case("falcon_one_norm", 213, "FalconForCausalLM",
         falcon(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1, ffn_hidden_size=40,
                ff_factor=4, rope_theta=500042.0, tie_word_embeddings=False, activation="gelu"),
         FALCON, runs=[text(14)],
         note="new decoder architecture with one norm for both branches (input_layernorm), MLP width of its own and an "
              "untied head"),
    Case("falcon_alibi", 214, "FalconForCausalLM",
         falcon(alibi=True, bias=True, multi_query=False, parallel_attn=False, hidden_size=20, num_attention_heads=10,
                bos_token_id=1, eos_token_id=2),
         FALCON, runs=[text(14)],
         facts={"scores": "score_scale * (q.k + bias_h_j) + mask, bias_h_j = bfloat16(bfloat16(slope_h) * j)"},
         note="sequential block with biases; ALiBi with 10 heads, rounded to bfloat16 and scaled with the product; "
              "query_key_value interleaved per head"),
    Case("gpt_neox_sequential", 215, "GPTNeoXForCausalLM",
         dict(architectures=["GPTNeoXForCausalLM"], bos_token_id=0, eos_token_id=0, hidden_act="gelu", hidden_size=24,
              initializer_range=0.02, intermediate_size=40, layer_norm_eps=1e-05, max_position_embeddings=32,
              model_type="gpt_neox", num_attention_heads=4, num_hidden_layers=2, rotary_emb_base=10000, rotary_pct=1.0,
              tie_word_embeddings=False, torch_dtype="float16", transformers_version="4.28.1", use_cache=True,
              use_parallel_residual=False, vocab_size=60),
         NEOX, runs=[text(14)],
         note="use_parallel_residual false: the MLP reads the stream after attention; all channels rotated"),
    Case("phi3_longrope", 216, "Phi3ForCausalLM",
         decoder("Phi3ForCausalLM", "phi3", embd_pdrop=0.0, resid_pdrop=0.0, pad_token_id=0, sliding_window=262144,
                 hidden_size=24, num_attention_heads=3, num_key_value_heads=3, max_position_embeddings=128,
                 original_max_position_embeddings=12,
                 rope_scaling=dict(long_factor=LONG, short_factor=SHORT, type="longrope")),
         LLAMA, runs=[same_start(12), same_start(18)], tags=("", "long"), proof=rope_differs(12, 18),
         note="longrope: up to original_max_position_embeddings (12) tokens the short factors, beyond it the long "
              "ones, for every token; cos and sin times sqrt(1 + ln(128/12) / ln(12)) in both"),
    Case("llama_yarn", 217, "LlamaForCausalLM",
         llama(head_dim=16, max_position_embeddings=256, intermediate_size=32,
               rope_scaling=dict(factor=4.0, original_max_position_embeddings=64, type="yarn")),
         LLAMA, runs=[text(14)],
         note="yarn with its defaults (beta 32 and 1, truncated range); cos and sin times 0.1 ln 4 + 1; head_dim 16 "
              "!= 24/4"),
    Case("llama_dynamic", 218, "LlamaForCausalLM",
         llama(max_position_embeddings=10, hidden_size=32, intermediate_size=36,
               rope_scaling=dict(factor=2.0, type="dynamic")),
         LLAMA, runs=[same_start(10), same_start(14)], tags=("", "long"), proof=rope_differs(10, 14),
         note="dynamic NTK: beyond max_position_embeddings (10) the base grows with the length of the sequence"),
    Case("llama_linear", 219, "LlamaForCausalLM", llama(rope_scaling=dict(factor=2.5, type="linear")), LLAMA,
         runs=[text(14)], note="linear scaling: every frequency divided by 2.5"),
    Case("qwen3_next_moe", 220, "Qwen3NextForCausalLM",
         decoder("Qwen3NextForCausalLM", "qwen3_next", head_dim=8, full_attention_interval=1,
                 partial_rotary_factor=0.25, decoder_sparse_step=1, mlp_only_layers=[], num_experts=4,
                 num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=16,
                 norm_topk_prob=True, linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_num_key_heads=2,
                 linear_num_value_heads=4, linear_value_head_dim=8, output_router_logits=False,
                 router_aux_loss_coef=0.001, rms_norm_eps=1e-06, rope_theta=10000000),
         LLAMA, runs=[text(14)], gain=0.0, gate=gated_by_qwen, proof=routes(2, unvisited=False),
         facts={"gate": "gate.N is after the sigmoid; the output projection sees z.N * gate.N"},
         note="experts (2 of 4, weights renormalised) beside a shared expert that every token passes, scaled by "
              "sigmoid(shared_expert_gate x); gated attention; norms store w-1; a quarter of each head rotated"),
    Case("starcoder2_no_bias", 221, "Starcoder2ForCausalLM",
         decoder("Starcoder2ForCausalLM", "starcoder2", attention_bias=DROP, rms_norm_eps=DROP, rope_scaling=DROP,
                 embedding_dropout=0.0, residual_dropout=0.0, hidden_act="gelu_pytorch_tanh", mlp_type="default",
                 norm_epsilon=1e-05, norm_type="layer_norm", sliding_window=None, use_bias=False,
                 tie_word_embeddings=True, rope_theta=999999.4420358813),
         LLAMA, runs=[text(14)], note="use_bias false: no bias on any projection, the LayerNorms keep theirs"),
    Case("mixtral_top1", 230, "MixtralForCausalLM",
         decoder("MixtralForCausalLM", "mixtral", attention_bias=DROP, num_local_experts=6, num_experts_per_tok=1,
                 output_router_logits=False, router_aux_loss_coef=0.02, sliding_window=None, rope_theta=1000000.0,
                 intermediate_size=16, rope_scaling=DROP),
         LLAMA, runs=[text(10)],
         proof=routes(1, unvisited=True),
         note="top 1 of 6: the weight of the one expert is renormalised to 1; some experts see no token"),
    Case("roberta", 223, "RobertaForMaskedLM",
         dict(architectures=["RobertaForMaskedLM"], attention_probs_dropout_prob=0.1, bos_token_id=0, eos_token_id=2,
              hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=24, initializer_range=0.02, intermediate_size=40,
              layer_norm_eps=1e-05, max_position_embeddings=34, model_type="roberta", num_attention_heads=4,
              num_hidden_layers=2, pad_token_id=1, torch_dtype="float16", transformers_version="4.30.0",
              type_vocab_size=1, vocab_size=60),
         ROBERTA, runs=[padded(10, [0, 3], pad=1)], causal=False, hub_names=roberta_hub_names,
         pooled=lambda model, out, t: roberta_pooler(model)(t["final_norm"]),
         note="post-norm encoder; positions start at pad_token_id + 1 = 2; logits are decoder(norm(gelu(dense x))) "
              "with lm_head.bias; the stored pooler makes pooled; 0 and 3 right pads"),
    Case("distilbert", 224, "DistilBertForMaskedLM",
         dict(activation="gelu", architectures=["DistilBertForMaskedLM"], attention_dropout=0.1, dim=24, dropout=0.1,
              hidden_dim=40, initializer_range=0.02, max_position_embeddings=32, model_type="distilbert", n_heads=4,
              n_layers=2, pad_token_id=0, qa_dropout=0.1, seq_classif_dropout=0.2, sinusoidal_pos_embds=False,
              tie_weights_=True, transformers_version="4.10.0.dev0", vocab_size=60),
         DISTILBERT, runs=[padded(10, [0, 3], pad=0)], causal=False,
         note="post-norm encoder without token types; norm epsilon 1e-12 without a key; logits from vocab_transform, "
              "vocab_layer_norm, vocab_projector (tied); 0 and 3 right pads"),
    Case("clip_text", 225, "CLIPTextModel",
         dict(architectures=["CLIPTextModel"], attention_dropout=0.0, bos_token_id=0, dropout=0.0, eos_token_id=2,
              hidden_act="quick_gelu", hidden_size=24, initializer_factor=1.0, initializer_range=0.02,
              intermediate_size=40, layer_norm_eps=1e-05, max_position_embeddings=16, model_type="clip_text_model",
              num_attention_heads=4, num_hidden_layers=2, pad_token_id=1, projection_dim=24, torch_dtype="float16",
              transformers_version="4.22.0.dev0", vocab_size=60),
         CLIP, runs=[clip_text], hub_names=clip_hub_names, pooled=lambda model, out, t: out.pooler_output,
         note="causal text tower, quick GELU; eos_token_id 2 is wrong in the published files: pooled is the final norm "
              "at the largest id (position 11 and 7)"),
    Case("opt_post_norm", 226, "OPTForCausalLM",
         dict(_remove_final_layer_norm=False, activation_dropout=0.0, activation_function="relu",
              architectures=["OPTForCausalLM"], attention_dropout=0.0, bos_token_id=2, do_layer_norm_before=False,
              dropout=0.1, eos_token_id=2, ffn_dim=40, hidden_size=24, init_std=0.02, layerdrop=0.0,
              max_position_embeddings=32, model_type="opt", num_attention_heads=4, num_hidden_layers=2, pad_token_id=1,
              prefix="</s>", torch_dtype="float16", transformers_version="4.20.0.dev0", use_cache=True, vocab_size=60,
              word_embed_proj_dim=16),
         OPT, runs=[text(14)], hub_names=opt_350m_names,
         facts={"q": "q.N is the projection output; the family scales it by head_dim**-0.5 before the product"},
         note="the 350m form: norms behind the branches, no final norm; embeddings of width 16, project_in and "
              "project_out; stored names begin with decoder., without model."),
]  # fmt: skip
