#!/usr/bin/env python3
"""A training that is killed again and again ends with the bits of one that was not: train_resume_test.py PROGRAM [KILLS]"""
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 600
ARGUMENTS = ["train", "bigram-backcopy", "--steps", str(STEPS), "--batch", "8", "--record-every", "20",
             "--record-sequences", "2", "--checkpoint-every", "200", "-t", "1", "-q"]


def files_of(folder):
    """What must be equal: weights, optimiser and every record."""
    found = {}
    for file in sorted(folder.rglob("*.safetensors")) + [folder / "trainer.state"] + sorted(folder.rglob("*.csv")):
        found[str(file.relative_to(folder))] = file.read_bytes()
    with sqlite3.connect(folder / "train.db") as database:
        found["rows"] = database.execute("SELECT unit, place, name, cells FROM sheet_row ORDER BY unit, place").fetchall()
    return found


def main(program, kills):
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch) / "whole", Path(scratch) / "killed"
        begin = time.monotonic()
        subprocess.run([program, *ARGUMENTS, "-o", str(whole)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begin

        choice = random.Random(20)
        done = 0
        while done < kills:
            process = subprocess.Popen([program, *ARGUMENTS, "-o", str(killed)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            # Early enough that the run is not over before its last kill.
            time.sleep(choice.uniform(0.05, 0.2) + choice.random() * seconds / kills)
            if process.poll() is not None:
                break
            process.kill()
            process.communicate()
            done += 1
        result = subprocess.run([program, *ARGUMENTS, "-o", str(killed)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        assert result.returncode == 0, result.stderr
        assert done >= min(3, kills), f"killed {done} times only"
        left, right = files_of(whole), files_of(killed)
        assert left.keys() == right.keys(), left.keys() ^ right.keys()
        differ = [name for name in left if left[name] != right[name]]
        assert not differ, f"after {done} kills these differ: {differ}"
        print(f"{done} kills, {len(left)} files equal to the bit")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
