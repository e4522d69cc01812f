#!/usr/bin/env python3
"""Holds tests/SKIPS.md against the tests: every place that can skip has a row, and the counts agree.

    tools/check_skips.py             compare; ends with 1 and says what differs
    tools/check_skips.py --update    write the counts into tests/SKIPS.md (reasons stay to be written)

A row is `| absent thing | places | why |`. The absent thing is what the skip names: the first
folder of the reference data, or the beginning of the text given to GTEST_SKIP or to a script's `skip`.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `([^`]+)` \| *(\d+) \| (.+) \|$")
NO_DATA = "no reference data: "

# Where a skip is written, and the group that names what is absent.
PLACES = {
    ".cpp": (
        re.compile(r"SINKSCOPE_DATA_OR_SKIP\(\s*\w+,\s*(?:std::string\()?\"([^\"]+)\""),
        re.compile(r"GTEST_SKIP\(\)\s*<<\s*\"([^\"]+)\""),
    ),
    ".test": (
        re.compile(r"^skip unless data (\S+)", re.M),
        re.compile(r"^skip unless program (\S+)", re.M),
    ),
    ".sh": (re.compile(r"\bskip \"([^\"$]+)\""),),
}
# A skip that none of the patterns above can name.
ANY = {
    ".cpp": re.compile(r"SINKSCOPE_DATA_OR_SKIP\(|GTEST_SKIP\(\)"),
    ".test": re.compile(r"^skip ", re.M),
    ".sh": re.compile(r"\bskip [\"$]"),
}


def absent_thing(reason):
    """'no reference data: golden/llama/x' -> 'golden/llama/x'; other reasons as they are."""
    return reason[len(NO_DATA):] if reason.startswith(NO_DATA) else reason


def read_rows(file):
    """{absent thing: (places, why)}"""
    rows = {}
    for line in file.read_text().splitlines():
        match = ROW.match(line)
        if match:
            rows[match[1]] = (int(match[2]), match[3])
    return rows


def row_of(thing, rows):
    """The longest row that begins the name of what is absent, or None."""
    matching = [row for row in rows if thing.startswith(row)]
    return max(matching, key=len, default=None)


def places(root):
    """[(file, line, absent thing or None)] of every skip in the tests below `root`."""
    found = []
    for folder in ("tests", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in PLACES or not file.is_file():
                continue
            text = file.read_text(errors="replace")
            named = {}
            for pattern in PLACES[file.suffix]:
                for match in pattern.finditer(text):
                    named[match.start()] = absent_thing(match[1])
            for match in ANY[file.suffix].finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append((file.relative_to(root), line, named.get(match.start())))
    return found


def compare(root):
    """(complaints, counts by row)"""
    rows = read_rows(root / "tests" / "SKIPS.md")
    complaints, counts = [], dict.fromkeys(rows, 0)
    for file, line, thing in places(root):
        if thing is None:
            complaints.append(f"{file}:{line}: this skip does not begin with a literal that says what is absent")
            continue
        row = row_of(thing, rows)
        if row is None:
            complaints.append(f"{file}:{line}: tests/SKIPS.md has no row for '{thing}'")
        else:
            counts[row] += 1
    for row, (listed, _) in rows.items():
        if counts[row] != listed:
            complaints.append(f"tests/SKIPS.md: '{row}' lists {listed} places, the tests have {counts[row]}; "
                              "look at the difference, then tools/check_skips.py --update")
    return complaints, counts


def update(root, counts):
    file = root / "tests" / "SKIPS.md"
    lines = []
    for line in file.read_text().splitlines():
        match = ROW.match(line)
        lines.append(f"| `{match[1]}` | {counts[match[1]]} | {match[3]} |" if match else line)
    file.write_text("\n".join(lines) + "\n")


def main(arguments):
    complaints, counts = compare(ROOT)
    if arguments == ["--update"]:
        update(ROOT, counts)
        complaints, _ = compare(ROOT)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
