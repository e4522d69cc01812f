#!/usr/bin/env python3
"""The same token ids through sinkscope, transformers (eager, with attention output) and llama.cpp, in turn.

    python3 bench/compare_peers.py --bin build/release/sinkscope --model SmolLM2-135M-Instruct.Q4_1.gguf

Whole forward passes in float32 on two threads, A B C A B C, medians. transformers and llama-cpp-python are
left out by name when they are not installed (transformers needs torch, gguf and accelerate); llama.cpp reads a float32 copy of the file, which is written
once beside --scratch (needs the packages gguf and numpy). sinkscope's time is its forward_s: every statistic
of a plain scan, and the reading and dequantising of all weights, which the others do before.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def token_ids(count, vocabulary=49152):
    return [(i * 7919 + 13) % vocabulary for i in range(count)]


def run_sinkscope(options, ids, scratch, dtype):
    file = scratch / f"ids{len(ids)}.json"
    file.write_text(json.dumps([ids]))
    command = [options.bin, "scan", options.model, "--tokens", str(file), "--format", "json", "-q",
               "-t", str(options.threads), "--dtype", dtype]
    timing = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["timing"]
    return timing["forward_s"], timing["load_s"], timing["peak_rss_mb"]


# Run in a process of its own, so that peak memory is the peer's and a missing package stops only it.
TRANSFORMERS = """
import json, resource, sys, time
start = time.perf_counter()
import torch
from transformers import AutoModelForCausalLM
from pathlib import Path
model_file, ids_file, threads, runs = sys.argv[1:5]
torch.set_num_threads(int(threads))
path = Path(model_file)
model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32,
                                             attn_implementation="eager").eval()
load = time.perf_counter() - start
ids = torch.tensor(json.load(open(ids_file)))
times = []
with torch.no_grad():
    for _ in range(int(runs)):
        start = time.perf_counter()
        out = model(ids, output_attentions=True)
        assert len(out.attentions) > 0
        times.append(time.perf_counter() - start)
        del out
print(json.dumps([times, load, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""

LLAMA = """
import json, resource, sys, time
start = time.perf_counter()
from llama_cpp import Llama
model_file, ids_file, threads, runs = sys.argv[1:5]
ids = json.load(open(ids_file))[0]
llama = Llama(model_file, n_ctx=len(ids), n_batch=len(ids), n_ubatch=len(ids), n_threads=int(threads),
              n_threads_batch=int(threads), type_k=0, type_v=0, verbose=False)
load = time.perf_counter() - start
times = []
for _ in range(int(runs)):
    llama.reset()
    start = time.perf_counter()
    llama.eval(ids)
    times.append(time.perf_counter() - start)
print(json.dumps([times, load, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def run_peer(code, model, ids, scratch, threads):
    file = scratch / f"ids{len(ids)}.json"
    file.write_text(json.dumps([ids]))
    # The first pass of a peer warms it up.
    done = subprocess.run([sys.executable, "-c", code, str(model), str(file), str(threads), "2"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:]
    times, load, memory = json.loads(done.stdout.strip().splitlines()[-1])
    return (times[-1], load, memory), None


def float32_copy(model, scratch):
    """The same tensors as F32, all other fields kept."""
    import gguf
    import numpy
    target = scratch / "model-f32.gguf"
    if target.exists():
        return target
    reader = gguf.GGUFReader(model)
    writer = gguf.GGUFWriter(target, arch=reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=sub)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        writer.add_tensor(tensor.name, values.reshape([int(n) for n in reversed(tensor.shape)]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/sinkscope")
    parser.add_argument("--model", required=True)
    parser.add_argument("--lengths", default="1024,2048")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--bf16", action="store_true", help="also sinkscope in bfloat16")
    options = parser.parse_args()
    scratch = Path(options.scratch)
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        llama_model = float32_copy(options.model, scratch)
    except ImportError as problem:
        print(f"left out: llama.cpp ({problem})")
        llama_model = None
    for length in [int(n) for n in options.lengths.split(",")]:
        ids = token_ids(length)
        results = {}
        for _ in range(options.rounds):
            results.setdefault("sinkscope", []).append(run_sinkscope(options, ids, scratch, "f32"))
            if options.bf16:
                results.setdefault("sinkscope bf16", []).append(run_sinkscope(options, ids, scratch, "bf16"))
            peers = [("transformers", TRANSFORMERS, options.model)]
            if llama_model:
                peers.append(("llama.cpp", LLAMA, llama_model))
            for name, code, model in peers:
                if results.get(name) == "left out":
                    continue
                figures, problem = run_peer(code, model, ids, scratch, options.threads)
                if figures is None:
                    print(f"left out: {name} ({problem})")
                    results[name] = "left out"
                else:
                    results.setdefault(name, []).append(figures)
        ours = statistics.median(r[0] for r in results["sinkscope"])
        print(f"T = {length}, {options.threads} threads, float32, median of {options.rounds}")
        for name, rows in results.items():
            if rows == "left out":
                continue
            seconds, load, memory = (statistics.median(r[i] for r in rows) for i in range(3))
            print(f"  {name:<16} {seconds:8.3f} s   {seconds / ours:5.2f} x ours   ready in {load:6.2f} s   peak {memory:7.0f} MB")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
