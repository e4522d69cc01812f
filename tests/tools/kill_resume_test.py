#!/usr/bin/env python3
"""A scan that is killed again and again ends with the store of one that was not: kill_resume_test.py PROGRAM"""
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/data/stories260K/stories260K.gguf"
TEXT = ROOT / "examples/tinyshakespeare.txt"
SEQUENCES = 400


def command(program, store):
    # Small batches, so that a kill falls between, before and inside many transactions.
    return [program, "scan", str(MODEL), "-f", str(TEXT), "--max-seqs", str(SEQUENCES), "--seq-len", "64",
            "--batch-tokens", "256", "--diag", "circuit", "-t", "1", "-q", "-o", str(store)]


def contents(store):
    """Every table but the facts that may differ between two runs (timing, host)."""
    with sqlite3.connect(store) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(map(repr, database.execute(f"SELECT * FROM {name}")))
                for name in names if name != "fact"}


def finished(store):
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(store) as database:
            return database.execute("SELECT COUNT(*) FROM sequence").fetchone()[0]
    except sqlite3.OperationalError:
        return 0  # killed before the schema stood


def main(program):
    random.seed(7)
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole.db", Path(folder) / "killed.db"
        started = time.monotonic()
        subprocess.run(command(program, whole), check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - started
        kills = partial = 0
        while kills < 12:
            process = subprocess.Popen(command(program, killed), stdout=subprocess.DEVNULL)
            try:
                process.wait(timeout=random.uniform(0.1, 0.6) * duration)
                break  # it was quicker than the clock: nothing is left to kill
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
                partial += 0 < finished(killed) < SEQUENCES
        subprocess.run(command(program, killed), check=True, stdout=subprocess.DEVNULL)
        if partial == 0:
            sys.exit(f"{kills} kills, none of which left a part: the test shows nothing")
        expected, found = contents(whole), contents(killed)
        for name in expected:
            if expected[name] != found.get(name):
                sys.exit(f"table {name} differs after {kills} kills")
        if str(MODEL) not in expected["model"][0]:
            sys.exit(f"the summary does not name the model: {expected['model']}")
        if finished(killed) != SEQUENCES:
            sys.exit(f"{finished(killed)} of {SEQUENCES} sequences are finished")
        print(f"{kills} kills, {partial} of them with a part finished; {len(expected)} tables equal")


if __name__ == "__main__":
    main(sys.argv[1])
