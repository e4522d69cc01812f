#!/usr/bin/env python3
"""Training steps per second of sinkscope and of the same models written as eager PyTorch modules, in turn.

    python3 bench/compare_training.py --bench build/release/bench/train_bench

A B A B, medians; both make their data inside the step, in float32 on two threads. Needs torch in this
Python. sinkscope's time is that of the benchmark `step`, torch's that of forward, backward and
torch.optim.AdamW on torch.randn data (for bigram-backcopy: on sequences drawn ahead of time, since a
Python loop over tokens would be measured otherwise; ours are drawn inside the step). On a machine that others
use too GOMP_SPINCOUNT=0 keeps both sides' threads from spinning while they wait for a core.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

# name: (benchmark, torch model, sequences, tokens, width, layers)
CASES = [
    ("conditional-damping", "kDamping", 256, 32, 64, 1),
    ("conditional-damping", "kDamping", 1024, 32, 64, 1),
    ("global-broadcast", "kBroadcast", 256, 32, 64, 2),
    ("global-broadcast", "kBroadcast", 1024, 32, 64, 2),
    ("bigram-backcopy", "kBackcopy", 64, 64, 64, 1),
    ("bigram-backcopy", "kPaperBackcopy", 16, 256, 256, 1),
]

# A process of its own per round, so that neither side's threads or memory touch the other's.
TORCH = """
import json, math, sys, time
import torch
from torch import nn
import torch.nn.functional as F

name, batch, tokens, width, layers, seconds, threads = sys.argv[1:8]
batch, tokens, width, layers, seconds = int(batch), int(tokens), int(width), int(layers), float(seconds)
torch.set_num_threads(int(threads))
torch.manual_seed(0)
SYMBOLS = 33


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.register_buffer("hidden", torch.ones(tokens, tokens, dtype=torch.bool).triu(1) if causal else None)

    def forward(self, z):
        scores = self.q(z) @ self.k(z).transpose(-1, -2) / math.sqrt(width)
        if self.hidden is not None:
            scores = scores.masked_fill(self.hidden, -math.inf)
        return self.o(scores.softmax(-1) @ self.v(z))


class Block(nn.Module):
    def __init__(self, causal, activation):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(causal)
        if activation:
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), activation(), nn.Linear(4 * width, width))

    def forward(self, x, first=None):
        x = x + self.attention(self.norm1(x if first is None else x + first))
        return x + self.mlp(self.norm2(x)) if hasattr(self, "mlp") else x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.randn(tokens, width) * 0.02)
        activation = {"conditional-damping": None, "global-broadcast": nn.GELU, "bigram-backcopy": nn.ReLU}[name]
        self.blocks = nn.ModuleList(Block(name == "bigram-backcopy", activation) for _ in range(layers))
        if name == "conditional-damping":
            self.first = nn.Parameter(torch.randn(width) * 0.02)
        if name == "bigram-backcopy":
            self.embed = nn.Embedding(SYMBOLS, width)
            self.final_norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, SYMBOLS, bias=False)

    def forward(self, x):
        if name == "bigram-backcopy":
            x = self.embed(x) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(self.final_norm(x))
        first = self.positions
        if name == "conditional-damping":
            first = torch.cat([(first[0] + self.first)[None], first[1:]])
        for i, block in enumerate(self.blocks):
            x = block(x, first if i == 0 else None)
        return x


model = Model()
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
direction = F.normalize(torch.randn(width), dim=0)
rotation = torch.linalg.qr(torch.randn(width, width))[0]
pool = [torch.randint(SYMBOLS, (batch, tokens + 1)) for _ in range(16)]


def loss_of(step):
    if name == "bigram-backcopy":
        ids = pool[step % len(pool)]
        return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    x = torch.randn(batch, tokens, width)
    if name == "conditional-damping":
        x[:, 0] = 0
        m = (x @ direction > 0).float().unsqueeze(-1)
        return (model(x) - (1 - m) * x)[:, 1:].square().mean()
    best = (x @ direction).argmax(1)
    target = x + (x[torch.arange(batch), best] @ rotation).unsqueeze(1)
    return F.mse_loss(model(x), target)


def step(number):
    optimiser.zero_grad()
    loss = loss_of(number)
    loss.backward()
    optimiser.step()
    return loss.item()  # ours reports every step's loss too


for i in range(5):
    step(i)
start, steps = time.perf_counter(), 0
while time.perf_counter() - start < seconds:
    step(steps)
    steps += 1
print(json.dumps(steps / (time.perf_counter() - start)))
"""


def run_torch(case, options):
    name, _, *sizes = case
    command = [sys.executable, "-c", TORCH, name, *map(str, sizes), str(options.seconds), str(options.threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_ours(case, options):
    command = [options.bench, f"--benchmark_filter=^step/{case[1]}/{case[2]}/", "--benchmark_format=json",
               f"--benchmark_min_time={options.seconds}"]
    out = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return out["benchmarks"][0]["steps/s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/train_bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of torch; the benchmark always has two")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    print(f"steps per second, float32, {options.threads} threads, median of {options.rounds}")
    print(f"{'task':<20} {'batch':>5} {'T':>4} {'D':>4} {'L':>2} {'sinkscope':>10} {'PyTorch':>8} {'ratio':>6}")
    for case in CASES:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run_ours(case, options))
            theirs.append(run_torch(case, options))
        a, b = statistics.median(ours), statistics.median(theirs)
        name, _, batch, tokens, width, layers = case
        print(f"{name:<20} {batch:>5} {tokens:>4} {width:>4} {layers:>2} {a:>10.1f} {b:>8.1f} {a / b:>6.2f}",
              flush=True)


if __name__ == "__main__":
    main()
