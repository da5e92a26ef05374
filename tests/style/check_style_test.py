#!/usr/bin/env python3
"""The style checks themselves: a small tree that keeps every rule, then one broken rule at a time."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_style.py")
HEADINGS = "# x\n## What comes in and goes out\n## Files in reading order\n## Invariants\n## How to add one\n## Why it is so\n"
GOOD = {"ir/graph.hpp": "#pragma once\n", "ir/graph.cpp": '#include "ir/graph.hpp"\n\n#include <vector>\n',
        "ir/import/onnx.hpp": '#include "ir/graph.hpp"\n', "egraph/private/part.hpp": "", "backends/tbb/loop.hpp": "",
        "passes/pipeline.cpp": '#include "egraph/egraph.hpp"\n', "egraph/egraph.hpp": '#include "egraph/private/part.hpp"\n'}


def check(files, *rules):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        run = subprocess.run([sys.executable, CHECK, "--root", root, *rules], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr


class CheckStyle(unittest.TestCase):
    def assert_broken(self, files, rule, words):
        code, text = check({**GOOD, **files}, rule)
        self.assertEqual(code, 1, text)
        self.assertIn(words, text)

    def test_a_good_tree_passes(self):
        code, text = check(GOOD, "includes", "sizes", "names")
        self.assertEqual(code, 0, text)

    def test_an_empty_tree_does_not_pass(self):
        self.assertEqual(check({"a.txt": ""}, "includes")[0], 1)

    def test_includes_against_the_arrows(self):
        self.assert_broken({"ir/a.cpp": '#include "egraph/egraph.hpp"\n'}, "includes", "ir/ may include only ir")
        self.assert_broken({"passes/a.cpp": '#include "backends/tbb/loop.hpp"\n'}, "includes", "passes/ may include only")
        self.assert_broken({"backends/tbb/a.cpp": '#include "passes/pipeline.hpp"\n'}, "includes", "backends/ may include only")
        self.assert_broken({"backends/null/a.cpp": '#include "backends/tbb/loop.hpp"\n'}, "includes", "do not include each other")
        self.assert_broken({"egraph/a.cpp": '#include "ir/import/onnx.hpp"\n'}, "includes", "may include an importer")

    def test_private_and_outside_headers(self):
        self.assert_broken({"passes/a.cpp": '#include "egraph/private/part.hpp"\n'}, "includes", "private to it")
        self.assert_broken({"passes/a.cpp": "#include <dnnl.hpp>\n"}, "includes", "only backends/onednn may include it")
        self.assert_broken({"ir/a.cpp": '#include "../ir/graph.hpp"\n'}, "includes", "written from the root")
        self.assert_broken({"ir/a.cpp": "#include <ir/graph.hpp>\n"}, "includes", "with quotes")
        self.assert_broken({"ir/a.cpp": '#include "ir/gone.hpp"\n'}, "includes", "no such file")

    def test_sizes(self):
        self.assert_broken({"ir/a.cpp": "\n" * 801}, "sizes", "801 lines")
        self.assert_broken({"ir/a.cpp": "int x;\n" * 501}, "sizes", "explains in its first line")
        code, text = check({**GOOD, "ir/a.cpp": "// One list of all ops.\n" + "int x;\n" * 501}, "sizes")
        self.assertEqual(code, 0, text)

    def test_names(self):
        self.assert_broken({"ir/utils/a.cpp": ""}, "names", "says nothing")
        self.assert_broken({"ir/MyFile.cpp": ""}, "names", "snake_case")

    def test_readmes(self):
        self.assert_broken({}, "readmes", "ir/README.md: missing")
        self.assert_broken({"ir/README.md": HEADINGS.replace("Invariants", "Other")}, "readmes", "no heading 'invariants'")
        self.assertNotIn("ir/README.md", check({**GOOD, "ir/README.md": HEADINGS}, "readmes")[1])

    def test_format(self):
        code, text = check({**GOOD, "ir/a.cpp": "int   main( ){return 0 ;}\n"}, "format")
        if code == 77:
            self.skipTest(text)
        self.assertEqual(code, 1, text)
        self.assertIn("ir/a.cpp: not as clang-format", text)


if __name__ == "__main__":
    unittest.main()
