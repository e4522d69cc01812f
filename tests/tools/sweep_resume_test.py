#!/usr/bin/env python3
"""A sweep that is killed and run again holds the results of one that was not: sweep_resume_test.py PROGRAM ablate|theory"""
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/data/stories260K/stories260K.gguf"
TEXT = ROOT / "examples/tinyshakespeare.txt"
SEQUENCES, HEADS, EDITS = 24, 40, ["remove-column", "zero-head"]


class Ablate:
    # Little memory: a pass holds few forks, so that a kill falls between many transactions.
    arguments = ["ablate", str(MODEL), "-f", str(TEXT), "--max-seqs", str(SEQUENCES), "--heads", "all", "--key", "0",
                 "--edit", ",".join(EDITS), "--max-memory", "12m"]
    query = "SELECT intervention, layer, head, sequence, loss, kl, rms FROM effect"
    count = SEQUENCES * HEADS * len(EDITS)
    # Which forks share a pass moves the rounding of float32 products, nothing else.
    tolerance = 1e-5

    @staticmethod
    def result(row):
        return row[:4], row[4:]


class Theory:
    arguments = ["theory", "cost", "--geometry", "random-cone,isotropic", "--d", "48", "--T", "20:44:4", "--norm",
                 "nuclear", "--cost-gap", "1e-4"]
    query = "SELECT unit, place, name, cells FROM sheet_row WHERE unit >= 0"
    count = 2 * 7 * 2
    tolerance = 0  # every unit has its own seed and threads share nothing

    @staticmethod
    def result(row):
        return row[:3], [cell for cell in json.loads(row[3]) if isinstance(cell, (int, float))]


def results(sweep, store):
    if not store.exists():
        return {}
    try:
        with sqlite3.connect(store) as database:
            return dict(sweep.result(row) for row in database.execute(sweep.query))
    except sqlite3.OperationalError:
        return {}  # killed before the schema stood


def main(program, name):
    sweep = {"ablate": Ablate, "theory": Theory}[name]

    def command(store):
        return [program, *sweep.arguments, "-t", "1", "-q", "-o", str(store)]

    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole.db", Path(folder) / "killed.db"
        started = time.monotonic()
        subprocess.run(command(whole), check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - started
        expected = results(sweep, whole)
        if len(expected) != sweep.count:
            sys.exit(f"{len(expected)} results, {sweep.count} expected")
        partial = []
        for share in (0.4, 0.5, 0.6):
            process = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL)
            try:
                process.wait(timeout=share * duration)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                partial.append(len(results(sweep, killed)))
        if not any(0 < count < len(expected) for count in partial):
            sys.exit(f"results after the kills: {partial}; none left a part, the test shows nothing")
        subprocess.run(command(killed), check=True, stdout=subprocess.DEVNULL)
        found = results(sweep, killed)
        if found.keys() != expected.keys():
            sys.exit(f"{len(found)} results after the kills, {len(expected)} without")
        worst = max(abs(a - b) for key in expected for a, b in zip(expected[key], found[key]))
        if worst > sweep.tolerance:
            sys.exit(f"a result differs by {worst}")
        print(f"{len(expected)} results, parts of {partial} after the kills; largest difference {worst:.1e}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
