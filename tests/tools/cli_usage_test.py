#!/usr/bin/env python3
"""Wrong command lines, wrong files, and what is said of them. usage: cli_usage_test.py WEFT [TEST...]"""
import os
import subprocess
import unittest

import numpy as np
from onnx import helper

from cli_case import SANITIZED, TIMEOUT, WEFT, CliCase, make_model, read, write


class Usage(CliCase):
    """The rule of exit codes: 2 where the command line must change, 1 where a file, a model or the machine must."""

    def error(self, *args, code):
        """What is said of it: one message on standard error, readable whatever it quotes."""
        text = self.weft(*args, code=code)
        self.assertEqual(text.count("weft: error:"), 1, text)
        self.assertLess(len(text), 4000)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f]")
        return text

    def test_lines_that_do_not_parse(self):
        for args in ([], ["run"], ["compile", self.model, "-O", "7"], ["run", self.model, "--shape", "x"], ["run", self.model, "--shape", "x=1x"],
                     ["run", self.model, "--shape", "x=99999999999999999999"], ["run", self.model, "--precision", "wild"],
                     ["run", self.model, "--dim", "N=a"], ["run", self.model, "--bind", "x=five"], ["compile", self.model, "-o", "m.txt"],
                     ["bench", self.model, "--format", "xml"], ["cache"], ["rules"], ["bench", self.model, "--threads", "1,x"],
                     ["run", self.model, "m2.onnx"], ["explain", self.model], ["explain", self.model, "--diff"],
                     ["explain", self.model, "--node", "step:x", "--dim", "N=2"], ["explain", self.model, "other", "--node", "y", "--dim", "N=2"],
                     ["dot", self.model, "--of", "nonsense"], ["dot", self.model, "--root", "y"], ["dot", self.model, "--of", "plan", "--class", "3"],
                     ["dot", self.model, "--skip", "nope"], ["inspect", self.model, "--skip", "nope"], ["dot", self.model, "--print-after", "nope"],
                     ["run", self.model, "--dim", "N=2", "--dim", "N=3"], ["run", self.model, "--shape", "x=2x16", "--shape", "x=3x16"],
                     ["run", self.model, "--bind", "x=1", "--bind", "x=2"], ["explain", self.model, "--dim", "N=2", "--node", "step:9999"],
                     ["dot", self.model, "--dim", "N=2", "--of", "egraph", "--class", "99999"],
                     ["cache", "ls", "--cache-dir", ""], ["run", self.model, "--cache-dir", ""], ["run", ""]):
            with self.subTest(args=args):
                self.error(*args, code=2)

    def test_unknown_words_are_named(self):
        for args, words in ((["frob"], ["unknown command 'frob'", "inspect"]), (["insepct", self.model], ["'insepct'", "did you mean 'inspect'"]),
                            (["cache", "lss"], ["'lss'", "did you mean 'ls'"]), (["frob", "run", self.model], ["'frob'"]),
                            (["run", self.model, "--nonsense"], ["unknown option '--nonsense'"]),
                            (["run", self.model, "--repaet", "3"], ["'--repaet'", "did you mean '--repeat'"]),
                            (["run", self.model, "more"], ["'more'"])):
            with self.subTest(args=args):
                text = self.error(*args, code=2)
                for word in words:
                    self.assertIn(word, text)

    def test_numbers(self):
        """No number wraps, is read in another base, or is cut."""
        whole = [("run", "--seed"), ("run", "--repeat"), ("run", "--threads"), ("run", "--compile-threads"), ("run", "--memory-limit"),
                 ("run", "--int-bound"), ("run", "-O"), ("bench", "--iterations"), ("bench", "--threads"), ("dot", "--max-nodes"), ("dot", "--depth"), ("dot", "--class"),
                 ("explain", "--width"), ("explain", "--rejected")]
        real = [("run", "--time-limit"), ("run", "--rtol"), ("run", "--atol"), ("verify", "--rtol"), ("bench", "--warmup"),
                ("bench", "--duration"), ("bench", "--percentile")]
        for command, option in whole + real:
            for value in ["-1", "abc", "", "1e999", "nan", "0x10", "1 2"] + (["1.5", "9" * 300] if (command, option) in whole else ["inf", "-0.5", "9" * 400]):
                with self.subTest(option=option, value=value):
                    text = self.error(command, self.model, "--dim", "N=2", option + ("" if option == "-O" else "=") + value, code=2)
                    self.assertLess(len(text), 400)
        self.error("cache", "gc", "--bytes=-1", code=2)
        one, two, other = (self.weft("run", self.model, "--dim", "N=2", "--print", "--seed", s) for s in ("8", "010", "10"))
        self.assertEqual(two, other)
        self.assertNotEqual(one, two)
        self.weft("run", self.model, "--dim", "N=2", "--seed", str(2**64 - 1))

    def test_names_that_the_model_does_not_have(self):
        for args, word in ((["--input", "nope=1"], "nope"), (["--input", "nope=" + self.path("none.npy")], "nope"), (["--dim", "foo=3"], "foo"),
                           (["--shape", "nope=1x2"], "nope"), (["--bind", "nope=5", "--dim", "N=2"], "nope"),
                           (["--shape", "x=1x2x3"], "rank"), (["--shape", "x=3x17"], "17"), (["--dim", "N=2", "--shape", "x=3x16"], "N"),
                           (["--dim", "N=2", "--backend", "nonsense"], "nonsense"), (["--dim", "N=2", "--skip", "nonsense"], "nonsense"),
                           (["--dim", "N=2", "--print-after", "nonsense"], "nonsense"), ([], "symbolic")):
            with self.subTest(args=args):
                self.assertIn(word, self.error("run", self.model, *args, code=2))
        self.error("ops", "nonsense", code=2)
        self.error("rules", "list", "nonsense", code=2)
        self.error("compile", self.model, "--dim", "N=2", "--stop-after", "nonsense", code=2)
        self.error("run", self.path("model.txt"), code=2)
        plan = self.path("m.weft")
        self.weft("compile", self.model, "--dim", "N=2", "-o", plan)
        self.error("run", plan, "--dim", "N=3", code=2)

    def test_files_and_models_that_are_wrong(self):
        bad = self.path("bad.onnx")
        make_model(bad, bad=True)
        arity = self.path("arity.onnx")
        make_model(arity, mend=lambda graph: graph.node[0].input.append("b"))
        attribute = self.path("attribute.onnx")
        make_model(attribute, mend=lambda graph: graph.node[0].attribute.append(helper.make_attribute("axis", 1)))
        junk = self.path("junk.onnx")
        write(junk, os.urandom(1000))
        plan = self.path("plan.weft")
        write(plan, os.urandom(1000))
        np.save(self.path("wide.npy"), np.zeros((3, 17), np.float32))
        np.savez(self.path("other.npz"), a=self.x, b=self.x)
        for args, word in (([self.path("none.onnx")], "none.onnx"), ([bad], "Frobnicate"), ([arity], "first"), ([attribute], "axis"),
                           ([junk], "junk.onnx"), ([plan], "plan.weft"),
                           ([self.model, "-i", "x=" + self.path("none.npy")], "none.npy"), ([self.model, "-i", "x=" + self.path("wide.npy")], "17"),
                           ([self.model, "--dim", "N=2", "--memory-limit", "10"], "10"), ([self.model, "--dim", "N=2", "--bind", "x=5"], "x")):
            with self.subTest(args=args):
                self.assertIn(word, self.error("run", *args, code=1 if "--bind" not in args else 2))

    def test_outputs_are_checked_before_the_work(self):
        make_model(self.path("broken.onnx"), bad=True)
        for command, suffix in (("compile", "weft"), ("run", "npz"), ("run", "npy"), ("dot", "dot")):
            for path in ("/nope/x." + suffix, self.model + "/x." + suffix, "/proc/x." + suffix):
                with self.subTest(command=command, path=path):
                    text = self.error(command, self.path("broken.onnx"), "-o", path, code=1)
                    self.assertIn(path, text)  # the path as given, not a temporary file's; and before the model is looked at
                    self.assertNotIn(".tmp", text)
        self.error("run", self.path("broken.onnx"), "-o", "x.txt", code=2)
        os.mkdir(self.path("folder.weft"))
        self.assertIn("folder.weft", self.error("compile", self.model, "--dim", "N=2", "-o", self.path("folder.weft"), code=1))
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith(".tmp")], [])

    def test_what_is_expected_is_read_before_the_work(self):
        make_model(self.path("broken.onnx"), bad=True)
        self.assertIn("nope.npz", self.error("run", self.path("broken.onnx"), "--expect", self.path("nope.npz"), code=1))

    def test_devices_are_written_to_and_links_followed(self):
        for device in ("/dev/null", "/dev/stdout"):
            before = os.stat("/dev/null")
            self.weft("dot", self.model, "-o", device)
            self.assertEqual(os.stat("/dev/null").st_rdev, before.st_rdev)
        os.symlink(self.path("target.dot"), self.path("link.dot"))
        write(self.path("target.dot"), b"old")
        self.weft("dot", self.model, "-o", self.path("link.dot"))
        self.assertTrue(os.path.islink(self.path("link.dot")))
        self.assertNotEqual(os.path.getsize(self.path("target.dot")), 3)

    def test_more_memory_than_there_is(self):
        """Told before it is allocated, with what is needed and what there is."""
        for command in ("run", "bench", "verify"):
            text = self.error(command, self.model, "--dim", "N=100000000000", code=1)
            self.assertRegex(text, r"9600000000000 bytes of memory are needed for inputs and outputs, \d+ are available")
            self.error(command, self.model, "--shape", "x=%dx16" % (2**62), code=1)
        self.assertIn("available here", self.weft("compile", self.model, "--dim", "N=10000000000"))

    @unittest.skipIf(SANITIZED, "a sanitizer takes terabytes of address space")
    def test_more_memory_than_the_limit(self):
        done = subprocess.run(["bash", "-c", f'ulimit -v 4000000; exec "{WEFT}" run "{self.model}" --dim N=100000000'], capture_output=True,
                              text=True, timeout=TIMEOUT, env=self.environment())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r" 9600000000 bytes of memory are needed for inputs and outputs, [1-4]\d{9} are available")

    def test_one_warning_for_too_many_threads(self):
        self.assertEqual(self.weft("run", self.model, "--dim", "N=2", "--threads", "1000").count("1000 threads asked for"), 1)

    def test_dimensions_are_spelled_alike(self):
        """What inspect shows is what the error suggests and what --dim takes."""
        model = self.path("p2o.onnx")
        make_model(model, batch="p2o.DynamicDimension.0")
        shown = self.weft("inspect", model).split("symbolic dimensions: ")[1].splitlines()[0]
        self.assertIn(shown, self.error("run", model, "--dim", "foo=1", code=2))
        self.assertNotIn("p2o.DynamicDimension", self.error("run", model, "--dim", "foo=1", code=2))
        self.weft("run", model, "--dim", shown + "=2")
        self.weft("run", model, "--dim", "p2o.DynamicDimension.0=2")

    def test_a_wrong_value_of_a_dimension(self):
        for value in ("abc", "", "-1", "1x2", "2.5", "9" * 30):
            self.assertIn(f"dimension 'N': '{value}' is no whole number", self.error("run", self.model, "--dim", "N=" + value, code=2))

    def test_hostile_names_stay_readable(self):
        long, escape = "n" * 100_000, "a\x1b[31m\nb\x9b\u202e"
        for name in (long, escape):
            with self.subTest(name=name[:20]):
                model = self.path("hostile.onnx")
                make_model(model, rename=name, batch=name)
                outputs = [self.error("run", model, code=2), self.error("run", model, "--dim", "foo=1", code=2), self.weft("inspect", model),
                           self.weft("inspect", model, "--parameters"), self.error("run", model, "-i", name + "=1", code=2)] if name == escape else \
                          [self.error("run", model, code=1), self.error("inspect", model, "--parameters", code=1)]
                outputs.append(self.weft("run", model, "--shape", name + "x=2x16") if name == escape else "")
                make_model(model, rename=name, bad=True)
                outputs.append(self.error("run", model, code=1))
                for text in outputs:
                    self.assertLess(len(text), 6000)
                    self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        make_model(self.path("bytes.onnx"), name="net", rename="QQQ")
        write(self.path("bytes.onnx"), read(self.path("bytes.onnx")).replace(b"QQQ", b"\xff\xfe\x1b"))
        for args in (["inspect"], ["inspect", "--text"], ["run", "--dim", "N=2", "--print"], ["compile", "--dim", "N=2", "--print-after", "all"]):
            text = self.weft(args[0], self.path("bytes.onnx"), *args[1:])
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f]")

    def test_null_says_that_it_computes_nothing(self):
        text = self.weft("run", self.model, "--dim", "N=2", "--backend", "null")
        self.assertIn("computes nothing", text)
        self.assertIn("y f32[2,8]: not computed", text)
        self.assertNotIn("mean", text)
        self.assertIn("computes nothing", self.weft("bench", self.model, "--dim", "N=2", "--backend", "null", "--iterations", "1"))
        self.assertNotIn("computes nothing", self.weft("run", self.model, "--dim", "N=2"))

    def test_a_place_is_named_once(self):
        model = self.path("shapes.onnx")
        make_model(model, features=17)
        text = self.error("run", model, "--dim", "N=2", code=1)
        self.assertEqual(text.count("matmul("), 1, text)
        self.assertEqual(text.count("shapes.onnx"), 1, text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
