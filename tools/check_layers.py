#!/usr/bin/env python3
"""Holds the rule of which layer may include which (docs/architecture.md), and where LibTorch may be seen.

    tools/check_layers.py [ROOT]

Prints file:line of every include that goes the other way; ends with 1 when there is one. A layer
that may not see LibTorch may not reach it through our own headers either.
"""
import re
import sys
from pathlib import Path

# Layer -> what it may include besides itself: a layer, or one header of a layer.
LAYERS = {
    "base": [],
    "io": ["base"],
    "theory": ["base"],
    "text": ["base", "io"],
    "image": ["base", "io"],
    "model": ["base", "io"],
    "forward": ["base", "model"],
    "stats": ["base", "theory", "forward/observer.h", "forward/tap.h", "forward/attention_sums.h"],
    "diagnostics": ["base", "model", "stats", "theory"],
    "store": ["base", "stats", "diagnostics"],
    "report": ["base", "store"],
    "train": ["base", "io", "text", "image", "model", "forward"],
    "app": ["base", "io", "theory", "text", "image", "model", "forward", "stats", "diagnostics", "store",
            "report", "train"],
    "cli": ["base", "app"],
}
TORCH_FREE = {"base", "io", "theory", "text", "image", "diagnostics", "store", "report", "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TORCH_HEADER = re.compile(r"^(ATen|torch|c10)/")
SOURCES = {".h", ".cpp", ".cu", ".cuh"}


def includes(file):
    """[(line number, '<' or '"', path)]"""
    found = []
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            found.append((number, match[1], match[2]))
    return found


def allowed(layer, target):
    """`target`: the included path below sinkscope/."""
    other = target.split("/", 1)[0]
    return other == layer or other in LAYERS[layer] or target in LAYERS[layer]


def path_to_torch(root, header, seen):
    """The chain of our headers from `header` to one of LibTorch, or None."""
    if header in seen or not (root / header).is_file():
        return None
    seen.add(header)
    for _, _, path in includes(root / header):
        if TORCH_HEADER.match(path):
            return [header, path]
        if path.startswith("sinkscope/"):
            chain = path_to_torch(root, path, seen)
            if chain:
                return [header] + chain
    return None


def check_file(root, file):
    name = file.relative_to(root)
    layer = name.parts[1]
    if layer not in LAYERS:
        return [f"{name}:1: the layer '{layer}' is not in the table of tools/check_layers.py"]
    complaints = []
    for number, quote, path in includes(file):
        where = f"{name}:{number}"
        if TORCH_HEADER.match(path):
            if layer in TORCH_FREE:
                complaints.append(f"{where}: {layer} may not include LibTorch ({path})")
        elif path.startswith("sinkscope/"):
            if not allowed(layer, path.split("/", 1)[1]):
                may = ", ".join(LAYERS[layer]) or "nothing of ours"
                complaints.append(f"{where}: {layer} may not include {path}; it may include {may}")
            elif layer in TORCH_FREE:
                chain = path_to_torch(root, path, set())
                if chain:
                    complaints.append(f"{where}: {layer} reaches LibTorch: {' -> '.join(chain)}")
        elif quote == '"' and (file.parent / path).exists():
            complaints.append(f"{where}: includes are relative to the root of the repository: {path}")
    return complaints


def check(root):
    complaints, count = [], 0
    for file in sorted((root / "sinkscope").rglob("*")):
        if file.suffix in SOURCES and file.is_file():
            count += 1
            complaints += check_file(root, file)
    if not count:
        complaints.append(f"no sources below {root / 'sinkscope'}")
    return complaints


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    complaints = check(root)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
