#!/usr/bin/env python3
"""The program weft as a user meets it: real processes, real files. usage: cli_test.py WEFT [TEST...]"""
import json
import os
import shutil
import subprocess
import time
import unittest

import numpy as np
from onnx import numpy_helper

from cli_case import SANITIZED, TIMEOUT, WEFT, CliCase, make_model, read, write


class Cli(CliCase):
    # --- running

    def test_run_and_expect(self):
        y, text = self.run_model("--no-cache")
        self.assert_right(y)
        self.assertIn("y f32[3,8]", text)
        np.savez(self.path("want.npz"), y=self.reference(self.x))
        np.savez(self.path("wrong.npz"), y=self.reference(self.x) + 1)
        self.assertIn("as expected", self.run_model("--expect", self.path("want.npz"), "--rtol", "1e-3", "--atol", "1e-3")[1])
        self.assertIn("WRONG", self.run_model("--expect", self.path("wrong.npz"), code=1)[1])

    def test_pb_inputs(self):
        with open(self.path("input_0.pb"), "wb") as f:
            f.write(numpy_helper.from_array(self.x, "x").SerializeToString())
        out = self.path("o.npz")
        self.weft("run", self.model, "-i", self.path("input_0.pb"), "-o", out)
        self.assert_right(np.load(out)["y"])

    def test_bound_inputs_and_compile_threads(self):
        out = self.path("o.npz")
        self.weft("run", self.model, "--bind", "x=@" + self.path("x.npy"), "--compile-threads", "2", "-o", out)
        self.assert_right(np.load(out)["y"])
        self.weft("run", self.model, "--bind", "x=5", code=2)
        self.weft("run", self.model, "--bind", "nonsense=5", "--dim", "N=2", code=2)

    def test_random_inputs_are_seeded(self):
        one, two, other = (self.weft("run", self.model, "--dim", "N=2", "--seed", s, "--print") for s in ("5", "5", "6"))
        self.assertEqual(one, two)
        self.assertNotEqual(one, other)

    def test_every_level_and_precision(self):
        for level in "0123":
            for precision in ("strict", "default", "fast"):
                with self.subTest(level=level, precision=precision):
                    for cache in (["--no-cache"], [], []):
                        self.assert_right(self.run_model("-O", level, "--precision", precision, *cache)[0])

    def test_verify(self):
        self.assertIn("ok", self.weft("verify", self.model, "--dim", "N=2"))
        text = self.weft("verify", self.model, "--dim", "N=2", "--backend", "null", code=1)
        self.assertIn("WRONG y", text)

    def test_plan_file(self):
        for embed in ([], ["--embed-weights"]):
            plan = self.path("m%d.weft" % len(embed))
            self.assertIn("steps", self.weft("compile", self.model, "--dim", "N=3", "-o", plan, *embed))
            self.assert_right(self.run_model(model=plan)[0])
            self.assertIn("made by weft", self.weft("inspect", plan, "--parameters"))
            good = read(plan)
            write(plan, good + b"x")
            self.assertIn(f"{len(good) + 1} bytes where {len(good)} were written", self.weft("run", plan, code=1))
            write(plan, good)
        os.rename(self.model, self.path("gone.onnx"))
        self.assert_right(self.run_model(model=self.path("m1.weft"))[0])  # embedded
        make_model(self.model, seed=5)  # other weights than the plan was made with
        self.weft("run", self.path("m0.weft"), code=1 if os.path.getsize(self.path("m0.weft")) < os.path.getsize(self.path("m1.weft")) else 0)

    def test_compile_shows_what_it_did(self):
        self.assertIn("schedule", self.weft("compile", self.model, "--dim", "N=3", "--stats"))
        text = self.weft("compile", self.model, "--dim", "N=3", "--print-after", "all", "--dump-dir", self.path("dump"))
        self.assertIn("graph", text)
        self.assertTrue(os.listdir(self.path("dump")))
        self.weft("compile", self.model, "--dim", "N=3", "--stop-after", "schedule")

    def test_inspect(self):
        text = self.weft("inspect", self.model)
        for word in ("input x f32[N,16]", "output y f32[N,8]", "symbolic dimensions: N", "parameters: 3 tensors, 1600 elements, 6400 bytes", "matmul"):
            self.assertIn(word, text)
        self.assertIn("peak memory", self.weft("inspect", self.model, "--plan", "--dim", "N=3"))
        self.assertIn("graph", self.weft("inspect", self.model, "--text"))

    def test_ops_and_rules(self):
        self.assertIn("matmul", self.weft("ops"))
        self.assertIn("matmul(", self.weft("ops", "matmul"))
        self.assertIn("MatMul", self.weft("ops", "--onnx"))
        self.weft("ops", "nonsense", code=2)
        self.assertIn("rules", self.weft("rules", "list"))
        self.weft("rules", "list", "nonsense", code=2)

    def hostile(self):
        hostile = self.path("hostile.onnx")
        make_model(hostile, rename='a"];x[label="y<b>&amp;</TD>\\ \n\x01\u2028</script>{{data}}\U0001f999' + "n" * 1000)
        return hostile

    def test_dot(self):
        for args in (["--of", "graph"], ["--of", "plan"], ["--of", "egraph", "--costs", "--facts"], ["--of", "egraph", "--only-extracted"], ["--parameters"], ["--max-nodes", "3"],
                     ["--of", "egraph", "--max-nodes", "3"], ["--of", "egraph", "--depth", "1"]):
            for model in (self.model, self.hostile()):
                text = self.weft("dot", model, "--dim", "N=2", "--no-cache", *args)
                self.assertTrue(text.startswith("digraph"))
                if shutil.which("dot"):
                    done = subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True, timeout=60)
                    self.assertEqual(done.stderr, "")
                    self.assertIn("</svg>", done.stdout)
        self.assertIn("more", self.weft("dot", self.model, "--max-nodes", "3"))
        nodes = [line for line in self.weft("dot", self.hostile()).splitlines() if line.lstrip()[:1].isdigit() and "->" not in line]
        self.assertEqual(len(nodes), 1 + 4 + 1)  # input, ops, output
        whole, below = (self.weft("dot", self.model, "--dim", "N=2", "--of", "egraph", *more) for more in ([], ["--root", "m"]))
        self.assertLess(0, below.count("PORT=\"n"))
        self.assertLess(below.count("PORT=\"n"), whole.count("PORT=\"n"))
        self.assertIn("did you mean", self.weft("dot", self.model, "--dim", "N=2", "--of", "egraph", "--root", "mm", code=2))
        self.assertIn("class 99999", self.weft("dot", self.model, "--dim", "N=2", "--of", "egraph", "--class", "99999", code=2))

    def test_page(self):
        for of in ("graph", "plan", "egraph"):
            for model in (self.model, self.hostile()):
                page = self.path("page.html")
                self.weft("dot", model, "--dim", "N=2", "--of", of, "--html", "-o", page, "--no-cache")
                text = read(page).decode()
                self.assertEqual((text.count("<script"), text.count("</script>"), text.count("http")), (2, 2, 0))
                data = json.loads(text.split('id="data">')[1].split("</script>")[0])
                self.assertEqual(data["kind"], of)
                self.assertGreater(len(data["classes"]), 2)

    # --- explain

    def test_explain(self):
        explain = ["explain", self.model, "--dim", "N=2"]
        text = self.weft(*explain, "--node", "y")
        for word in ("y = matmul(", "f32[2,8]", "runs as step", "not taken", "the plan would take"):
            self.assertIn(word, text)
        told = json.loads(self.weft(*explain, "--node", "r", "--json"))
        self.assertEqual(told["values"][0]["name"], "r")
        self.assertTrue(any(v["runs"] for v in told["values"]))
        for value in told["values"]:
            for kernel in value["rejected"]:
                self.assertTrue(kernel["more_ns"] is None or not told["proven"] or kernel["more_ns"] >= 0)
        self.assertEqual(self.weft(*explain, "--node", "r"), self.weft(*explain, "--node", "r"))
        self.assertIn("runs as step 0", self.weft(*explain, "--node", "step:0"))
        self.assertIn("no step 99", self.weft(*explain, "--node", "step:99", code=2))
        self.assertIn("no node 'nonsense'", self.weft(*explain, "--node", "nonsense", code=2))
        self.assertIn("symbolic", self.weft("explain", self.model, "--node", "y", code=2))
        self.assertIn("level 0", self.weft(*explain, "--node", "y", "-O0", code=1))

    def test_explain_diff(self):
        plans = [self.path("o%d.weft" % level) for level in (0, 2)]
        for level, plan in zip("02", plans):
            self.weft("compile", self.model, "--dim", "N=64", "-O", level, "-o", plan)
        text = self.weft("explain", "--diff", *plans)
        self.assertIn("together", text)
        self.assertIn("steps are equal", text)
        self.assertEqual(text, self.weft("explain", "--diff", *plans))
        told = json.loads(self.weft("explain", "--diff", *plans, "--json"))
        self.assertEqual(told["change_ns"], told["price_change_ns"] + sum(g["change_ns"] * g["count"] for g in told["groups"]))
        same = json.loads(self.weft("explain", "--diff", plans[0], plans[0], "--json"))
        self.assertEqual((same["groups"], same["change_ns"]), ([], 0))
        self.assertEqual(json.loads(self.weft("explain", "--diff", plans[1], self.model, "--dim", "N=64", "--json"))["change_ns"], 0)

    def test_a_plan_is_explained_by_its_model(self):
        """With the shapes and options that the plan was made with."""
        plan = self.path("m.weft")
        self.weft("compile", self.model, "--dim", "N=3", "-O", "1", "-o", plan)
        for command in (["explain", "--node", "y"], ["dot"], ["dot", "--of", "egraph"]):
            self.assertEqual(self.weft(command[0], plan, *command[1:]),
                             self.weft(command[0], self.model, *command[1:], "--dim", "N=3", "-O", "1"))
        make_model(self.model, seed=7)
        self.assertIn("has changed since", self.weft("explain", plan, "--node", "y"))
        os.remove(self.model)
        self.assertIn("is not there", self.weft("explain", plan, "--node", "y", code=1))
        self.weft("dot", plan, "--of", "plan", code=1)  # its weights are gone with the model

    # --- bench

    def test_bench_formats(self):
        args = ["bench", self.model, "--dim", "N=2", "--iterations", "5", "--warmup", "0"]
        self.assertIn("| threads |", self.weft(*args))
        rows = json.loads(self.weft(*args, "--format", "json", "--threads", "1,2"))
        self.assertEqual([r["threads"] for r in rows["results"]], [1, 2])
        for key in ("load_ms", "first_run_ms", "min_ms", "p50_ms", "p99_ms", "runs"):
            self.assertIn(key, rows["results"][0])
        for key in ("cpu", "build", "weft", "backends"):
            self.assertIn(key, rows)
        lines = self.weft(*args, "--format", "csv", "--percentile", "10,50").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("p10_ms", lines[0])

    def test_threads_follow_affinity(self):
        """M04"""
        if not shutil.which("taskset"):
            self.skipTest("no taskset")
        text = subprocess.run(["taskset", "-c", "0", WEFT, "version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(" 1 threads usable", text)
        process = subprocess.Popen(["taskset", "-c", "0", WEFT, "bench", self.model, "--dim", "N=64", "--duration", "1", "--no-cache"],
                                   stdout=subprocess.DEVNULL, env=self.environment())
        most = 0
        while process.poll() is None:
            try:
                most = max(most, len(os.listdir(f"/proc/{process.pid}/task")))
            except FileNotFoundError:
                break
            time.sleep(0.05)
        self.assertEqual(process.wait(), 0)
        self.assertLessEqual(most, 1)

    def test_odd_thread_counts(self):
        """M04"""
        for threads in ("0", "1", "3", "1000"):
            self.assert_right(self.run_model("--threads", threads, "--no-cache")[0])

    @unittest.skipIf(SANITIZED, "a sanitizer takes terabytes of address space")
    def test_threads_that_cannot_start(self):
        """M04: no address space for stacks. Fewer threads or a clean error, never a signal."""
        for limit in range(200000, 400001, 20000):  # KiB; where it just does not suffice differs from system to system
            for threads in (3, 8, 64):
                with self.subTest(limit=limit, threads=threads):
                    call = f'ulimit -v {limit}; exec "{WEFT}" run "{self.model}" --dim N=2 --threads {threads} --no-cache'
                    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, timeout=TIMEOUT)
                    self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_library_paths(self):
        """Runs from another directory, through a symbolic link."""
        link = self.path("link")
        os.symlink(self.dir, link)
        self.weft("run", "link/m.onnx", "--dim", "N=2", cwd=self.dir)


if __name__ == "__main__":
    unittest.main(verbosity=1)
