#!/usr/bin/env python3
"""Draws the picture of every diagnostics page from one scan: tools/make_plots.py SCAN.json [FOLDER]

SCAN.json is `sinkscope scan MODEL ... --diag all --format json`; FOLDER is docs/images/diagnostics. Needs matplotlib.
"""
import json
import sys
from pathlib import Path

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent

# Page -> what is drawn: heat NAME (layers x heads), lines NAMES (by layer), bars NAMES (of the run), curves NAME of a head.
PLOTS = {
    "sink": ("heat", "alpha_sink"),
    "values": ("heat", "ratio_out_all"),
    "update": ("heat", "stable_rank"),
    "update_all": ("heat", "common_mode_all"),
    "mechanism": ("classes",),
    "massive": ("lines", ["median_abs", "top"], "log"),
    "residual": ("lines", ["resid_norm_p0", "resid_norm_median"], "log"),
    "branches": ("lines", ["attn_out_norm_p0", "mlp_out_norm_p0"], "log"),
    "similarity": ("lines", ["cos_p0_max", "cos_p0_mean", "cos_pair_mean"], "linear"),
    "qk": ("heat", "qk_sigma_ratio"),
    "selection": ("heat", "sink_input_ratio"),
    "loss": ("losses",),
    "geometry": ("lines", ["margin_z", "margin_d"], "linear"),
    "cost": ("ranges", ["sink_cost", "diagonal_cost"]),
    "smoothing": ("curves", [("smooth_cos", "measured"), ("smooth_predicted", "predicted"), ("smooth_alone", "head alone")]),
    "switch": ("stack", "switch_layer_reasons", ["sink", "self", "cancellation", "small values"]),
    "mlp": ("heat", "mlp_comm"),
    "conditional": ("heat", "min_to_sink"),
    "types": ("stack", "type_events", ["BOS", "first", "repeated first", "first delimiter", "delimiter", "newline", "CLS",
                                       "SEP", "register", "patch", "other", "sink logit"]),
    "circuit": ("lines", ["p0_channel_attn", "p0_channel_mlp"], "symlog"),
    "range": ("lines", ["int8_bits_lost", "int8_bits_lost_normed"], "linear"),
    "recommend": ("bars", ["evict_first_loss_change", "evict_other_loss_change", "evict_random_loss_change",
                           "massive_zero_loss_change", "massive_mean_loss_change", "nop_value_loss_change",
                           "nop_column_loss_change", "broadcast_value_loss_change"]),
}
CLASSES = ["none", "nop", "broadcast", "other"]


def by_layer(scan, name):
    return {row["layer"]: row.get(name) for row in scan["layers"]}


def heat(scan, axes, name):
    layers, heads = scan["model"]["layers"], scan["model"]["heads"]
    grid = [[float("nan")] * heads for _ in range(layers)]
    for row in scan["heads"]:
        value = row.get(name)
        grid[row["layer"]][row["head"]] = float("nan") if value is None else value
    image = axes.imshow(grid, aspect="auto", cmap="viridis", interpolation="nearest")
    axes.set_xlabel("head"), axes.set_ylabel("layer"), axes.set_title(name)
    plt.colorbar(image, ax=axes)


def lines(scan, axes, names, scale):
    for name in names:
        if name == "top":
            values = {row["layer"]: abs(row["top_activations"][0]["value"]) for row in scan["layers"]}
            name = "largest |x|"
        else:
            values = by_layer(scan, name)
        points = [(layer, value) for layer, value in values.items() if value is not None]
        axes.plot([p[0] for p in points], [p[1] for p in points], label=name, marker=".")
    axes.set_yscale(scale)
    axes.set_xlabel("layer")
    axes.legend(fontsize=7)


def classes(scan, axes):
    for place, kind in enumerate(CLASSES):
        rows = [row for row in scan["heads"] if row["class"] == kind and row["ratio_out"] is not None]
        axes.scatter([row["ratio_out"] for row in rows], [row["layer"] for row in rows], s=14, label=kind)
    axes.axvline(0.2, color="grey", lw=0.7), axes.axvline(0.5, color="grey", lw=0.7, ls="--")
    axes.set_xlabel("ratio_out of heads with an event"), axes.set_ylabel("layer")
    axes.invert_yaxis()
    axes.legend(fontsize=7)


def bars(scan, axes, names):
    values = [scan["summary"].get(name) or 0 for name in names]
    axes.barh(range(len(names)), values)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    for place, value in enumerate(values):
        axes.text(value, place, f" {value:.3g}", va="center", fontsize=7)
    axes.invert_yaxis()


def losses(scan, axes):
    bars(scan, axes, ["loss", "advice_loss"])
    axes.set_xlabel("nats per token")


def ranges(scan, axes, names):
    for name in names:
        rows = [(row["layer"], row[name]) for row in scan["layers"] if row.get(name) and row[name][0] is not None]
        axes.fill_between([r[0] for r in rows], [r[1][0] for r in rows],
                          [r[1][1] if r[1][1] is not None else 10 * r[1][0] for r in rows], alpha=0.5, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("layer"), axes.set_ylabel("least nuclear norm, margin 1")
    axes.legend(fontsize=7)


def stack(scan, axes, name, labels):
    rows = [(row["layer"], row[name]) for row in scan["layers"] if row.get(name)]
    below = [0] * len(rows)
    for place, label in enumerate(labels):
        values = [row[1][place] or 0 for row in rows]
        if any(values):
            axes.bar([row[0] for row in rows], values, bottom=below, label=label)
        below = [b + v for b, v in zip(below, values)]
    axes.set_xlabel("layer"), axes.set_ylabel(name)
    axes.legend(fontsize=7)


def curves(scan, axes, pairs):
    """pairs: (head metric with one value per lambda, label); the head with the largest change is drawn."""
    rows = [row for row in scan["heads"] if row.get(pairs[0][0])]
    row = max(rows, key=lambda r: abs((r[pairs[0][0]][-1] or 0) - (r[pairs[0][0]][0] or 0)))
    for name, label in pairs:
        values = row[name]
        axes.plot([i / (len(values) - 1) for i in range(len(values))], values, marker=".", label=label)
    axes.set_title(f"L{row['layer']}H{row['head']}")
    axes.set_xlabel("lambda: identity (0) to uniform (1)"), axes.set_ylabel("mean cosine")
    axes.legend(fontsize=7)


def main():
    scan = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/images/diagnostics"
    folder.mkdir(parents=True, exist_ok=True)
    draw = {"heat": heat, "lines": lines, "classes": classes, "bars": bars, "curves": curves, "losses": losses,
            "ranges": ranges, "stack": stack}
    for page, (kind, *arguments) in PLOTS.items():
        figure, axes = plt.subplots(figsize=(4.2, 3.2), dpi=80)
        draw[kind](scan, axes, *arguments)
        figure.tight_layout()
        figure.savefig(folder / f"{page}.png")
        plt.close(figure)


if __name__ == "__main__":
    main()
