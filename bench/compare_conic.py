#!/usr/bin/env python3
"""The least W_QK of a pattern: `sinkscope theory cost` beside the general conic solver cvxopt.

    python3 bench/compare_conic.py --bin build/release/sinkscope                  # 50 small cases, then times
    python3 bench/compare_conic.py --write tests/data/theory/conic_cases.json     # values for the tests

The nuclear norm is the semidefinite program min (tr P + tr Q) / 2 with [[P, W], [W^T, Q]] >= 0, the Frobenius
norm a second-order cone program over the same linear constraints. Both solvers get the same tokens, one after another in
one run, on one thread. Prints for every case the relative difference, and for the timed sizes both times and
their ratio. Needs numpy and cvxopt from PyPI.
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

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cvxopt
import numpy as np


def constraints(tokens, pattern, causal):
    """Rows z_i (z_w - z_j)^T, flattened row by row."""
    rows = []
    for i in range(1, len(tokens)):
        winner = 0 if pattern == "sink" else i
        for j in range(i + 1 if causal else len(tokens)):
            if j != winner:
                rows.append(np.outer(tokens[i], tokens[winner] - tokens[j]).ravel())
    return np.array(rows)


def in_own_span(tokens):
    """The same inner products in as few coordinates as they need."""
    u, s, _ = np.linalg.svd(tokens, full_matrices=False)
    rank = int((s > 1e-12 * s[0]).sum())
    return u[:, :rank] * s[:rank]


def sparse(matrix):
    row, column = np.nonzero(matrix)
    return cvxopt.spmatrix(matrix[row, column].tolist(), row.tolist(), column.tolist(), matrix.shape)


def solve_nuclear(tokens, pattern, causal):
    """Least nuclear norm; None where the solver proves that there is no W."""
    tokens = in_own_span(tokens)
    rank = tokens.shape[1]
    a = constraints(tokens, pattern, causal)
    upper = [(i, j) for i in range(rank) for j in range(i + 1)]
    unknowns = rank * rank + 2 * len(upper)
    cost = np.zeros(unknowns)
    size = 2 * rank
    entries = []  # (place in the column-major matrix, unknown)
    for i in range(rank):
        for j in range(rank):
            k = i * rank + j
            entries += [(i + (rank + j) * size, k), ((rank + j) + i * size, k)]
    for block in range(2):
        for n, (i, j) in enumerate(upper):
            k = rank * rank + block * len(upper) + n
            if i == j:
                cost[k] = 0.5
            x, y = block * rank + i, block * rank + j
            entries += [(x + y * size, k)] if i == j else [(x + y * size, k), (y + x * size, k)]
    g = cvxopt.spmatrix(-1.0, [e[0] for e in entries], [e[1] for e in entries], (size * size, unknowns))
    linear = sparse(np.hstack([-a, np.zeros((len(a), unknowns - rank * rank))]))
    result = cvxopt.solvers.sdp(cvxopt.matrix(cost), Gl=linear, hl=cvxopt.matrix(-np.ones(len(a))), Gs=[g],
                                hs=[cvxopt.matrix(0.0, (size, size))])
    return None if result["status"] == "primal infeasible" else result["primal objective"]


def solve_frobenius(tokens, pattern, causal):
    tokens = in_own_span(tokens)
    a = constraints(tokens, pattern, causal)
    n = a.shape[1]
    # As a norm under a second-order cone: the quadratic form loses half of the digits.
    cone = cvxopt.spmatrix(-1.0, range(n + 1), [n, *range(n)], (n + 1, n + 1))
    cost = cvxopt.matrix([0.0] * n + [1.0])
    linear = sparse(np.hstack([-a, np.zeros((len(a), 1))]))
    result = cvxopt.solvers.socp(cost, Gl=linear, hl=cvxopt.matrix(-np.ones(len(a))), Gq=[cone],
                                 hq=[cvxopt.matrix(0.0, (n + 1, 1))])
    return None if result["status"] == "primal infeasible" else result["primal objective"]


def random_case(random):
    """A few tokens around a common direction, the sink turned away from it or not."""
    context, width = int(random.integers(2, 9)), int(random.integers(2, 7))
    shift = random.standard_normal(width)
    tokens = float(random.choice([0.4, 0.8, 1.6])) * random.standard_normal((context + 1, width)) + shift
    if random.random() < 0.5:
        tokens[0] = -tokens[0]
    return {"pattern": str(random.choice(["sink", "diagonal"])), "causal": bool(random.random() < 0.5),
            "tokens": np.round(tokens, 6)}


def reference_cases(count, seed):
    random = np.random.default_rng(seed)
    cases = []
    while len(cases) < count:
        case = random_case(random)
        case["nuclear"] = solve_nuclear(case["tokens"], case["pattern"], case["causal"])
        case["frobenius"] = solve_frobenius(case["tokens"], case["pattern"], case["causal"])
        # Cases that hardly have a solution are decided by rounding in either solver.
        if case["nuclear"] and case["nuclear"] > 1e4:
            continue
        cases.append(case)
    return cases


def solve_sinkscope(options, tokens, pattern, causal, gap):
    """{norm: (lower, upper, verdict)} and the seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokens.npy"
        np.save(file, tokens)
        start = time.perf_counter()
        out = subprocess.run([options.bin, "theory", "cost", "--vectors", str(file), "--pattern", pattern, "--mask",
                              "causal" if causal else "all", "--cost-gap", str(gap), "-q", "-t", "1", "--format",
                              "csv"], check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - start
    return {r["norm"]: (float(r["lower"] or "inf"), float(r["upper"] or "inf"), r["verdict"])
            for r in csv.DictReader(io.StringIO(out))}, seconds


def compare(options, cases):
    worst = widest = 0.0
    for number, case in enumerate(cases):
        ours, _ = solve_sinkscope(options, case["tokens"], case["pattern"], case["causal"], options.gap)
        for norm in ("nuclear", "frobenius"):
            lower, upper, verdict = ours[norm]
            if case[norm] is None:
                off = 0.0 if verdict == "impossible" else float("inf")
            else:
                off = max(lower / case[norm] - 1, 1 - upper / case[norm], 0.0)
                widest = max(widest, (upper - lower) / upper)
            worst = max(worst, off)
            if off > 1e-5:
                print(f"case {number} {case['pattern']} {norm}: {lower:.8g} .. {upper:.8g}, cvxopt {case[norm]}")
    print(f"{len(cases)} cases, two norms: cvxopt's value lies outside the certified bounds by at most {worst:.1e} of it; "
          f"the widest bounds are {widest:.1e} apart")
    return worst <= 1e-5


def time_sizes(options):
    random = np.random.default_rng(options.seed)
    print(f"{'T':>4} {'pattern':>9} {'sinkscope s':>12} {'of it solving':>14} {'cvxopt s':>9} {'ratio':>7} {'difference':>11}")
    for context in options.sizes:
        tokens = random.standard_normal((context + 1, context + 1))
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        _, start_up = solve_sinkscope(options, tokens[:2], "sink", True, 1e-3)
        for pattern in ("sink", "diagonal"):
            ours, seconds = solve_sinkscope(options, tokens, pattern, True, 1e-3)
            start = time.perf_counter()
            value = solve_nuclear(tokens, pattern, True)
            theirs = time.perf_counter() - start
            lower, upper, _ = ours["nuclear"]
            print(f"{context:>4} {pattern:>9} {seconds:>12.2f} {max(seconds - start_up, 0):>14.2f} {theirs:>9.2f} "
                  f"{theirs / seconds:>7.1f} {abs((lower + upper) / 2 / value - 1):>11.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/sinkscope")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gap", type=float, default=1e-5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[16, 24, 32])
    parser.add_argument("--write", help="only write the cases with cvxopt's values to this file")
    options = parser.parse_args()
    cvxopt.solvers.options.update({"show_progress": False, "abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9})
    cases = reference_cases(options.cases, options.seed)
    if options.write:
        for case in cases:
            case["tokens"] = case["tokens"].tolist()
        text = ",\n".join(json.dumps(case) for case in cases)
        Path(options.write).write_text(f"[{text}]\n")
        return 0
    agree = compare(options, cases)
    time_sizes(options)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
