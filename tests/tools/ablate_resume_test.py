#!/usr/bin/env python3
"""A sweep that is killed and run again holds the effects of one that was not: ablate_resume_test.py PROGRAM"""
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


def command(program, store):
    # Little memory: a pass holds few forks, so that a kill falls between many transactions.
    return [program, "ablate", str(MODEL), "-f", str(TEXT), "--max-seqs", str(SEQUENCES), "--heads", "all",
            "--key", "0", "--edit", ",".join(EDITS), "--max-memory", "12m", "-t", "1", "-q", "-o", str(store)]


def rows(store):
    if not store.exists():
        return {}
    try:
        with sqlite3.connect(store) as database:
            found = database.execute("SELECT intervention, layer, head, sequence, loss, kl, rms FROM effect")
            return {row[:4]: row[4:] for row in found}
    except sqlite3.OperationalError:
        return {}  # killed before the schema stood


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole.db", Path(folder) / "killed.db"
        started = time.monotonic()
        subprocess.run(command(program, whole), check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - started
        expected = rows(whole)
        if len(expected) != SEQUENCES * HEADS * len(EDITS):
            sys.exit(f"{len(expected)} effects, {SEQUENCES * HEADS * len(EDITS)} expected")
        partial = []
        for share in (0.4, 0.5, 0.6):
            process = subprocess.Popen(command(program, killed), stdout=subprocess.DEVNULL)
            try:
                process.wait(timeout=share * duration)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                partial.append(len(rows(killed)))
        if not any(0 < count < len(expected) for count in partial):
            sys.exit(f"effects after the kills: {partial}; none left a part, the test shows nothing")
        subprocess.run(command(program, killed), check=True, stdout=subprocess.DEVNULL)
        found = rows(killed)
        if found.keys() != expected.keys():
            sys.exit(f"{len(found)} effects after the kills, {len(expected)} without")
        # Which forks share a pass moves the rounding of float32 products, nothing else.
        worst = max(abs(a - b) for key in expected for a, b in zip(expected[key], found[key]))
        if worst > 1e-5:
            sys.exit(f"an effect differs by {worst}")
        print(f"{len(expected)} effects, parts of {partial} after the kills; largest difference {worst:.1e}")


if __name__ == "__main__":
    main(sys.argv[1])
