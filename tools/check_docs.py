#!/usr/bin/env python3
"""Holds README.md and docs/ against the repository and the program.

    tools/check_docs.py [--bin PROGRAM]

- links to files and headings of this repository resolve;
- `make` targets and CMake presets in code blocks exist;
- with --bin: every `sinkscope COMMAND --flag` in a code block is one that the program's help names;
- no tracked text file holds a path of one machine, or an address outside a short list.

Prints file:line of what does not hold and ends with 1.
"""
import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"(?<![\w-])(--[a-z][\w-]*|-[a-zA-Z])(?![\w-])")
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:home|root|work|Users)/\w")
ADDRESS = re.compile(r"https?://([^/\s:\"'<>)`]+)")
# Addresses that are names or references, never something to fetch: papers, licences, namespaces.
HOSTS = {"127.0.0.1", "localhost", "arxiv.org", "git-lfs", "git-lfs.github.com", "www.apache.org", "www.w3.org",
         "json-schema.org"}
# npm writes its packages' own pages into the lock file; only where it fetches from matters there.
LOCK_FILE = "package-lock.json"
TEXT = {".md", ".h", ".cpp", ".cu", ".py", ".sh", ".txt", ".cmake", ".json", ".yml", ".yaml", ".toml", ".test",
        ".ts", ".tsx", ".js", ".mjs", ".css", ".html", ".sql", ""}


def code_lines(text):
    """[(line number, command)] of fenced and indented code blocks; a trailing backslash joins lines."""
    found, fenced, pending = [], False, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if not fenced and not line.startswith("    "):
            continue
        start, command = pending or (number, "")
        command += line.strip()
        if command.endswith("\\"):
            pending = (start, command[:-1])
        else:
            found.append((start, command))
            pending = None
    return found


def anchors(text):
    """The addresses of a page's headings, as the usual renderers make them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        plain = re.sub(r"[`*]", "", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def check_links(root, file, text):
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            page = (file.parent / path).resolve() if path else file
            if not page.exists():
                complaints.append(f"{file.relative_to(root)}:{number}: there is no {target}")
            elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
                complaints.append(f"{file.relative_to(root)}:{number}: no heading #{anchor}")
    return complaints


def words_of(command):
    """The words of a shell line without comment and prompt; empty where it is no command at all."""
    command = re.sub(r"^\$ ", "", command)
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return []


def check_program(words, commands):
    """What is wrong with the words after `sinkscope`, or None."""
    if not words or words[0].startswith("-") or words[0].isupper():
        return None
    if words[0] not in commands:
        return f"sinkscope has no command '{words[0]}'"
    nested = " ".join(words[:2])
    name = nested if nested in commands else words[0]
    for word in words[len(name.split()):]:
        if word in ("|", "&&", ";", ">"):
            break
        flag = word.split("=", 1)[0]
        if FLAG.fullmatch(flag) and flag not in commands[name]:
            return f"sinkscope {name} has no flag {flag}"
    return None


def check_commands(root, file, text, commands):
    makefile = (root / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    presets = {preset["name"] for preset in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]}
    complaints = []
    for number, command in code_lines(text):
        where = f"{file.relative_to(root)}:{number}"
        words = words_of(command)
        if not words:
            continue
        if words[0] == "make":
            for target in (word for word in words[1:] if re.fullmatch(r"[a-z][\w-]*", word)):
                if target not in targets:
                    complaints.append(f"{where}: the Makefile has no target: make {target}")
        if words[0] == "cmake" and "--preset" in words:
            name = words[words.index("--preset") + 1]
            if name not in presets:
                complaints.append(f"{where}: there is no preset '{name}'")
        if words[0].split("/")[-1] == "sinkscope" and commands is not None:
            complaint = check_program(words[1:], commands)
            if complaint:
                complaints.append(f"{where}: {complaint}")
    return complaints


def check(root, files, commands=None):
    complaints = []
    for file in files:
        text = file.read_text()
        complaints += check_links(root, file, text)
        complaints += check_commands(root, file, text, commands)
    return complaints


def check_places(root, files):
    """Paths of one machine and addresses outside HOSTS; reference data are strings of any kind."""
    complaints = []
    for file in files:
        if file.is_relative_to(root / "tests" / "data"):
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            where = f"{file.relative_to(root)}:{number}"
            if MACHINE_PATH.search(line):
                complaints.append(f"{where}: a path of one machine: {line.strip()[:100]}")
            if file.name == LOCK_FILE and '"resolved"' not in line:
                continue
            for host in ADDRESS.findall(line):
                if host not in HOSTS:
                    complaints.append(f"{where}: an address that is not among HOSTS of tools/check_docs.py: {host}")
    return complaints


def help_of(program):
    """{command: flags that its help names}; a command of a command by both names, "theory cost"."""
    def text(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout

    def listed(page):
        return re.findall(r"^  ([a-z]+) {2,}\S", page, re.M)

    overview = text("--help")
    common = set(FLAG.findall(overview))
    flags = {}
    for name in listed(overview):
        page = text(name, "--help")
        flags[name] = common | set(FLAG.findall(page))
        for inner in listed(page):
            flags[f"{name} {inner}"] = common | set(FLAG.findall(text(name, inner, "--help")))
    return flags


def tracked(root):
    names = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False).stdout
    files = [root / name for name in names.decode().split("\0") if name]
    return [file for file in files if file.suffix in TEXT and file.is_file()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the program, to hold commands and flags against its help")
    arguments = parser.parse_args()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    commands = help_of(arguments.bin) if arguments.bin else None
    if commands is not None and not commands:
        print(f"{arguments.bin} --help lists no commands in the form that this checker reads")
        return 1
    complaints = check(ROOT, pages, commands) + check_places(ROOT, tracked(ROOT))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
