"""Makes the golden cases beside this file.

    python make_goldens.py              all cases
    python make_goldens.py phi cohere   some

Needs torch, transformers 5, safetensors and numpy; one thread, no network. Weights and inputs depend on the seeds only.
"""

import sys
from pathlib import Path

from engine import make
from lab_reference import CASES as LAB
from plain_cases import CASES as PLAIN
from text_cases import CASES as TEXT
from vision_cases import CASES as VISION

BUDGET = 3_300_000  # bytes of all cases together


def main() -> None:
    here = Path(__file__).resolve().parent
    cases = TEXT + PLAIN + VISION + LAB
    assert len({c.name for c in cases}) == len({c.seed for c in cases}) == len(cases)
    unknown = set(sys.argv[1:]) - {c.name for c in cases}
    if unknown:
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}")
    for case in cases:
        if len(sys.argv) == 1 or case.name in sys.argv[1:]:
            case.make(here) if case in LAB else make(case, here)
    total = sum(file.stat().st_size for c in cases for file in (here / c.name).glob("*"))
    print(f"{len(cases)} cases, {total / 1024:.0f} KiB")
    assert total <= BUDGET, total


if __name__ == "__main__":
    main()
