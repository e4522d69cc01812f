#!/usr/bin/env python3
"""The column of key 0 removed in one head at a time: sinkscope's sweep beside the same loop in transformers.

    python3 bench/compare_ablate.py --bin build/release/sinkscope --model SmolLM2-135M-Instruct.Q4_1.gguf

One sequence of --tokens ids, float32, two threads. transformers runs the whole model once per head with that head's mask
changed (what a user would write); --peer-heads of the heads are timed and the loop's time is extrapolated from
their mean. Prints both times, their ratio, and the largest difference of the two losses over the heads that both ran.
"""
import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def token_ids(count, vocabulary=49152):
    return [(i * 7919 + 13) % vocabulary for i in range(count)]


def sweep_sinkscope(options, ids_file):
    command = [options.bin, "ablate", options.model, "--tokens", str(ids_file), "--heads", "all", "--key", "0",
               "--edit", "remove-column", "-q", "-t", str(options.threads), "--format"]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "sweep.db"
        start = time.perf_counter()
        out = subprocess.run(command + ["csv", "-o", str(store)], check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - start
    return seconds, {(int(r["layer"]), int(r["head"])): float(r["loss"]) for r in csv.DictReader(io.StringIO(out))}


def sweep_transformers(options, ids):
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(options.threads)
    path = Path(options.model)
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    ids = torch.tensor([ids])
    tokens, heads = ids.shape[1], model.config.num_attention_heads
    mask = torch.full((1, heads, tokens, tokens), float("-inf")).triu(1)
    target = {}

    def change_mask(_module, args, kwargs):
        edited = mask.clone()
        edited[:, target["head"], 1:, 0] = float("-inf")
        kwargs["attention_mask"] = edited
        return args, kwargs

    layers = model.model.layers
    chosen = [(i * 7919) % (len(layers) * heads) for i in range(options.peer_heads)]
    losses, times = {}, []
    with torch.no_grad():
        model(ids)  # warm
        for place in chosen:
            layer, target["head"] = divmod(place, heads)
            hook = layers[layer].self_attn.register_forward_pre_hook(change_mask, with_kwargs=True)
            start = time.perf_counter()
            logits = model(ids).logits[0, :-1]
            loss = torch.nn.functional.cross_entropy(logits, ids[0, 1:])
            times.append(time.perf_counter() - start)
            hook.remove()
            losses[(layer, target["head"])] = loss.item()
    return sum(times) / len(times) * len(layers) * heads, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/sinkscope")
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--peer-heads", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    ids = token_ids(options.tokens)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([ids], file)
        file.flush()
        ours, our_losses = sweep_sinkscope(options, file.name)
    print(f"sinkscope     {ours:8.2f} s for {len(our_losses)} heads, start and base pass included")
    try:
        theirs, their_losses = sweep_transformers(options, ids)
    except ImportError as problem:
        sys.exit(f"left out: transformers ({problem})")
    difference = max(abs(our_losses[key] - loss) for key, loss in their_losses.items())
    print(f"transformers  {theirs:8.2f} s (from {len(their_losses)} heads)   {theirs / ours:.2f} x ours")
    print(f"largest difference of a loss: {difference:.1e}")


if __name__ == "__main__":
    main()
