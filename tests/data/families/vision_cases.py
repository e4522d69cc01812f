"""Image encoders."""

import numpy as np
import torch
from engine import Case, Places
from plain_cases import plain


def image(height: int, width: int, batch: int = 1):
    def inputs(rng, config):
        pixels = rng.standard_normal((batch, 3, height, width)).astype(np.float32)
        return {"pixel_values": torch.from_numpy(pixels)}

    return inputs


def image_in_order(height: int, width: int):
    """For a model that shuffles its patches by a noise."""

    def inputs(rng, config):
        patches = height * width // config["patch_size"] ** 2
        return image(height, width)(rng, config) | {"noise": torch.arange(patches)[None] / patches}

    return inputs


VIT = Places("vit.layers", "attention", final_norm="vit.layernorm")
BEIT = Places("beit.layers", "attention", scales=("lambda_1", "lambda_2"), final_norm="beit.layernorm")
DEIT = Places("deit.layers", "attention", final_norm="deit.layernorm")
DINOV2 = Places("encoder.layer", "layer_scale1", "layer_scale2", "layernorm")
TOWER = Places("encoder.layers", final_norm="post_layernorm")
IJEPA = Places("layers", "attention", final_norm="layernorm")
DINOV3 = Places("model.layer", "layer_scale1", "layer_scale2", "norm")


def vision(architecture: str, model_type: str, **keys) -> dict:
    return dict(
        architectures=[architecture], attention_probs_dropout_prob=0.0, hidden_act="gelu", hidden_dropout_prob=0.0,
        hidden_size=24, image_size=16, initializer_range=0.02, intermediate_size=48, layer_norm_eps=1e-12,
        model_type=model_type, num_attention_heads=4, num_channels=3, num_hidden_layers=2, patch_size=4,
        torch_dtype="float16", transformers_version="4.30.0",
    ) | keys  # fmt: skip


def beit(**keys) -> dict:
    classes = {str(i): f"c{i}" for i in range(3)}
    return vision(
        "BeitForImageClassification", "beit", drop_path_rate=0.1, id2label=classes,
        label2id={v: k for k, v in classes.items()}, layer_scale_init_value=0.1, pool_scales=[1, 2, 3, 6],
        image_size=12, semantic_loss_ignore_index=255, use_absolute_position_embeddings=False, use_auxiliary_head=True,
        use_mask_token=False, use_mean_pooling=True, use_relative_position_bias=True,
        use_shared_relative_position_bias=False, vocab_size=8192, **keys,
    )  # fmt: skip


def small(architecture: str, model_type: str, **keys) -> dict:
    """Nine patches."""
    return vision(architecture, model_type, **(dict(hidden_size=16, image_size=12, intermediate_size=24) | keys))


def classifier(architecture: str, model_type: str, **keys) -> dict:
    classes = {str(i): f"c{i}" for i in range(3)}
    return small(architecture, model_type, id2label=classes, label2id={v: k for k, v in classes.items()},
                 qkv_bias=True, **keys)  # fmt: skip


def dinov2(architecture: str, model_type: str, **keys) -> dict:
    config = small(architecture, model_type, apply_layernorm=True, drop_path_rate=0.0, layer_norm_eps=1e-06,
                   layerscale_value=1.0, qkv_bias=True, reshape_hidden_states=True)  # fmt: skip
    del config["intermediate_size"]
    return config | dict(mlp_ratio=2, use_swiglu_ffn=False) | keys


def tower(architecture: str, model_type: str, **keys) -> dict:
    return dict(
        architectures=[architecture], attention_dropout=0.0, hidden_size=16, image_size=12, intermediate_size=24,
        model_type=model_type, num_attention_heads=4, num_channels=3, num_hidden_layers=2, patch_size=4,
        torch_dtype="float16",
    ) | keys  # fmt: skip


def tower_hub_names(state: dict, model) -> dict:
    """The published files have both towers of a model and, of CLIP, the numbers of the positions."""
    if model.config.model_type == "clip_vision_model":
        state = state | {"embeddings.position_ids": torch.arange(model.embeddings.num_positions)[None]}
    return {f"vision_model.{k}": v for k, v in state.items()}


def own_pooler(model, out, t: dict) -> torch.Tensor:
    return out.pooler_output


def mae_hub_names(state: dict, model) -> dict:
    return {k.replace("decoder.decoder_encoder.layer.", "decoder.decoder_layers."): v for k, v in state.items()}


def beit_hub_names(state: dict, model) -> dict:
    """The published files have each table inside its attention, with its index of pairs."""
    tables = [m for m in model.modules() if type(m).__name__ == "BeitRelativePositionBias"]
    index = tables[0].generate_relative_position_index(tables[0].window_size)
    owners = [k.removesuffix("_bias_table") for k in state if k.endswith(".relative_position_bias_table")]
    return state | {f"{owner}_index": index.clone() for owner in owners}


TIMM_NAMES = (
    ("vit.embeddings.cls_token", "cls_token"),
    ("vit.embeddings.position_embeddings", "pos_embed"),
    ("vit.embeddings.patch_embeddings.projection", "patch_embed.proj"),
    ("vit.encoder.layer.", "blocks."),
    ("attention.output.dense", "attn.proj"),
    ("intermediate.dense", "mlp.fc1"),
    ("output.dense", "mlp.fc2"),
    ("layernorm_before", "norm1"),
    ("layernorm_after", "norm2"),
    ("vit.layernorm", "norm"),
    ("classifier", "head"),
)


def timm_names(state: dict, model) -> dict:
    out = {}
    for name, value in state.items():
        if ".attention.attention." in name:
            continue
        for theirs, timms in TIMM_NAMES:
            name = name.replace(theirs, timms)
        out[name] = value
    for i in range(model.config.num_hidden_layers):
        for leaf in ("weight", "bias"):
            parts = [state[f"vit.encoder.layer.{i}.attention.attention.{p}.{leaf}"] for p in ("query", "key", "value")]
            out[f"blocks.{i}.attn.qkv.{leaf}"] = torch.cat(parts)
    return out


HF_VIT = vision("ViTForImageClassification", "vit", layer_norm_eps=1e-06, qkv_bias=True, num_labels=3)
MAE = vision(
    "ViTMAEForPreTraining", "vit_mae", qkv_bias=True, decoder_hidden_size=8, decoder_intermediate_size=16,
    decoder_num_attention_heads=2, decoder_num_hidden_layers=1, mask_ratio=0.75, norm_pix_loss=False,
)  # fmt: skip

NINE, EIGHT = image(12, 12), image(8, 16)
PLAIN = [
    plain("vit", 501, "ViTForImageClassification",
          classifier("ViTForImageClassification", "vit", encoder_stride=16), VIT, runs=[NINE], causal=False,
          note="pre-norm ViT: class token, exact GELU; logits are the classifier on the normed class token"),
    plain("deit", 502, "DeiTForImageClassificationWithTeacher",
          classifier("DeiTForImageClassificationWithTeacher", "deit"), DEIT, runs=[NINE], causal=False,
          note="class and distillation token; logits are the mean of two classifiers"),
    plain("dinov2", 503, "Dinov2Model", dinov2("Dinov2Model", "dinov2"), DINOV2, runs=[NINE, EIGHT],
          tags=("", "nonsquare"), causal=False, pooled=own_pooler,
          note="LayerScale on both branches; at 8x16 pixels the 3x3 positions are interpolated to 2x4, bicubic and not "
               "antialiased"),
    plain("dinov2_swiglu", 504, "Dinov2Model",
          dinov2("Dinov2Model", "dinov2", use_swiglu_ffn=True), DINOV2, runs=[NINE], causal=False, pooled=own_pooler,
          note="SwiGLU MLP: weights_in holds [gate|up]; its width is two thirds of mlp_ratio times the width, 21, "
               "rounded up to a multiple of 8"),
    plain("dinov2_with_registers", 505, "Dinov2WithRegistersModel",
          dinov2("Dinov2WithRegistersModel", "dinov2_with_registers", num_register_tokens=2), DINOV2,
          runs=[NINE, EIGHT], tags=("", "nonsquare"), causal=False, pooled=own_pooler,
          note="tokens are [class, 2 registers, patches], the registers without a position; at 8x16 pixels the 3x3 "
               "positions are interpolated to 2x4, bicubic and antialiased"),
    plain("clip_vision", 506, "CLIPVisionModel",
          tower("CLIPVisionModel", "clip_vision_model", dropout=0.0, hidden_act="quick_gelu", initializer_factor=1.0,
                initializer_range=0.02, layer_norm_eps=1e-05, projection_dim=16, transformers_version="4.24.0.dev0"),
          TOWER, runs=[NINE], causal=False, hub_names=tower_hub_names, pooled=own_pooler,
          draws={"class_embedding": (0.0, 0.5)},
          facts={"final_norm": "post_layernorm of every token; the model itself norms the class token only"},
          note="a norm before the first block (pre_layrnorm, sic); quick GELU; no bias of the patch projection; pooled "
               "is the normed class token"),
    plain("siglip_vision", 507, "SiglipVisionModel",
          tower("SiglipVisionModel", "siglip_vision_model", hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-06,
                transformers_version="4.37.0.dev0"),
          TOWER, runs=[NINE], causal=False, hub_names=tower_hub_names, pooled=own_pooler,
          draws={"in_proj_bias": (0.0, 0.1)},
          note="no class token; pooled is an attention of a learned probe over the patches (fused in_proj) with an MLP "
               "behind it"),
    plain("ijepa", 508, "IJepaModel", small("IJepaModel", "ijepa", layer_norm_eps=1e-06, qkv_bias=True), IJEPA,
          runs=[NINE], causal=False, pooled=lambda model, out, t: out.last_hidden_state.mean(1),
          note="ViT without a class token; pooled is the mean of the normed patches"),
]  # fmt: skip

CASES = PLAIN + [
    Case("vit_mae", 301, "ViTMAEForPreTraining", MAE, VIT, runs=[image_in_order(16, 16)], causal=False,
         reference=MAE | {"mask_ratio": 0.0}, hub_names=mae_hub_names,
         note="encoder over all patches in order (config.json says mask_ratio 0.75, which belongs to training); the "
              "position of the class token is added too; the decoder's weights are in the file and do not matter"),
    Case("beit", 302, "BeitForImageClassification", beit(), BEIT, runs=[image(12, 12)], causal=False,
         hub_names=beit_hub_names, pooled=lambda model, out, t: model.beit.pooler(t["final_norm"]),
         facts={"final_norm": "no final norm: equals the last resid_post",
                "scores": "score_scale * q.k + bias[h, query, key]"},
         note="relative position bias of its own in each block; no position embedding; no key bias; LayerScale "
              "lambda_1, lambda_2; pooled is the norm of the mean over the patches, logits its classifier"),
    Case("beit_shared_bias", 303, "BeitForImageClassification",
         beit() | dict(use_relative_position_bias=False, use_shared_relative_position_bias=True, use_mask_token=True),
         BEIT, runs=[image(12, 12), image(8, 16)], tags=("", "nonsquare"), causal=False, hub_names=beit_hub_names,
         pooled=lambda model, out, t: model.beit.pooler(t["final_norm"]),
         facts={"final_norm": "no final norm: equals the last resid_post",
                "scores": "score_scale * q.k + bias[h, query, key]"},
         note="one relative position bias for all blocks (beit.encoder.relative_position_bias); a mask token that is "
              "not used; at 8x16 pixels the table of distances is interpolated bilinearly from 5x5 to 3x7"),
    Case("beit_class_token", 304, "BeitForImageClassification", beit() | dict(use_mean_pooling=False), BEIT,
         runs=[image(16, 16)], causal=False, hub_names=beit_hub_names,
         pooled=lambda model, out, t: model.beit.pooler(t["final_norm"]),
         facts={"scores": "score_scale * q.k + bias[h, query, key]"},
         note="use_mean_pooling false: a final norm (beit.layernorm) and the class token as pooled; 16x16 pixels, so "
              "the table grows from 5x5 to 7x7"),
    Case("dinov3_vit_gated", 305, "DINOv3ViTModel",
         dict(architectures=["DINOv3ViTModel"], attention_dropout=0.0, drop_path_rate=0.0, hidden_act="silu",
              hidden_size=32, image_size=16, initializer_range=0.02, intermediate_size=40, key_bias=False,
              layer_norm_eps=1e-05, layerscale_value=1.0, mlp_bias=True, model_type="dinov3_vit", num_attention_heads=4,
              num_channels=3, num_hidden_layers=2, num_register_tokens=4, patch_size=4, pos_embed_jitter=None,
              pos_embed_rescale=2.0, pos_embed_shift=None, proj_bias=True, query_bias=True, rope_theta=100.0,
              torch_dtype="float16", transformers_version="4.56.0.dev0", use_gated_mlp=True, value_bias=True),
         DINOV3, runs=[image(12, 12)], causal=False, pooled=lambda model, out, t: out.pooler_output,
         note="use_gated_mlp: down(silu(gate) * up), all with biases; rotary by patch coordinates, 4 registers"),
    Case("vit_timm", 306, "ViTForImageClassification",
         dict(architecture="vit_tiny_patch16_224", num_classes=3, num_features=24, global_pool="token",
              model_args=dict(img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=4, mlp_ratio=2.0,
                              num_classes=3),
              pretrained_cfg=dict(tag="augreg_in21k_ft_in1k", custom_load=False, input_size=[3, 16, 16],
                                  fixed_input_size=True, interpolation="bicubic", crop_pct=0.9, crop_mode="center",
                                  mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5], num_classes=3, pool_size=None,
                                  first_conv="patch_embed.proj", classifier="head")),
         VIT, runs=[image(16, 16)], causal=False, reference=HF_VIT, hub_names=timm_names,
         note="a ViT in timm's files: fused qkv [q|k|v], norm epsilon 1e-6 without a key, sizes in model_args of "
              "config.json, no model_type"),
]  # fmt: skip
