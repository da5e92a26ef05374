#!/usr/bin/env python3
"""The plan cache between processes. usage: cli_cache_test.py WEFT [TEST...]"""
import json
import math
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cli_case import TIMEOUT, WEFT, CliCase, make_model, own_words, read, write


class Cache(CliCase):
    def entries(self):
        return sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []

    def test_second_process_hits_the_disk(self):
        bench = ["bench", self.model, "--dim", "N=2", "--iterations", "1", "--warmup", "0", "--format", "json"]
        outcomes = [json.loads(self.weft(*bench))["results"][0]["cache"] for _ in range(2)]
        self.assertEqual(outcomes, ["miss", "disk hit"])
        make_model(self.path("other.onnx"), seed=3, rename="z")  # other weights and names, equal structure
        bench[1] = self.path("other.onnx")
        bench[3] = "N=2"
        self.assertEqual(json.loads(self.weft(*bench))["results"][0]["cache"], "disk hit")

    def test_cache_commands(self):
        self.run_model()
        self.assertIn("1 plans", self.weft("cache", "ls"))
        write(os.path.join(self.cache, "f" * 32 + ".plan"), b"junk")
        self.assertIn("not a", self.weft("cache", "ls"))
        self.weft("cache", "gc")
        self.assertIn("1 plans", self.weft("cache", "ls"))
        self.weft("cache", "gc", "--bytes", "0")
        self.assertIn("0 plans", self.weft("cache", "ls"))
        self.run_model()
        self.weft("cache", "clear")
        self.assertEqual(self.entries(), [])

    def test_what_cannot_be_removed_is_told(self):
        self.run_model()
        (entry,) = self.entries()
        weft = shutil.copy(WEFT, self.dir)
        os.chmod(self.dir, 0o755)
        os.chmod(self.cache, 0o555)
        user = {"user": 65534} if os.geteuid() == 0 else {}  # root may write everywhere
        for args in (["clear"], ["gc", "--bytes", "0"]):
            with self.subTest(args=args):
                done = subprocess.run([weft, "cache", *args], env=self.environment(), capture_output=True, text=True, timeout=TIMEOUT, cwd=self.dir, **user)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("cannot remove", done.stderr)
                self.assertIn(entry, done.stderr)
        os.chmod(self.cache, 0o755)
        self.assertEqual(self.entries(), [entry])
        self.assertIn("m.onnx", self.weft("cache", "check", "--cache-dir", self.model, code=1))  # no directory

    def test_damaged_entries(self):
        """K03"""
        self.assert_right(self.run_model()[0])
        (entry,) = self.entries()
        file = os.path.join(self.cache, entry)
        good = read(file)
        rng = random.Random(1)
        for bad in (b"", good[:1], good[:len(good) // 2], good[:-1], bytes(rng.randrange(256) for _ in range(4096)),
                    *(good[:at] + bytes([good[at] ^ 255]) + good[at + 1:] for at in rng.sample(range(len(good)), 8))):
            write(file, bad)
            y, text = self.run_model()
            self.assert_right(y)
            self.assertLessEqual(text.count("warning"), 1)
            self.assertEqual(len(read(file)), len(good))
        os.remove(file)
        os.mkdir(file)
        self.assert_right(self.run_model()[0])
        self.assertTrue(os.path.isfile(file))

    def run_with_cache(self, directory, *prefix, **kwargs):
        """Runs the model with the cache there, in a process made by `prefix`; what it says. The result must be right."""
        out = self.path("o.npz")
        if os.path.exists(out):
            os.remove(out)
        done = subprocess.run([*prefix, WEFT, "run", self.model, "-i", "x=" + self.path("x.npy"), "-o", out], capture_output=True, text=True,
                              timeout=TIMEOUT, env=self.environment(WEFT_CACHE_DIR=directory), **kwargs)
        done.stderr = own_words(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_right(np.load(out)["y"])
        self.assertLessEqual(done.stderr.count("warning"), 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), done.stderr.count("warning"), done.stderr)
        return done.stderr

    def test_cache_that_cannot_be_written(self):
        """K03"""
        for directory in ("/proc/weft", self.model):
            self.assertIn("not stored", self.run_with_cache(directory))

    def test_entry_that_may_not_be_read(self):
        """K03: chmod 000, and a folder that may only be read, as a user whom permissions bind (they do not bind root)."""
        os.chmod(self.dir, 0o777)
        user = []
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest("no setpriv to become another user with")
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            if subprocess.run([*user, WEFT, "--version"], capture_output=True).returncode != 0:
                self.skipTest("another user may not run " + WEFT)
        self.assertEqual(self.run_with_cache(self.cache, *user), "")
        (entry,) = self.entries()
        file = os.path.join(self.cache, entry)
        good = read(file)
        os.chmod(file, 0)
        self.assertIn("cannot be used", self.run_with_cache(self.cache, *user))
        self.assertEqual(read(file), good)  # replaced, and readable again
        self.assertEqual(self.run_with_cache(self.cache, *user), "")
        os.chmod(self.cache, 0o555)
        self.assertEqual(self.run_with_cache(self.cache, *user), "")  # read-only, but there
        os.chmod(self.cache, 0o777)
        os.remove(file)
        os.chmod(self.cache, 0o555)
        self.assertIn("not stored", self.run_with_cache(self.cache, *user))
        os.chmod(self.cache, 0o777)
        self.assertEqual(self.run_with_cache(self.cache, *user), "")
        self.assertEqual(self.entries(), [entry])

    def test_full_and_read_only_disks(self):
        """K03: a file system of one page, and one mounted read-only; without the right to mount, a limit on the size of files."""
        os.makedirs(self.cache)
        full = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k none "$WEFT_CACHE_DIR" && echo x > "$WEFT_CACHE_DIR/x" && exec "$@"', "sh"]
        if subprocess.run([*full, "true"], capture_output=True, env=self.environment()).returncode == 0:
            self.assertIn("not stored", self.run_with_cache(self.cache, *full))
            read_only = ["unshare", "-m", "sh", "-c", 'mount --bind "$WEFT_CACHE_DIR" "$WEFT_CACHE_DIR" && '
                         'mount -o remount,ro,bind "$WEFT_CACHE_DIR" && exec "$@"', "sh"]
            self.assertIn("not stored", self.run_with_cache(self.cache, *read_only))
            self.assertEqual(self.run_with_cache(self.cache), "")
            self.assertEqual(self.run_with_cache(self.cache, *read_only), "")  # a hit
            shutil.rmtree(self.cache)
        # one block of 512 bytes: the outputs fit, the plan does not
        self.assertIn("not stored", self.run_with_cache(self.cache, "sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "sh"))
        self.assertEqual(self.entries(), [])
        self.assertEqual(self.run_with_cache(self.cache), "")
        self.assertEqual(len(self.entries()), 1)

    def test_attributes_are_in_the_key(self):
        """K02: one cache, models that differ in one attribute alone, twice; each equals what it computes without a cache."""
        x3, x2 = np.arange(8, dtype=np.float32).reshape(2, 2, 2), np.array([[0.25, -1.5], [3, 0.75]], np.float32)
        perms = {(0, 2, 1): [[[0, 2], [1, 3]], [[4, 6], [5, 7]]], (1, 0, 2): [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]}
        cases = [(x3, dict(op="Transpose", perm=list(perm)), np.array(want, np.float32)) for perm, want in perms.items()]
        square = np.array([[1, 2], [3, 4]], np.float32)
        for trans in (0, 1):
            for alpha in (1.0, 2.0):
                cases.append((x2, dict(op="Gemm", extra=[square], transB=trans, alpha=alpha), alpha * (x2 @ (square.T if trans else square))))
        for axis in (0, 1):
            e = np.exp(x2 - x2.max(axis=axis, keepdims=True))
            cases.append((x2, dict(op="Softmax", axis=axis), e / e.sum(axis=axis, keepdims=True)))
        for high in (1, 2):
            cases.append((x2, dict(op="Clip", extra=[np.float32(-1), np.float32(high)]), np.clip(x2, -1, high)))
        for eps in (1e-5, 1e-2):
            centred = x2 - x2.mean(axis=1, keepdims=True)
            want = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps)
            cases.append((x2, dict(op="LayerNormalization", extra=[np.ones(2, np.float32)], epsilon=eps, opset=17), want))
        for approximate in ("none", "tanh"):
            inner = np.vectorize(math.erf)(x2 / np.sqrt(2)) if approximate == "none" else np.tanh(np.sqrt(2 / np.pi) * (x2 + 0.044715 * x2**3))
            cases.append((x2, dict(op="Gelu", approximate=approximate, opset=20), (0.5 * x2 * (1 + inner)).astype(np.float32)))
        cases.append((x2, dict(op="Cast", to=TensorProto.INT8), x2.astype(np.int8)))
        cases.append((np.abs(x2), dict(op="Cast", to=TensorProto.UINT8), np.abs(x2).astype(np.uint8)))
        # the same buffer, read along its rows or along its columns
        for x in (np.asfortranarray(x2), x2.T):
            e = np.exp(x - x.max(axis=0))
            cases.append((x, dict(op="Softmax", axis=0), e / e.sum(axis=0)))
            cases.append((x, dict(op="ReduceSum", extra=[np.array([0])], keepdims=0), x.sum(axis=0)))
        # the same name in other domains: ONNX's own, and two of functions with bodies of their own
        cases.append((x2, dict(op="Neg"), -x2))
        cases.append((x2, dict(op="Neg", domain="first", body="Abs"), np.abs(x2)))
        cases.append((x2, dict(op="Neg", domain="second", body="Floor"), np.floor(x2)))
        models = []
        for i, (x, how, want) in enumerate(cases):
            extra, opset, body = how.pop("extra", []), how.pop("opset", 13), how.pop("body", None)
            functions, opsets = [], [helper.make_opsetid("", opset)]
            if body:
                functions = [helper.make_function(how["domain"], how["op"], ["p"], ["q"], [helper.make_node(body, ["p"], ["q"])], opsets)]
                opsets = [*opsets, helper.make_opsetid(how["domain"], 1)]
            names = ["e%d" % k for k in range(len(extra))]
            node = helper.make_node(how.pop("op"), ["x", *names], ["y"], **how)
            graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                      [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(np.asarray(t), n) for n, t in zip(names, extra)])
            graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(want.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") \
                else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[want.dtype]
            onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions), self.path("a%d.onnx" % i))
            np.save(self.path("a%d.npy" % i), x)
            models.append((self.path("a%d" % i), want))
        for options in ([], [], ["--no-cache"], ["--precision", "fast"], ["-O", "0"]):
            for path, want in models:
                with self.subTest(path=path, options=options):
                    out = self.path("o.npz")
                    self.weft("run", path + ".onnx", "-i", "x=" + path + ".npy", "-o", out, *options)
                    np.testing.assert_allclose(np.load(out)["y"], want, rtol=1e-5, atol=1e-6)

    def test_many_processes(self):
        """K04: 16 processes, one empty directory, 20 rounds; in every fourth one of them is killed while it writes."""
        for round_ in range(20):
            shutil.rmtree(self.cache, ignore_errors=True)
            out = [self.path("o%d.npz" % i) for i in range(16)]
            running = [subprocess.Popen([WEFT, "run", self.model, "-i", "x=" + self.path("x.npy"), "-o", o], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=self.environment()) for o in out]
            killed = 0
            if round_ % 4 == 3:
                deadline = time.time() + 10 * TIMEOUT / 120
                while not self.entries() and time.time() < deadline:
                    time.sleep(0.001)
                running[0].send_signal(signal.SIGKILL)
                killed = 1
            for process, o in list(zip(running, out))[killed:]:
                _, err = process.communicate(timeout=TIMEOUT)
                self.assertEqual((process.returncode, own_words(err.decode())), (0, ""))
                self.assert_right(np.load(o)["y"])
            if killed:
                running[0].communicate()
            self.assertIn("1 plans", self.weft("cache", "ls"))
            self.weft("cache", "gc")
            self.assertEqual([e for e in self.entries() if not e.endswith(".plan")], [])
            self.assertEqual(len(self.entries()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
