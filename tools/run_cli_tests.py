#!/usr/bin/env python3
"""Runs command-line tests written as text files: tools/run_cli_tests.py --bin PROGRAM FILE.test...

One statement a line; the lines below a `run` hold for it.

    # comment
    skip unless data PATH         leave the file out (exit 77) where the reference data lack PATH
    skip unless program NAME      the same for a program
    file PATH TEXT                write TEXT (\\n, \\t, \\xNN understood) to a file
    env NAME=VALUE                for the runs that follow
    run ARGUMENTS                 start the program; quoting as in a shell, nothing else is expanded
    exit N                        the exit code; 0 is expected when no such line follows
    out|err contains TEXT         stdout or stderr holds TEXT
    out|err lacks TEXT
    out|err matches REGEX         Python's re.search, ^ and $ at lines
    out|err empty
    out json PATH OP VALUE        PATH is dotted (`heads.0.alpha.1`, `heads.length`), OP is == != < > and
                                  VALUE is JSON, or OP is ~ and VALUE a number with a tolerance, `0.5 1e-6`
    out same                      stdout equals that of the run before, byte for byte
    out near REL                  the same, but numbers may differ by the part REL of the larger one
    exists PATH, absent PATH      a file is there, or not

{data}/PATH is a file of the reference data (SINKSCOPE_SHARED/data or ../shared/data, then tests/data),
{tmp} a directory that is empty at the start of the file, {bin} the program, {root} the repository.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 77
TIMEOUT_S = 300


class Failure(Exception):
    """A statement that does not hold."""


class Skip(Exception):
    """The file needs what this machine lacks."""


def find_data(relative):
    shared = os.environ.get("SINKSCOPE_SHARED")
    roots = [Path(shared) if shared else ROOT.parent / "shared", ROOT / "tests"]
    for root in roots:
        if (root / "data" / relative).exists():
            return root / "data" / relative
    return None


def look_up(document, path):
    for part in path.split("."):
        if part == "length" and not (isinstance(document, dict) and part in document):
            document = len(document)
        elif isinstance(document, list):
            document = document[int(part)]
        else:
            document = document[part]
    return document


def holds(seen, operator, wanted):
    if operator == "==":
        return seen == wanted and isinstance(seen, bool) == isinstance(wanted, bool)
    if operator == "!=":
        return seen != wanted
    if seen is None:
        return False
    if operator == "~":
        return abs(seen - wanted[0]) <= wanted[1]
    return seen < wanted if operator == "<" else seen > wanted


class CliTest:
    """One file: its statements run in order against the program."""

    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        self.environment = dict(os.environ, NO_COLOR="1")
        self.result = None    # of the last run
        self.before = None    # stdout of the run before it
        self.exit_checked = True

    def expand(self, text):
        def data(match):
            found = find_data(match[1])
            if found is None:
                raise Failure(f"no reference data {match[1]}; the file lacks `skip unless data`")
            return str(found)

        text = re.sub(r"\{data\}/([^\s\"',]+)", data, text)
        for name, value in (("tmp", self.directory), ("bin", self.program), ("root", ROOT)):
            text = text.replace("{" + name + "}", str(value))
        return text

    def statement(self, line):
        word, _, rest = line.partition(" ")
        handler = getattr(self, "do_" + word, None)
        if handler is None:
            raise Failure(f"unknown statement '{word}'")
        handler(rest.strip())

    def finish_run(self):
        if not self.exit_checked:
            self.do_exit("0")

    def do_skip(self, rest):
        if self.result:
            raise Failure("skip comes before the first run")
        match = re.fullmatch(r"unless (data|program) (\S+)", rest)
        if not match:
            raise Failure("skip is written `skip unless data PATH` or `skip unless program NAME`")
        if match[1] == "data" and find_data(match[2]) is None:
            raise Skip(f"no reference data: {match[2]}")
        if match[1] == "program" and shutil.which(match[2]) is None:
            raise Skip(match[2])

    def do_file(self, rest):
        path, _, text = rest.partition(" ")
        unescaped = text.encode().decode("unicode_escape").encode("latin-1")
        Path(self.expand(path)).write_bytes(unescaped)

    def do_env(self, rest):
        name, _, value = rest.partition("=")
        self.environment[name] = self.expand(value)

    def do_run(self, rest):
        self.finish_run()
        self.before = self.result.stdout if self.result else None
        arguments = [str(self.program)] + [self.expand(part) for part in shlex.split(rest)]
        self.result = subprocess.run(arguments, cwd=self.directory, env=self.environment, timeout=TIMEOUT_S,
                                     stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.exit_checked = False

    def do_exit(self, rest):
        self.exit_checked = True
        if self.result.returncode != int(rest):
            raise Failure(f"exit code {self.result.returncode}, expected {rest}")

    def do_out(self, rest):
        if rest == "same":
            if self.before != self.result.stdout:
                raise Failure("stdout differs from that of the run before")
        elif rest.startswith("near "):
            self.check_near(float(rest[5:]))
        elif rest.startswith("json "):
            self.check_json(rest[5:])
        else:
            self.check_text(self.result.stdout, rest)

    def do_err(self, rest):
        self.check_text(self.result.stderr, rest)

    def check_text(self, stream, rest):
        text = stream.decode("utf-8", "backslashreplace")
        how, _, wanted = rest.partition(" ")
        wanted = self.expand(wanted)
        good = {
            "contains": lambda: wanted in text,
            "lacks": lambda: wanted not in text,
            "matches": lambda: re.search(wanted, text, re.M) is not None,
            "empty": lambda: text == "",
        }
        if how not in good:
            raise Failure(f"unknown check '{how}'")
        if not good[how]():
            raise Failure(f"does not hold: {rest}")

    def check_near(self, tolerance):
        fields = [re.split(r"([,\s]+)", text.decode()) for text in (self.before, self.result.stdout)]
        if len(fields[0]) != len(fields[1]):
            raise Failure("stdout has another number of fields than that of the run before")
        for before, now in zip(*fields):
            if before == now:
                continue
            try:
                a, b = float(before), float(now)
            except ValueError:
                raise Failure(f"{now} was {before} in the run before") from None
            if not abs(a - b) <= tolerance * max(abs(a), abs(b)):
                raise Failure(f"{now} was {before} in the run before, more than {tolerance} of it away")

    def check_json(self, rest):
        path, operator, wanted = rest.split(maxsplit=2)
        if operator not in ("==", "!=", "<", ">", "~"):
            raise Failure(f"unknown comparison '{operator}'")
        try:
            document = json.loads(self.result.stdout, parse_constant=lambda name: "not strict JSON: " + name)
        except ValueError as error:
            raise Failure(f"stdout is not JSON: {error}") from error
        try:
            seen = look_up(document, path)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Failure(f"stdout has no {path}") from error
        value = self.expand(wanted)
        parsed = [float(part) for part in value.split()] if operator == "~" else json.loads(value)
        if not holds(seen, operator, parsed):
            raise Failure(f"{path} is {json.dumps(seen)}, expected {operator} {wanted}")

    def do_exists(self, rest):
        if not Path(self.expand(rest)).exists():
            raise Failure(f"there is no {rest}")

    def do_absent(self, rest):
        if Path(self.expand(rest)).exists():
            raise Failure(f"{rest} exists")


def show(result):
    """What the program printed, for the person who reads the failure."""
    if result is None:
        return
    print("  command:", shlex.join(result.args))
    print("  exit code:", result.returncode)
    for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
        lines = stream.decode("utf-8", "backslashreplace").splitlines()
        print(f"  {name}:", *(lines[:60] or ["(empty)"]), sep="\n    ")
        if len(lines) > 60:
            print(f"    ... {len(lines) - 60} more lines")


def run_file(program, file):
    """True when every statement held."""
    with tempfile.TemporaryDirectory(prefix="sinkscope-cli-") as directory:
        test = CliTest(program, Path(directory))
        runs = 0
        number = 0
        try:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if line.strip() and not line.startswith("#"):
                    test.statement(line.strip())
                    runs += line.split()[0] == "run"
            test.finish_run()
            if not runs:
                raise Failure("the file runs nothing")
        except Failure as failure:
            print(f"{file}:{number}: {failure}")
            show(test.result)
            return False
        except subprocess.TimeoutExpired:
            print(f"{file}:{number}: still running after {TIMEOUT_S} s")
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the program")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    skipped, failed = 0, 0
    for file in arguments.files:
        try:
            failed += not run_file(arguments.bin.resolve(), file)
        except Skip as skip:
            print(f"SKIPPED: {skip}")
            skipped += 1
    if failed:
        return 1
    return SKIPPED if skipped == len(arguments.files) else 0


if __name__ == "__main__":
    sys.exit(main())
