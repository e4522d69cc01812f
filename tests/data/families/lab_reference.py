"""The lab's models once more, as a module of PyTorch that shares nothing with the program, and their golden cases.

Parameters have the names of the program's files. `forward` returns every tensor of a golden by its name.
"""

import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from engine import check_worth, draw, write_json
from safetensors.torch import load_file, save_file
from torch import nn

DEFAULTS = dict(
    model_type="sinkscope_lab", num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4, head_dim=4,
    hidden_size=16, intermediate_size=0, vocab_size=0, max_position_embeddings=16, causal=False, layer_norm_eps=1e-5,
    embed_norm=False, block_norms=True, final_norm=False, hidden_act="gelu", positions="embedding", first_token=False,
    attention_scores="softmax", score_gamma=0.0, score_zeta=1.0, score_bias=0.0, sink_logits=False, extra_key=False,
    extra_value=False, output_gate="none", key_gate="none", value_gate="none", global_pathway=0, force_sink=0,
)  # fmt: skip


class Attention(nn.Module):
    def __init__(self, c: dict):
        super().__init__()
        self.c = c
        width, inner = c["hidden_size"], c["num_attention_heads"] * c["head_dim"]
        self.groups, self.repeat = c["num_key_value_heads"], c["num_attention_heads"] // c["num_key_value_heads"]
        keys = self.groups * c["head_dim"]
        self.qkv = nn.Linear(width, inner + 2 * keys, bias=False)
        self.o = nn.Linear(inner, width, bias=False)
        if c["sink_logits"]:
            self.sinks = nn.Parameter(torch.zeros(c["num_attention_heads"]))
        if c["extra_key"]:
            self.extra_key = nn.Parameter(torch.zeros(keys))
        if c["extra_value"]:
            self.extra_value = nn.Parameter(torch.zeros(keys))
        for name, heads in (("output_gate", self.groups * self.repeat), ("key_gate", self.groups),
                            ("value_gate", self.groups)):  # fmt: skip
            if c[name] != "none":
                setattr(self, name, nn.Linear(width, heads * (c["head_dim"] if c[name] == "elementwise" else 1)))

    def gate(self, name: str, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor | None:
        """[B,T,heads,K] of the gate's sigmoid; None where the model has none."""
        if self.c[name] == "none":
            return None
        return torch.sigmoid(getattr(self, name)(x)).unflatten(-1, (like.shape[2], -1)).expand_as(like)

    def weights(self, scores: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """[B,H,T,S] from masked scores; S has a last column for what joins the softmax, where something does."""
        kind = self.c["attention_scores"]
        if kind == "sigmoid":
            return torch.sigmoid(scores + self.c["score_bias"])
        if kind == "relu":
            return torch.relu(scores) / seen.sum(-1, keepdim=True)
        share = torch.softmax(scores, -1)
        if kind == "clipped":
            low, high = self.c["score_gamma"], self.c["score_zeta"]
            share = torch.clip((high - low) * share + low, 0, 1)
        return share

    def forward(self, x: torch.Tensor, i: int, kept: dict) -> torch.Tensor:
        batch, tokens, _ = x.shape
        split = [self.o.in_features, self.groups * self.c["head_dim"], self.groups * self.c["head_dim"]]
        q, k, v = (part.unflatten(-1, (-1, self.c["head_dim"])) for part in self.qkv(x).split(split, -1))
        if (gate := self.gate("key_gate", x, k)) is not None:
            k = k * gate
        if (gate := self.gate("value_gate", x, v)) is not None:
            v = v * gate
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        kept |= {f"q.{i}": q, f"k.{i}": k, f"v.{i}": v}
        k, v = k.repeat_interleave(self.repeat, 1), v.repeat_interleave(self.repeat, 1)
        seen = torch.ones(tokens, tokens, dtype=torch.bool)
        if self.c["causal"]:
            seen = seen.tril()
        if self.c["extra_key"]:  # one key more, behind the others, that every query sees
            own = lambda p: p.view(1, self.groups, 1, -1).expand(batch, -1, -1, -1).repeat_interleave(self.repeat, 1)
            k = torch.cat([k, own(self.extra_key)], 2)
            v = torch.cat([v, own(self.extra_value if self.c["extra_value"] else torch.zeros_like(self.extra_key))], 2)
            seen = torch.cat([seen, torch.ones(tokens, 1, dtype=torch.bool)], 1)
        scores = (q @ k.transpose(2, 3) / math.sqrt(self.c["head_dim"])).masked_fill(~seen, -math.inf)
        if self.c["sink_logits"]:
            scores = torch.cat([scores, self.sinks.view(1, -1, 1, 1).expand(batch, -1, tokens, 1)], 3)
            v = torch.cat([v, torch.zeros_like(v[:, :, :1])], 2)
        pattern = self.weights(scores, seen)
        z = (pattern @ v).transpose(1, 2)
        kept |= {f"attn.{i}": pattern[..., :tokens], f"z.{i}": z}
        if (gate := self.gate("output_gate", x, z)) is not None:
            kept[f"gate.{i}"] = gate
            z = z * gate
        return self.o(z.flatten(2))


class Pathway(nn.Module):
    def __init__(self, width: int, inner: int):
        super().__init__()
        self.select, self.value = nn.Linear(width, 1, bias=False), nn.Linear(width, inner, bias=False)
        self.gate, self.out = nn.Linear(width, 1), nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        message = (torch.softmax(self.select(x), 1) * self.value(x)).sum(1, keepdim=True)
        return torch.sigmoid(self.gate(x)) * self.out(message)


class Mlp(nn.Module):
    def __init__(self, width: int, inner: int, act: str):
        super().__init__()
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.act = {"gelu": nn.functional.gelu, "relu": torch.relu}[act]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, c: dict):
        super().__init__()
        self.c, width = c, c["hidden_size"]
        if c["block_norms"]:
            self.norm1 = nn.LayerNorm(width, eps=c["layer_norm_eps"])
        self.attn = Attention(c)
        if c["global_pathway"]:
            self.pathway = Pathway(width, c["global_pathway"])
        if c["intermediate_size"]:
            if c["block_norms"]:
                self.norm2 = nn.LayerNorm(width, eps=c["layer_norm_eps"])
            self.mlp = Mlp(width, c["intermediate_size"], c["hidden_act"])

    def normed(self, norm: str, x: torch.Tensor) -> torch.Tensor:
        if k := self.c["force_sink"]:
            mask = torch.ones_like(x)
            mask[:, 0, k:] = 0
            mask[:, 1:, :k] = 0
            x = x * mask
        return getattr(self, norm)(x) if self.c["block_norms"] else x

    def forward(self, x: torch.Tensor, more: torch.Tensor, i: int, kept: dict) -> torch.Tensor:
        kept[f"resid_pre.{i}"] = x
        z = self.normed("norm1", x + more)
        update = self.attn(z, i, kept)
        if self.c["global_pathway"]:
            update = update + self.pathway(z)
        kept[f"attn_out.{i}"] = update
        x = x + update
        if self.c["intermediate_size"]:
            kept[f"mlp_out.{i}"] = self.mlp(self.normed("norm2", x))
            x = x + kept[f"mlp_out.{i}"]
        kept[f"resid_post.{i}"] = x
        return x


class Model(nn.Module):
    def __init__(self, c: dict):
        super().__init__()
        self.c, width = c, c["hidden_size"]
        norm = lambda: nn.LayerNorm(width, eps=c["layer_norm_eps"])
        if c["vocab_size"]:
            self.embed, self.head = nn.Embedding(c["vocab_size"], width), nn.Linear(width, c["vocab_size"], bias=False)
        if c["positions"] != "none":
            self.positions = nn.Embedding(c["max_position_embeddings"], width)
        if c["first_token"]:
            self.first_token = nn.Parameter(torch.zeros(width))
        if c["embed_norm"]:
            self.embed_norm = norm()
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["num_hidden_layers"]))
        if c["final_norm"]:
            self.final_norm = norm()

    def forward(self, inputs: dict) -> dict:
        x = self.embed(inputs["input_ids"]) if self.c["vocab_size"] else inputs["vectors"]
        place = torch.zeros_like(x)
        if self.c["positions"] != "none":
            place = place + self.positions.weight[: x.shape[1]]
        if self.c["first_token"]:
            place[:, 0] += self.first_token
        first_norm = self.c["positions"] == "first_norm"
        x = x if first_norm else x + place
        x = self.embed_norm(x) if self.c["embed_norm"] else x
        kept: dict[str, torch.Tensor] = {}
        for i, block in enumerate(self.blocks):
            x = block(x, place if first_norm and i == 0 else 0, i, kept)
        kept["final_norm"] = self.final_norm(x) if self.c["final_norm"] else x
        if self.c["vocab_size"]:
            kept["logits"] = self.head(kept["final_norm"])
        return kept


# ---- the cases ----


@dataclass
class LabCase:
    name: str
    seed: int
    config: dict  # what differs from DEFAULTS
    note: str
    gain: float = 1.0  # of `draw`
    draws: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {"first_token": (0, 0.5), "extra_key": (0, 1), "extra_value": (0, 1)})  # fmt: skip

    def inputs(self, c: dict) -> dict:
        rng = np.random.default_rng([self.seed, 0])
        if c["vocab_size"]:
            return {"input_ids": torch.from_numpy(rng.integers(0, c["vocab_size"], (2, 11)))}
        return {"vectors": torch.from_numpy(rng.standard_normal((2, 10, c["hidden_size"]), dtype=np.float32))}

    def make(self, root: Path) -> int:
        folder = root / self.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        c = DEFAULTS | self.config
        model = Model(c)
        for name, parameter in model.named_parameters():
            parameter.data.copy_(draw(self, name, parameter.shape))
        save_file({k: v.half().contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors",
                  {"format": "pt"})  # fmt: skip
        write_json(folder / "config.json", c)
        stored = load_file(folder / "model.safetensors")
        assert all(torch.equal(stored[k].float(), v) for k, v in model.state_dict().items()), self.name
        inputs = self.inputs(c)
        tensors = {k: v.clone().contiguous() for k, v in model(inputs).items()}
        wide = model.double()({k: v.double() if v.is_floating_point() else v for k, v in inputs.items()})
        self.check(tensors, c)
        save_file(inputs | tensors, folder / "golden.safetensors")
        self.write_expected(folder, c, tensors, wide)
        for file in folder.iterdir():
            file.chmod(0o644)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{self.name:28s} {size / 1024:6.1f} KiB", flush=True)
        return size

    def check(self, t: dict, c: dict) -> None:
        """The rows of patterns that do not sum to 1 are brought there to be judged."""
        rows = {k: v / v.sum(-1, keepdim=True).clamp(min=1e-9) for k, v in t.items() if k.startswith("attn.")}
        check_worth(self, rows, c["num_hidden_layers"])
        assert all(x.isfinite().all() for x in t.values()), self.name
        if c["attention_scores"] in ("clipped", "relu"):
            zeros = float(t["attn.0"].tril()[t["attn.0"].new_ones(t["attn.0"].shape).tril() > 0].eq(0).double().mean())
            assert 0.05 < zeros < 0.8, (self.name, "visible keys of weight 0", zeros)

    def write_expected(self, folder: Path, c: dict, t: dict, wide: dict) -> None:
        floor: dict[str, float] = {}
        for name, x in t.items():
            kind = name.split(".")[0]
            floor[kind] = max(floor.get(kind, 0.0), float((x.double() - wide[name]).abs().max() / x.abs().max()))
        assert max(floor.values()) < 1e-5, (self.name, floor)
        batch, heads, tokens, _ = t["attn.0"].shape
        run: dict[str, Any] = {
            "golden": "golden.safetensors", "B": batch, "T": tokens, "layers": c["num_hidden_layers"], "heads": heads,
            "kv_heads": c["num_key_value_heads"], "head_dim": c["head_dim"],
            "score_scale": float(f"{1 / math.sqrt(c['head_dim']):.12g}"),
            "noise_floor": {kind: float(f"{value:.2g}") for kind, value in floor.items()},
        }  # fmt: skip
        write_json(folder / "expected.json", {
            "case": self.name, "family": c["model_type"], "note": self.note, "seed": self.seed, "causal": c["causal"],
            "stored_dtype": "float16", "residual": "sum", "runs": [run],
            "made_with": {"torch": torch.__version__.split("+")[0]},
        })  # fmt: skip


CASES = [
    LabCase("lab_vectors", 601,
            dict(num_hidden_layers=2, intermediate_size=24, positions="first_norm", first_token=True,
                 output_gate="headwise", global_pathway=6),
            "rows of numbers; positions and the first token's own row enter the first norm alone; a headwise gate on z; "
            "the global pathway; exact GELU"),
    LabCase("lab_tokens", 602,
            dict(num_hidden_layers=2, num_key_value_heads=2, intermediate_size=24, vocab_size=24, causal=True,
                 hidden_act="relu", final_norm=True, attention_scores="clipped", score_gamma=-0.06, score_zeta=1.1,
                 extra_key=True, extra_value=True, output_gate="elementwise"),
            "causal, of ids; a key and value without position that every query sees; clipped softmax, whose rows sum to "
            "anything below 1; an elementwise gate on z; grouped keys"),
    LabCase("lab_relu", 603,
            dict(vocab_size=24, causal=True, attention_scores="relu", value_gate="headwise", force_sink=5),
            "relu(score) / visible keys; blocks of attention alone; a gate per head on v; force-sink: before the norm "
            "the first token keeps 5 channels, the others the rest"),
    LabCase("lab_sigmoid", 604,
            dict(attention_scores="sigmoid", score_bias=-1.5, key_gate="elementwise", block_norms=False,
                 embed_norm=True, first_token=True, positions="none"),
            gain=1.6,
            note="sigmoid(score - 1.5) of each key; an elementwise gate on k; no norm in the block, one behind the input; no "
            "positions but the first token's own row"),
]  # fmt: skip
