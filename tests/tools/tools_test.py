#!/usr/bin/env python3
"""Tests of the checkers in tools/: each must find what was planted and accept what is right."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import check_docs  # noqa: E402
import check_layers  # noqa: E402
import check_skips  # noqa: E402
import run_cli_tests  # noqa: E402
import summarise_tests  # noqa: E402


class Tree(unittest.TestCase):
    """A small repository to plant things in."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


class Layers(Tree):
    def test_an_include_that_goes_the_other_way_is_named_by_file_and_line(self):
        self.write("sinkscope/io/a.cpp", "#include <vector>\n\n#include \"sinkscope/model/model.h\"\n")
        complaints = check_layers.check(self.root)
        self.assertEqual(len(complaints), 1)
        self.assertIn("sinkscope/io/a.cpp:3: io may not include sinkscope/model/model.h", complaints[0])

    def test_single_headers_of_a_layer(self):
        self.write("sinkscope/stats/a.h", '#include "sinkscope/forward/tap.h"\n')
        self.assertEqual(check_layers.check(self.root), [])
        self.write("sinkscope/stats/b.h", '#include "sinkscope/forward/runner.h"\n')
        self.assertEqual(len(check_layers.check(self.root)), 1)

    def test_torch_in_a_layer_without_it(self):
        self.write("sinkscope/store/a.cpp", "#include <ATen/core/Tensor.h>\n")
        self.write("sinkscope/forward/b.cpp", "#include <ATen/core/Tensor.h>\n")
        complaints = check_layers.check(self.root)
        self.assertEqual(len(complaints), 1)
        self.assertIn("sinkscope/store/a.cpp:1", complaints[0])

    def test_torch_reached_through_our_own_headers(self):
        self.write("sinkscope/stats/values.h", '#include "sinkscope/stats/tensors.h"\n')
        self.write("sinkscope/stats/tensors.h", "#include <c10/core/Device.h>\n")
        self.write("sinkscope/store/a.h", '#include "sinkscope/stats/values.h"\n')
        complaints = check_layers.check(self.root)
        self.assertEqual(len(complaints), 1)
        self.assertIn("sinkscope/stats/tensors.h -> c10/core/Device.h", complaints[0])

    def test_an_include_relative_to_its_own_folder(self):
        self.write("sinkscope/io/a.h", "#pragma once\n")
        self.write("sinkscope/io/a.cpp", '#include "a.h"\n')
        self.assertIn("sinkscope/io/a.cpp:1", check_layers.check(self.root)[0])

    def test_a_folder_outside_the_table_and_an_empty_tree(self):
        self.assertEqual(len(check_layers.check(self.root)), 1)
        self.write("sinkscope/extras/a.h", "#pragma once\n")
        self.assertIn("'extras'", check_layers.check(self.root)[0])


class Skips(Tree):
    ROWS = "| `golden/` | {} | not in a clone alone |\n"

    def test_counts_agree_or_are_named(self):
        self.write("tests/io/a_test.cpp", 'SINKSCOPE_DATA_OR_SKIP(x, "golden/llama");\n')
        self.write("tests/SKIPS.md", self.ROWS.format(1))
        self.assertEqual(check_skips.compare(self.root)[0], [])
        self.write("tests/SKIPS.md", self.ROWS.format(2))
        self.assertIn("lists 2 places, the tests have 1", check_skips.compare(self.root)[0][0])

    def test_a_skip_without_a_row_or_without_a_name(self):
        self.write("tests/SKIPS.md", self.ROWS.format(0))
        self.write("tests/io/a_test.cpp", 'GTEST_SKIP() << "no device";\nGTEST_SKIP() << why;\n')
        self.write("tests/cli/a.test", "skip unless data vocab/x.gguf\n")
        complaints = check_skips.compare(self.root)[0]
        self.assertIn("a.test:1: tests/SKIPS.md has no row for 'vocab/x.gguf'", complaints[0])
        self.assertIn("a_test.cpp:1: tests/SKIPS.md has no row for 'no device'", complaints[1])
        self.assertIn("a_test.cpp:2", complaints[2])


class Docs(Tree):
    def complaints(self, text, commands=None):
        self.write("README.md", text)
        self.write("Makefile", "build: setup\n")
        self.write("CMakePresets.json", '{"configurePresets": [{"name": "release"}]}')
        return check_docs.check(self.root, [self.root / "README.md"], commands)

    def test_links(self):
        self.assertEqual(self.complaints("# A title\n[x](Makefile) [y](#a-title)\n"), [])
        self.assertIn("README.md:1", self.complaints("[x](docs/absent.md)\n")[0])
        self.assertIn("#nowhere", self.complaints("[x](#nowhere)\n")[0])

    def test_make_targets_and_presets(self):
        self.assertEqual(self.complaints("```sh\nmake build\ncmake --preset release\n```\n"), [])
        self.assertIn("make paint", self.complaints("```sh\nmake paint\n```\n")[0])
        self.assertIn("'fast'", self.complaints("```sh\ncmake --preset fast\n```\n")[0])

    def test_commands_and_flags_of_the_program(self):
        commands = {"scan": {"--file", "-f", "--help"}, "theory": {"--help"}, "theory cost": {"--kappa"}}
        self.assertEqual(self.complaints("    sinkscope scan M -f x.txt\n", commands), [])
        self.assertIn("--files", self.complaints("```\nsinkscope scan M --files x\n```\n", commands)[0])
        self.assertEqual(self.complaints("    sinkscope theory cost --kappa 2\n", commands), [])
        self.assertIn("theory cost has no flag --kapa", self.complaints("    sinkscope theory cost --kapa 2\n", commands)[0])
        self.assertIn("'skan'", self.complaints("```\nbuild/release/sinkscope skan M\n```\n", commands)[0])

    def test_places_of_one_machine_and_foreign_hosts(self):
        planted = "/" + "home/me/model.gguf\n" + "https:" + "//mirror.invalid/x\n"
        file = self.write("docs/a.md", planted)
        complaints = check_docs.check_places(self.root, [file])
        self.assertEqual(len(complaints), 2)
        self.assertIn("docs/a.md:1", complaints[0])
        self.assertIn("docs/a.md:2", complaints[1])


class CliRunner(Tree):
    """A shell script stands for the program."""

    def holds(self, statements, script="echo '{\"heads\": [{\"alpha\": [1, null]}]}'; echo oops >&2; exit 3"):
        program = self.write("program", f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        file = self.write("a.test", statements)
        with contextlib.redirect_stdout(io.StringIO()):
            return run_cli_tests.run_file(program, file)

    def test_statements_that_hold(self):
        self.assertTrue(self.holds("run a 'b c'\nexit 3\nout json heads.0.alpha.0 == 1\nout json heads.length == 1\n"
                                   "out json heads.0.alpha.1 == null\nout json heads.0.alpha.0 ~ 1.01 0.02\nerr contains oops\nerr matches ^o+ps$\n"))
        self.assertTrue(self.holds("file {tmp}/x one\\ntwo\nrun\nout contains one\nexists {tmp}/x\nabsent {tmp}/y\n",
                                   "cat x"))

    def test_statements_that_do_not_hold(self):
        for statement in ("exit 0", "out empty", "err lacks oops", "out json heads.0.alpha.0 == 2",
                          "out json heads.1.alpha == 1", "out json heads.0.alpha.0 ~ 1.01 0.001",
                          "out json heads.0.alpha.1 < 1", "absent {tmp}",
                          "out same", "frobnicate"):
            self.assertFalse(self.holds(f"run\nexit 3\n{statement}\n"), statement)

    def test_exit_0_is_expected_when_nothing_is_said(self):
        self.assertFalse(self.holds("run\nout contains heads\n"))
        self.assertFalse(self.holds("run\nrun\nexit 3\n"))

    def test_nan_is_not_json_and_a_file_without_a_run_is_no_test(self):
        self.assertFalse(self.holds("run\nout json a == null\n", "echo '{\"a\": NaN}'"))
        self.assertFalse(self.holds("# nothing\n"))

    def test_skip_is_asked_before_anything_runs(self):
        with self.assertRaises(run_cli_tests.Skip):
            self.holds("skip unless data no/such/thing\nrun\n")
        self.assertFalse(self.holds("run\nexit 3\nskip unless data no/such/thing\n"))


class Summary(Tree):
    CTEST = """<testsuite>
      <testcase name="io" status="run"/>
      <testcase name="cli.a" status="run"/>
      <testcase name="web" status="notrun"><skipped message="77"/><system-out>SKIPPED: {}</system-out></testcase>
      <testcase name="broken" status="fail"><failure/></testcase>
    </testsuite>"""
    GTEST = """<testsuites><testsuite>
      <testcase name="Good" classname="Io" status="run"/>
      <testcase name="Away" classname="Io" status="run">
        <skipped message="a.cpp:3&#x0A;no reference data: golden/x"/></testcase>
    </testsuite></testsuites>"""

    def test_cases_of_a_program_are_counted_one_by_one(self):
        self.write("ctest.xml", self.CTEST.format("node"))
        self.write("test_io.xml", self.GTEST)
        passed, failed, skipped = summarise_tests.read_results(self.root)
        self.assertEqual((passed, failed), (2, ["broken"]))
        self.assertEqual(skipped, [("Io.Away", "no reference data: golden/x"), ("web", "node")])

    def test_a_reason_that_is_not_listed_fails(self):
        self.write("ctest.xml", self.CTEST.format("felt like it"))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(summarise_tests.main([self.root]), 1)
        self.assertIn("web (tests/SKIPS.md does not list this reason)", out.getvalue())
        self.assertIn("2 passed, 2 failed, 1 skipped", out.getvalue())


if __name__ == "__main__":
    unittest.main()
