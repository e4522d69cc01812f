"""Turns the description of a case into its folder: configuration, weights, goldens and expected.json.

Every tensor of a golden is listened to while the reference implementation runs; none is computed a second time here.
"""

import copy
import json
import shutil
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.overrides import TorchFunctionMode

torch.set_num_threads(1)
torch.set_grad_enabled(False)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@dataclass
class Places:
    """Modules to listen to; attention and mlp are looked up in each block."""

    blocks: str
    attention: str = "self_attn"
    mlp: str = "mlp"
    final_norm: str | None = None
    # post-norm blocks: the norms behind attention and MLP
    norms: tuple[str, str] | None = None
    # attribute of a block that scales a branch before it is added
    scales: tuple[str, str] | None = None


@dataclass
class Case:
    name: str
    seed: int
    architecture: str  # class of the reference implementation
    config: dict
    places: Places
    note: str
    runs: list[Callable[[np.random.Generator, dict], dict]]  # the inputs of each run
    tags: tuple[str, ...] = ("",)  # golden_TAG.safetensors of each run
    causal: bool = True
    gain: float = 1.0  # mean of a stored norm gain: 0 where the family adds 1 itself
    draws: dict[str, tuple[float, float]] = field(default_factory=dict)  # mean and deviation by last part of a name
    kept: tuple[str, ...] = ()  # kinds of tensors that are stored; none named: all
    gate: Callable[[torch.nn.Module, torch.Tensor], torch.Tensor] | None = None  # (attention, its input)
    pooled: Callable[[torch.nn.Module, Any, dict], torch.Tensor] | None = None
    hub_names: Callable[[dict, torch.nn.Module], dict] | None = None  # last edit of the stored weights
    reference: dict | None = None  # configuration of the reference where it is not config.json itself
    facts: dict = field(default_factory=dict)  # into expected.json
    proof: Callable[[torch.nn.Module, list[dict]], bool] | None = None  # the special thing does happen


# ---- weights and inputs ----


def draw(case: Case, name: str, shape: torch.Size) -> torch.Tensor:
    """Values of one parameter; rounded to float16, which is how they are stored."""
    rng = np.random.default_rng([case.seed, zlib.crc32(name.encode())])
    noise = torch.from_numpy(np.asarray(rng.standard_normal(tuple(shape)), dtype=np.float32))
    leaf = name.rsplit(".", 1)[-1]
    if leaf in case.draws:
        mean, deviation = case.draws[leaf]
        values = mean + deviation * noise
    elif leaf == "bias":
        values = 0.1 * noise
    elif "lambda" in leaf:
        values = 0.5 + 0.1 * noise
    elif "bias_table" in leaf:
        values = 0.7 * noise
    elif any(part in name for part in ("q_norm", "k_norm", "q_layernorm", "k_layernorm")):
        values = case.gain + 0.6 + 0.1 * noise  # scores of normed q and k are small otherwise
    elif len(shape) == 1:
        values = case.gain + 0.1 * noise
    else:
        values = 0.3 * noise
    return values.half().float()


def build_model(case: Case, dtype: torch.dtype = torch.float32):
    # a copy: the class writes its own form of rope keys into the dictionary that it is given
    config = transformers.AutoConfig.for_model(**copy.deepcopy(case.reference or case.config))
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"  # the default kernel has no float64 form
    torch.set_default_dtype(dtype)
    try:
        model = getattr(transformers, case.architecture)(config).eval()
    finally:
        torch.set_default_dtype(torch.float32)
    for name, parameter in model.named_parameters():
        parameter.data.copy_(draw(case, name, parameter.shape))
    return model


def write_weights(case: Case, model, folder: Path) -> None:
    """As the reference stores them, which turns its own names back into those of the hub."""
    copy.deepcopy(model).half().save_pretrained(folder)
    state = load_file(folder / "model.safetensors")
    for file in folder.iterdir():
        file.unlink()
    if case.hub_names:
        state = case.hub_names(state, model)
    save_file({k: v.contiguous() for k, v in state.items()}, folder / "model.safetensors", {"format": "pt"})


# ---- listening ----


class Listener:
    """Collects the tensors of one run."""

    def __init__(self, model, case: Case):
        self.model, self.case = model, case
        self.blocks = model.get_submodule(case.places.blocks)
        self.tensors: dict[str, torch.Tensor] = {}
        self.scale = 0.0
        self.undo: list[Callable[[], Any]] = []

    def keep(self, name: str, value: torch.Tensor) -> None:
        assert name not in self.tensors, name
        self.tensors[name] = value.detach().clone().contiguous()

    def on(self, module, before=None, after=None) -> None:
        """before(first argument), after(first output)."""
        first = lambda x: x[0] if isinstance(x, tuple) else x
        if before:
            hook = lambda m, args, kwargs: before(args[0] if args else kwargs["hidden_states"])
            self.undo.append(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
        if after:
            self.undo.append(module.register_forward_hook(lambda m, args, out: after(first(out))).remove)

    def replace(self, owner, name: str, value) -> None:
        own = name in vars(owner)
        old = getattr(owner, name)
        setattr(owner, name, value)
        self.undo.append(lambda: setattr(owner, name, old) if own else delattr(owner, name))

    def __enter__(self):
        places = self.case.places
        for i, block in enumerate(self.blocks):
            self.on(block, before=lambda x, i=i: self.keep(f"resid_pre.{i}", x),
                    after=lambda x, i=i: self.keep(f"resid_post.{i}", x))  # fmt: skip
            scales = places.scales or (None, None)
            for name, path, scale in (("attn", places.attention, scales[0]), ("mlp", places.mlp, scales[1])):
                factor = getattr(block, scale) if scale else 1
                self.on(block.get_submodule(path),
                        after=lambda x, n=f"{name}_out.{i}", f=factor, i=i:
                        self.keep(n, (x * f).reshape(self.tensors[f"resid_pre.{i}"].shape)))  # fmt: skip
            if self.case.gate:
                attention = block.get_submodule(places.attention)
                self.on(attention, before=lambda x, i=i, a=attention: self.keep(f"gate.{i}", self.case.gate(a, x)))
        if places.final_norm:
            self.on(self.model.get_submodule(places.final_norm), after=lambda x: self.keep("final_norm", x))
        own = {"falcon": self.listen_to_falcon, "bloom": self.listen_to_bloom}
        own.get(self.model.config.model_type, self.listen_to_attention)()
        return self

    def __exit__(self, *exception) -> None:
        for undo in reversed(self.undo):
            undo()

    def listen_to_attention(self) -> None:
        code = sys.modules[type(self.blocks[0]).__module__]
        eager, layers = code.eager_attention_forward, iter(range(len(self.blocks)))

        def heard(module, query, key, value, *args, **kwargs):
            z, pattern = eager(module, query, key, value, *args, **kwargs)
            self.scale = float(kwargs["scaling"])
            if type(module).__name__ == "OPTAttention":  # hands over scaled queries
                query, self.scale = query / module.scaling, module.scaling
            i = next(layers, None)
            if i is not None:  # a decoder of the same family may follow (vit_mae)
                for name, x in (("q", query), ("k", key), ("v", value), ("attn", pattern), ("z", z)):
                    self.keep(f"{name}.{i}", x)
            return z, pattern

        self.replace(code, "eager_attention_forward", heard)

    def listen_to_bloom(self) -> None:
        """This family and falcon have no attention function of their own to wrap."""
        for i, block in enumerate(self.blocks):
            attention = block.self_attention
            split = attention._reshape

            def heard(fused, i=i, split=split):
                parts = split(fused)
                for name, x in zip("qkv", parts, strict=True):
                    self.keep(f"{name}.{i}", x)
                return parts

            self.scale = attention.inv_norm_factor
            self.replace(attention, "_reshape", heard)
            self.listen_behind_scores(attention, i)

    def listen_behind_scores(self, attention, i: int) -> None:
        self.on(attention.dense, before=lambda x:
                self.keep(f"z.{i}", x.view(*x.shape[:2], attention.num_heads, attention.head_dim)))  # fmt: skip
        hook = lambda m, args, out: self.keep(f"attn.{i}", out[1])
        self.undo.append(attention.register_forward_hook(hook).remove)

    def listen_to_falcon(self) -> None:
        code = sys.modules[type(self.blocks[0]).__module__]
        rotate = code.apply_rotary_pos_emb
        current = -1

        def store(q, k) -> None:  # [B,H,T,K]; the new architecture repeats k for every query head
            attention = self.blocks[current].self_attention
            for name, x in (("q", q), ("k", k[:, :: max(1, k.shape[1] // attention.num_kv_heads)])):
                self.tensors[f"{name}.{current}"] = x.clone().contiguous()

        def rotated(q, k, *args):
            q, k = rotate(q, k, *args)
            store(q, k)
            return q, k

        self.replace(code, "apply_rotary_pos_emb", rotated)
        for i, block in enumerate(self.blocks):
            attention = block.self_attention
            split = attention._split_heads

            def heard(fused, i=i, split=split, attention=attention):
                nonlocal current
                current = i
                q, k, v = split(fused)
                store(q.transpose(1, 2), k.transpose(1, 2))
                self.keep(f"v.{i}", v[:, :, :: max(1, v.shape[2] // attention.num_kv_heads)].transpose(1, 2))
                return q, k, v

            self.scale = attention.inv_norm_factor
            self.replace(attention, "_split_heads", heard)
            self.listen_behind_scores(attention, i)
            self.undo.append(attention.register_forward_pre_hook(self.once, with_kwargs=True).remove)

    @staticmethod
    def once(module, args, kwargs):
        """transformers 5.24 adds ALiBi to the mask and, in its eager form, to the scores again. The model
        was trained with one, as the SDPA form computes: the second is made zero."""
        if kwargs.get("alibi") is not None:
            kwargs["alibi"] = torch.zeros_like(kwargs["alibi"])
        return args, kwargs


def run(model, case: Case, inputs: dict) -> tuple[dict, float]:
    with Listener(model, case) as heard:
        out = model(**inputs)
    tensors, last = heard.tensors, heard.tensors[f"resid_post.{len(heard.blocks) - 1}"]
    tensors.setdefault("final_norm", last.clone())
    if tensors["final_norm"].dim() == 2:  # the model norms one token only
        tensors["final_norm"] = model.get_submodule(case.places.final_norm)(last)
    logits = "prediction_logits" if "prediction_logits" in out else "logits"
    if logits in out and model.config.model_type != "vit_mae":  # its logits are the decoder's pixels
        tensors["logits"] = out[logits].clone()
    if case.pooled:
        tensors["pooled"] = case.pooled(model, out, tensors).clone()
    check_sums(model, case, tensors)
    return tensors, heard.scale


def check_sums(model, case: Case, t: dict) -> None:
    """The branches must make the stream."""
    for i, block in enumerate(model.get_submodule(case.places.blocks)):
        x = t[f"resid_pre.{i}"] + t[f"attn_out.{i}"]
        norms = [block.get_submodule(path) for path in case.places.norms or ()]
        x = (norms[0](x) if norms else x) + t[f"mlp_out.{i}"]
        x = norms[1](x) if norms else x
        post = t[f"resid_post.{i}"]
        assert (x - post).abs().max() < 1e-5 * post.abs().max(), (case.name, i)
        assert i == 0 or torch.equal(t[f"resid_post.{i - 1}"], t[f"resid_pre.{i}"]), (case.name, i)


# ---- the float64 run ----


class Wide(TorchFunctionMode):
    """Makes every float32 that model code asks for by name a float64 (norms, softmax, rotary tables)."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()
        widen = lambda x: torch.float64 if x is torch.float32 else x
        return function(*map(widen, args), **{k: widen(v) for k, v in (kwargs or {}).items()})


def noise_floor(case: Case, inputs: dict, float32: dict) -> dict:
    with Wide():
        twin = build_model(case, torch.float64)
        torch.set_default_dtype(torch.float64)
        try:
            wide, _ = run(twin, case, {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()})
        finally:
            torch.set_default_dtype(torch.float32)
    mask = inputs.get("attention_mask")
    worst = {}
    for name, x in float32.items():
        assert wide[name].dtype == torch.float64, (case.name, name)
        difference = (x.double() - wide[name]).abs()
        if mask is not None and name != "pooled":  # rows of padding mean nothing
            heads_first = name.split(".")[0] in ("q", "k", "v", "attn")
            difference = (difference.transpose(1, 2) if heads_first else difference)[mask.bool()]
        relative = float(difference.max() / x.abs().max())
        kind = name.split(".")[0]
        worst[kind] = max(worst.get(kind, 0.0), relative)
    return {kind: float(f"{value:.2g}") for kind, value in worst.items()}


# ---- one case ----


def check_worth(case: Case, t: dict, layers: int) -> None:
    """A near uniform or a near one-hot pattern would hide mistakes."""
    for i in range(layers):
        pattern = t[f"attn.{i}"].double()
        entropy = -torch.special.xlogy(pattern, pattern).sum(-1)
        visible = (pattern > 0).sum(-1).clamp(min=2).double().log()
        share = float((entropy / visible).mean())
        assert 0.2 < share < 0.93, (case.name, i, "entropy over its maximum", share)


def stored_tensors(case: Case, t: dict) -> dict:
    """Where not all are stored, the stream before a later block is left out: it is the one behind the block before."""
    return {k: v for k, v in t.items() if not case.kept or k.split(".")[0] in case.kept or k == "resid_pre.0"}


def write_json(file: Path, value: dict) -> None:
    file.write_text(json.dumps(value, indent=1) + "\n")


def reload(case: Case, folder: Path):
    """What the stored files say to the reference."""
    if "model_type" not in case.config:
        return None  # a form that only others read
    config = transformers.AutoConfig.for_model(**case.reference) if case.reference else None
    model, info = getattr(transformers, case.architecture).from_pretrained(
        folder, config=config, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager",
        output_loading_info=True,
    )  # fmt: skip
    assert not info["missing_keys"] and not info["mismatched_keys"], (case.name, info)
    return model.eval()


def make(case: Case, root: Path) -> int:
    folder = root / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    model = build_model(case)
    write_weights(case, model, folder)
    write_json(folder / "config.json", case.config)
    stored = reload(case, folder)
    entries, everything = [], []
    for index, (inputs_of, tag) in enumerate(zip(case.runs, case.tags, strict=True)):
        inputs = inputs_of(np.random.default_rng([case.seed, index]), case.config)
        tensors, scale = run(model, case, inputs)
        if stored is not None:
            again, _ = run(stored, case, inputs)
            assert all(torch.equal(again[k], v) for k, v in tensors.items()), (case.name, "weights as stored differ")
        layers = len(model.get_submodule(case.places.blocks))
        check_worth(case, tensors, layers)
        assert all(x.isfinite().all() for x in tensors.values()), case.name
        name = f"golden_{tag}.safetensors" if tag else "golden.safetensors"
        kept = stored_tensors(case, tensors)
        floor = noise_floor(case, inputs, kept)
        inputs.pop("noise", None)  # vit_mae's order of patches: the order they have
        save_file({k: v.contiguous() for k, v in (inputs | kept).items()}, folder / name)
        batch, heads, tokens, _ = tensors["attn.0"].shape
        entries.append({
            "golden": name, "B": batch, "T": tokens, "layers": layers, "heads": heads,
            "kv_heads": tensors["k.0"].shape[1], "head_dim": tensors["q.0"].shape[-1],
            "score_scale": float(f"{scale:.12g}"), "noise_floor": floor,
        })  # fmt: skip
        everything.append(inputs | tensors)
    assert case.proof is None or case.proof(model, everything), (case.name, "does not show what it is for")
    form = "post_norm" if case.places.norms else "sum"
    write_json(folder / "expected.json", {
        "case": case.name, "family": case.config.get("model_type", "timm"), "note": case.note, "seed": case.seed,
        "causal": case.causal, "stored_dtype": "float16", "residual": form, **case.facts, "runs": entries,
        "made_with": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__},
    })  # fmt: skip
    worst = max(max(e["noise_floor"].values()) for e in entries)
    assert worst < 1e-5, (case.name, "noise", entries)
    for file in folder.iterdir():
        file.chmod(0o644)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{case.name:28s} {size / 1024:6.1f} KiB  noise {worst:.1e}", flush=True)
    return size
