#!/usr/bin/env python3
"""Writes docs/families.md from a test report: tools/make_family_table.py REPORT.xml [--check]

REPORT.xml is what `GTEST_OUTPUT=xml:REPORT.xml test_forward --gtest_filter='*Golden*'` writes: the
golden tests record their largest differences there. --check only says whether the list of cases in
the page is the one that the tests have.
"""
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "families.md"
SUITES = {"HubGolden": "shared", "OwnGolden": "tests/data/families", "GgufGolden": "GGUF"}


def family_rows():
    """(name, architecture, first comment line) of each family's file, in the order of the table."""
    order = re.findall(r"&(k\w+)", (ROOT / "sinkscope/model/family.cpp").read_text())
    rows = {}
    for file in sorted((ROOT / "sinkscope/model/families").glob("*.cpp")):
        text = file.read_text()
        symbol = re.search(r"^const Family (k\w+)\{(.*?)\};", text, re.M | re.S)
        if not symbol:
            continue
        strings = re.findall(r'"([^"]*)"', symbol[2])
        if constant := re.search(r"\.name = (k\w+)", symbol[2]):  # the name that others need too
            strings[0] = re.search(rf'{constant[1]} = "([^"]*)"', file.with_suffix(".h").read_text())[1]
        named = re.search(r'\.architecture = "([^"]*)"', symbol[2])
        architecture = named[1] if named else "" if ".name" in symbol[2] else strings[1]
        comment = re.match(r"((?://.*\n)+)", text)[1]
        rows[symbol[1]] = (strings[0], architecture, " ".join(re.findall(r"// ?(.*)", comment)))
    return [rows[symbol] for symbol in order if symbol in rows]


def golden_rows(report):
    rows = []
    for case in xml.parse(report).getroot().iter("testcase"):
        suite = case.get("classname").split("/")[-1]
        if suite not in SUITES or case.find("skipped") is not None:
            continue
        values = {p.get("name"): p.get("value") for p in case.iter("property")}
        runs = [name[:-4] for name in values if name.endswith("_tap")]
        if not runs:
            continue
        worst = max(runs, key=lambda run: float(values[run + "_tap"]))
        alpha = max(float(values[run + "_alpha"]) for run in runs) * 1e-9
        name = case.get("name").split("/")[-1]
        if suite == "GgufGolden":
            name = case.get("value_param", name).strip('"')
        rows.append((SUITES[suite], name, float(values[worst + "_tap"]) * 1e-9, values[worst + "_tap_name"], alpha))
    return rows


def page(report):
    lines = ["# Model families", "",
             "Written by `tools/make_family_table.py` from the sources and a test report; do not edit.", "",
             "## What is read", "",
             "| family (`model_type`) | GGUF architecture | what it is |", "|---|---|---|"]
    for name, architecture, comment in family_rows():
        comment = comment.replace("|", "\\|")
        lines.append(f"| {name} | {architecture or '-'} | {comment} |")
    lines += ["", "## How far from the reference implementation", "",
              "The fast float32 path against golden tensors of transformers, the largest difference over all taps of a case",
              "relative to that tap's largest value (required: 1e-4; tested: 1e-5), and of alpha, absolute (required: 1e-5).",
              "The float64 reference path is held to the same. How the cases were made: tests/data/families/README.md.", "",
              "| where | case | largest difference | at | alpha |", "|---|---|---|---|---|"]
    for where, name, tap, at, alpha in golden_rows(report):
        lines.append(f"| {where} | {name} | {tap:.1e} | {at} | {alpha:.1e} |")
    return "\n".join(lines) + "\n"


def main():
    report, check = sys.argv[1], "--check" in sys.argv[2:]
    if not check:
        PAGE.write_text(page(report))
        return 0
    written = PAGE.read_text()
    missing = [row[0] for row in family_rows() if f"| {row[0]} |" not in written]
    missing += [row[1] for row in golden_rows(report) if f"| {row[1]} |" not in written]
    for name in missing:
        print(f"docs/families.md does not know {name}: run tools/make_family_table.py", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
