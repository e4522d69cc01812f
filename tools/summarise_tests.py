#!/usr/bin/env python3
"""Counts what ran: every skip by name and reason, then one line 'N passed, N failed, N skipped'.

    tools/summarise_tests.py RESULTS...

A directory of results holds ctest.xml (ctest --output-junit) and, for each GoogleTest program that
ran, its own XML file. Cases of GoogleTest programs are counted one by one; every other ctest counts
as one. A skip whose reason no row of tests/SKIPS.md covers is a failure: nothing is left out in
silence. Ends with 1 when something failed or nothing ran.
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import check_skips


def read_gtest(file):
    """(passed, failed names, [(skipped name, reason)]) of one GoogleTest program."""
    passed, failed, skipped = 0, [], []
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            failed.append(name)
        elif case.find("skipped") is not None:
            # The message begins with a line "file:line".
            message = (case.find("skipped").get("message") or "").split("\n", 1)[-1]
            skipped.append((name, message.strip()))
        elif case.get("status") == "run":
            passed += 1
    return passed, failed, skipped


def skip_reason(case):
    for line in (case.findtext("system-out") or "").splitlines():
        if line.startswith("SKIPPED: "):
            return line[len("SKIPPED: "):].strip()
    return case.find("skipped").get("message") or "no reason given"


def read_results(directory):
    passed, failed, skipped = 0, [], []
    if not (directory / "ctest.xml").exists():
        return 0, [f"{directory} (no tests ran there)"], []
    for case in ElementTree.parse(directory / "ctest.xml").getroot().iter("testcase"):
        name = case.get("name")
        own = directory / f"test_{name}.xml"
        broke = case.get("status") == "fail" or case.find("failure") is not None
        if own.exists():
            counts = read_gtest(own)
            passed += counts[0]
            failed += counts[1]
            skipped += counts[2]
            if broke and not counts[1]:
                failed.append(f"{name} (the program failed after its tests)")
        elif broke:
            failed.append(name)
        elif case.find("skipped") is not None:
            skipped.append((name, skip_reason(case)))
        elif case.get("status") == "run":
            passed += 1
    return passed, failed, skipped


def main(directories):
    rows = check_skips.read_rows(check_skips.ROOT / "tests" / "SKIPS.md")
    passed, failed, skipped = 0, [], []
    for directory in directories:
        counts = read_results(Path(directory))
        passed += counts[0]
        failed += counts[1]
        skipped += counts[2]
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
        if check_skips.row_of(check_skips.absent_thing(reason), rows) is None:
            failed.append(f"{name} (tests/SKIPS.md does not list this reason)")
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
