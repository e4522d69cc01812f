"""Language models and text encoders that have no other case: the family's published form, made small."""

import torch
from engine import Case, Places
from text_cases import DROP, GPT, LLAMA, OPT, SANDWICH, decoder, padded, routes, text

BERT = Places("bert.encoder.layer", "attention.output.dense", "output.dense",
              norms=("attention.output.LayerNorm", "output.LayerNorm"))  # fmt: skip
BLOOM = Places("transformer.h", "self_attention.dense", "mlp.dense_4h_to_h", "transformer.ln_f")
GRANITE = Places("model.layers", final_norm="model.norm", scales=("residual_multiplier", "residual_multiplier"))
KEPT = ("resid_post", "q", "k", "attn", "attn_out", "final_norm", "logits", "pooled")
TOKENS = 10


def plain(name: str, seed: int, architecture: str, config: dict, places: Places, note: str, **more) -> Case:
    return Case(name, seed, architecture, config, places, note, **(dict(runs=[text(TOKENS)], kept=KEPT) | more))


def small(architecture: str, model_type: str, **keys) -> dict:
    return decoder(architecture, model_type, **(dict(hidden_size=16, intermediate_size=24, vocab_size=44) | keys))


def gemma(architecture: str, model_type: str, **keys) -> dict:
    return small(architecture, model_type, **dict(
        head_dim=8, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-06, pad_token_id=0, eos_token_id=1,
        bos_token_id=2, tie_word_embeddings=DROP) | keys)  # fmt: skip


# ---- inputs and names ----
def two_types(rng, config: dict) -> dict:
    """Two segments and two tokens of padding."""
    inputs = padded(TOKENS + 2, [2], pad=0)(rng, config)
    return inputs | {"token_type_ids": (torch.arange(TOKENS + 2)[None] >= 6).long()}


def without_prefix(state: dict, model) -> dict:
    return {k.removeprefix("transformer."): v for k, v in state.items()}


def oldest_gpt2_names(state: dict, model) -> dict:
    """The first published files have no prefix and hold the causal mask of each layer."""
    n = model.config.n_positions
    mask = torch.tril(torch.ones(n, n)).view(1, 1, n, n).half()
    masks = {f"h.{i}.attn.bias": mask.clone() for i in range(model.config.n_layer)}
    return without_prefix(state, model) | masks


def gamma_and_beta(state: dict, model) -> dict:
    swap = lambda k: k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    return {swap(k): v for k, v in state.items()}


# ---- what a case must show ----
def windows(*seen: int):
    """How many keys the last query sees in each layer."""
    last = lambda t, i: int((t[f"attn.{i}"][0, 0, -1] > 0).sum())
    return lambda model, runs: [last(runs[0], i) for i in range(len(seen))] == list(seen)


def clamps(model, runs: list[dict]) -> bool:
    """Values of a gate and of an up projection beyond the limit, in both layers."""
    for i, block in enumerate(model.model.layers):
        x = block.post_attention_layernorm(runs[0][f"resid_pre.{i}"] + runs[0][f"attn_out.{i}"])
        experts = block.mlp.experts
        values = torch.einsum("btd,edm->betm", x, experts.gate_up_proj) + experts.gate_up_proj_bias[None, :, None]
        if float(values[..., ::2].max()) < 7 or float(values[..., 1::2].abs().max()) < 7:
            return False
    return True


def gpt_oss_proof(model, runs: list[dict]) -> bool:
    drained = all(float(runs[0][f"attn.{i}"].sum(-1).mean()) < 0.9 for i in range(2))
    return drained and windows(4, 10)(model, runs) and clamps(model, runs) and routes(2, unvisited=False)(model, runs)


def one_alibi(model, runs: list[dict]) -> bool:
    """The slope is added once, unscaled."""
    t, heads = runs[0], model.config.n_head
    slopes = [2 ** (-2 * i) for i in range(1, 5)] + [2**-1, 2**-3]  # 4 heads, then every second one of 8
    slopes = torch.tensor(slopes[:heads])
    scores = t["q.0"] @ t["k.0"].transpose(-1, -2) * t["q.0"].shape[-1] ** -0.5
    scores = scores + slopes[:, None, None] * torch.arange(TOKENS)
    scores = scores.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -torch.inf)
    return torch.allclose(scores.softmax(-1), t["attn.0"], atol=1e-5)


LLAMA3 = dict(factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=64,
              rope_type="llama3")  # fmt: skip
GPT_OSS_YARN = dict(beta_fast=32.0, beta_slow=1.0, factor=32.0, original_max_position_embeddings=256, rope_type="yarn",
                    truncate=False)  # fmt: skip

CASES = [
    plain("llama", 401, "LlamaForCausalLM",
          small("LlamaForCausalLM", "llama", mlp_bias=False, pretraining_tp=1, tie_word_embeddings=True), LLAMA,
          note="grouped-query attention; tied head: the file has no lm_head.weight"),
    plain("llama3_scaling", 402, "LlamaForCausalLM",
          small("LlamaForCausalLM", "llama", mlp_bias=False, pretraining_tp=1, rope_theta=500000.0,
                rope_scaling=LLAMA3, max_position_embeddings=512, num_attention_heads=2, num_key_value_heads=1,
                head_dim=16),
          LLAMA,
          note="rope_scaling of type llama3: the eight frequencies of a head of 16 channels fall into all three bands"),
    plain("gpt2", 403, "GPT2LMHeadModel",
          dict(activation_function="gelu_new", architectures=["GPT2LMHeadModel"], attn_pdrop=0.1, bos_token_id=43,
               embd_pdrop=0.1, eos_token_id=43, initializer_range=0.02, layer_norm_epsilon=1e-05, model_type="gpt2",
               n_ctx=16, n_embd=16, n_head=4, n_layer=2, n_positions=16, resid_pdrop=0.1, summary_activation=None,
               summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
               vocab_size=44),
          GPT, hub_names=oldest_gpt2_names,
          note="c_attn is [q|k|v] and every matrix is stored [in, out]; learned positions; tied head; names without "
               "transformer., mask buffers h.N.attn.bias in the file; no n_inner: four times the width"),
    plain("mistral", 404, "MistralForCausalLM",
          small("MistralForCausalLM", "mistral", attention_bias=DROP, rope_scaling=DROP, sliding_window=4), LLAMA,
          proof=windows(4, 4), note="sliding window 4 in every layer: a query sees itself and the three before it"),
    plain("qwen2", 405, "Qwen2ForCausalLM",
          small("Qwen2ForCausalLM", "qwen2", attention_bias=DROP, rope_scaling=DROP, max_window_layers=1,
                sliding_window=4, use_sliding_window=False, rope_theta=1000000.0, rms_norm_eps=1e-06,
                tie_word_embeddings=True),
          LLAMA, proof=windows(10, 10),
          note="biases on q, k, v and none on o, without a key that says so; tied head; a window of 4 is given and "
               "switched off"),
    plain("qwen3", 406, "Qwen3ForCausalLM",
          small("Qwen3ForCausalLM", "qwen3", head_dim=6, max_window_layers=2, sliding_window=None,
                use_sliding_window=False, rope_theta=1000000.0, rms_norm_eps=1e-06, tie_word_embeddings=True),
          LLAMA, note="RMS norm over each head of q and k, before rotary; head_dim 6 != 16/4"),
    plain("qwen3_moe", 407, "Qwen3MoeForCausalLM",
          small("Qwen3MoeForCausalLM", "qwen3_moe", head_dim=8, decoder_sparse_step=1, mlp_only_layers=[0],
                moe_intermediate_size=12, norm_topk_prob=False, num_experts=5, num_experts_per_tok=2,
                output_router_logits=False, router_aux_loss_coef=0.001, max_window_layers=2, sliding_window=None,
                use_sliding_window=False, rms_norm_eps=1e-06, rope_theta=1000000.0),
          LLAMA, proof=routes(2, unvisited=False),
          note="layer 0 dense, layer 1 top 2 of 5 experts; norm_topk_prob false: the weights of the chosen sum to less "
               "than 1; q and k normed per head"),
    plain("gemma", 408, "GemmaForCausalLM",
          gemma("GemmaForCausalLM", "gemma", hidden_act="gelu_pytorch_tanh", num_key_value_heads=1), LLAMA, gain=0.0,
          note="norms store w-1; embeddings times sqrt(16); tanh GELU in a gated MLP; one key-value head; tied head "
               "without a key"),
    plain("gemma2", 409, "Gemma2ForCausalLM",
          gemma("Gemma2ForCausalLM", "gemma2", attn_logit_softcapping=3.0, cache_implementation="hybrid",
                final_logit_softcapping=4.0, hidden_act="gelu_pytorch_tanh", query_pre_attn_scalar=5, rope_scaling=DROP,
                sliding_window=4, sliding_window_size=4),
          SANDWICH, gain=0.0, proof=windows(4, 10), facts={"softcap": 3.0},
          note="caps on scores (3) and logits (4); score scale 5**-0.5; window 4 in layer 0; norms before and behind "
               "each branch"),
    plain("gemma3_text", 410, "Gemma3ForCausalLM",
          gemma("Gemma3ForCausalLM", "gemma3_text", attn_logit_softcapping=None, cache_implementation="hybrid",
                final_logit_softcapping=None, hidden_act=DROP, num_hidden_layers=3, num_key_value_heads=1,
                query_pre_attn_scalar=6, rope_local_base_freq=10000.0, rope_theta=1000000.0,
                rope_scaling=dict(factor=8.0, rope_type="linear"), sliding_window=4, sliding_window_pattern=3),
          SANDWICH, gain=0.0, proof=windows(4, 4, 10),
          note="two local layers (window 4, base 1e4) and a global one (base 1e6, frequencies divided by 8); norm over "
               "each head of q and k; score scale 6**-0.5"),
    plain("olmo2", 411, "Olmo2ForCausalLM",
          small("Olmo2ForCausalLM", "olmo2", bos_token_id=DROP, pad_token_id=0, rms_norm_eps=1e-06,
                rope_theta=500000.0),
          SANDWICH, note="a norm behind each branch and none before; q and k normed over the full projection"),
    plain("opt", 412, "OPTForCausalLM",
          dict(_remove_final_layer_norm=False, activation_dropout=0.0, activation_function="relu",
               architectures=["OPTForCausalLM"], attention_dropout=0.0, bos_token_id=2, do_layer_norm_before=True,
               dropout=0.1, eos_token_id=2, ffn_dim=24, hidden_size=18, init_std=0.02, layerdrop=0.0,
               max_position_embeddings=16, model_type="opt", num_attention_heads=3, num_hidden_layers=2,
               pad_token_id=1, prefix="</s>", torch_dtype="float16", transformers_version="4.21.0.dev0",
               use_cache=True, vocab_size=44, word_embed_proj_dim=18),
          Places(OPT.blocks, mlp=OPT.mlp, final_norm="model.decoder.final_layer_norm"),
          facts={"q": "q.N is the projection output; the family scales it by head_dim**-0.5 before the product"},
          note="norms before the branches and a final one; position p is row p + 2 of the table; ReLU; tied head"),
    plain("bloom", 413, "BloomForCausalLM",
          dict(apply_residual_connection_post_layernorm=False, architectures=["BloomForCausalLM"],
               attention_dropout=0.0, attention_softmax_in_fp32=True, bias_dropout_fusion=True, bos_token_id=1,
               eos_token_id=2, hidden_dropout=0.0, hidden_size=18, initializer_range=0.02, layer_norm_epsilon=1e-05,
               masked_softmax_fusion=True, model_type="bloom", n_head=6, n_inner=None, n_layer=2, offset_alibi=100,
               pad_token_id=3, pretraining_tp=1, skip_bias_add=True, skip_bias_add_qkv=False, slow_but_exact=False,
               unk_token_id=0, use_cache=True, vocab_size=44),
          BLOOM, hub_names=without_prefix, proof=one_alibi,
          facts={"scores": "score_scale * q.k + slope_h * j + mask"},
          note="ALiBi with 6 heads; a norm behind the embedding; query_key_value interleaved per head; tied head; "
               "names without transformer."),
    plain("gpt_oss", 414, "GptOssForCausalLM",
          small("GptOssForCausalLM", "gpt_oss", attention_bias=True, experts_per_token=2, head_dim=8,
                initial_context_length=256, intermediate_size=12, layer_types=["sliding_attention", "full_attention"],
                max_position_embeddings=8192, num_experts_per_tok=2, num_local_experts=4, output_router_logits=False,
                router_aux_loss_coef=0.9, pad_token_id=0, rope_theta=1000, rope_scaling=GPT_OSS_YARN,
                sliding_window=4, swiglu_limit=7.0),
          LLAMA, draws={"sinks": (1.0, 1.0), "gate_up_proj": (0.0, 1.0)}, proof=gpt_oss_proof,
          note="a sink logit per head joins the softmax and is dropped: rows of attn sum to less than 1; window 4 in "
               "layer 0; yarn, its range not truncated; experts with biases, gate and up interleaved, some beyond the "
               "limit of 7"),
    plain("smollm3", 415, "SmolLM3ForCausalLM",
          small("SmolLM3ForCausalLM", "smollm3", layer_types=["full_attention"] * 2, max_window_layers=2,
                mlp_bias=False, no_rope_layer_interval=4, no_rope_layers=[1, 0], pad_token_id=0, rms_norm_eps=1e-06,
                rope_theta=5000000.0, sliding_window=None, tie_word_embeddings=True, use_sliding_window=False),
          LLAMA, note="no_rope_layers [1, 0]: layer 1 has no positions"),
    plain("granite", 416, "GraniteForCausalLM",
          small("GraniteForCausalLM", "granite", attention_multiplier=0.7, embedding_multiplier=3.0,
                logits_scaling=2.5, mlp_bias=False, pad_token_id=0, residual_multiplier=0.45,
                tie_word_embeddings=True),
          GRANITE,
          note="factors on embedding (3), scores (0.7) and both branches (0.45), a divisor of the logits (2.5)"),
    plain("bert", 417, "BertForPreTraining",
          dict(architectures=["BertForPreTraining"], attention_probs_dropout_prob=0.1, gradient_checkpointing=False,
               hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=16, initializer_range=0.02,
               intermediate_size=24, layer_norm_eps=1e-12, max_position_embeddings=16, model_type="bert",
               num_attention_heads=4, num_hidden_layers=2, pad_token_id=0, position_embedding_type="absolute",
               transformers_version="4.6.0.dev0", type_vocab_size=2, use_cache=True, vocab_size=44),
          BERT, runs=[two_types], causal=False, hub_names=gamma_and_beta,
          pooled=lambda model, out, t: model.bert.pooler(t["final_norm"]),
          note="post-norm encoder; two token types; norms named gamma and beta; logits of the masked-LM head; pooled "
               "is tanh(dense(first token)); 2 right pads"),
]  # fmt: skip
