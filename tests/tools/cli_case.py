"""What the tests of the program weft share: a model, a folder of their own, and calls of the program. Every test program is called with
the path of weft as its first argument."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEFT = os.path.abspath(sys.argv.pop(1))
TIMEOUT = 120 * int(os.environ.get("WEFT_TEST_PATIENCE", "1"))  # seconds, of one call
SANITIZED = bool(os.environ.get("WEFT_SANITIZED"))  # then terabytes of address space are taken at once: ulimit -v cannot be tried


def own_words(text):
    """Of what the program wrote to its standard error, what it said itself: not what a sanitizer's symbolizer says when it meets the
    code of a kernel that was compiled in memory."""
    return re.sub(r"(?m)^LLVMSymbolizer: .*\n", "", text) if SANITIZED else text


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def make_model(path, seed=0, name="net", rename="", batch="N", bad=False, features=16, mend=None):
    """y = relu(x @ w + b), then y @ v: 16 features, symbolic batch. `mend` changes the graph at the end."""
    rng = np.random.default_rng(seed)
    w, b, v = (rng.standard_normal(s).astype(np.float32) for s in ((16, 64), (64,), (64, 8)))
    n = lambda s: rename + s
    nodes = [helper.make_node("MatMul", [n("x"), n("w")], [n("m")], name=n("first")),
             helper.make_node("Add", [n("m"), n("b")], [n("a")], name=n("bias")),
             helper.make_node("Relu" if not bad else "Frobnicate", [n("a")], [n("r")], name=n("act")),
             helper.make_node("MatMul", [n("r"), n("v")], [n("y")], name=n("second"))]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(n("x"), TensorProto.FLOAT, [batch, features])],
                              [helper.make_tensor_value_info(n("y"), TensorProto.FLOAT, [batch, 8])],
                              [numpy_helper.from_array(t, n(k)) for t, k in ((w, "w"), (b, "b"), (v, "v"))])
    if mend:
        mend(graph)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return lambda x: np.maximum(x @ w + b, 0) @ v


class CliCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="weft-cli-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.cache = self.path("cache")
        self.model = self.path("m.onnx")
        self.reference = make_model(self.model)
        self.x = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
        np.save(self.path("x.npy"), self.x)

    def path(self, name):
        return os.path.join(self.dir, name)

    def environment(self, **more):
        return {**os.environ, "WEFT_CACHE_DIR": self.cache, **more}

    def weft(self, *args, code=0, env=None, **kwargs):
        done = subprocess.run([WEFT, *args], capture_output=True, text=True, timeout=TIMEOUT, env=env or self.environment(), **kwargs)
        done.stderr = own_words(done.stderr)
        self.assertEqual(done.returncode, code, f"weft {' '.join(args)}\n{done.stdout}{done.stderr}")
        self.assertGreaterEqual(done.returncode, 0)
        if code and done.stderr:
            self.assertIn("weft: ", done.stderr)
        return done.stdout + done.stderr

    def run_model(self, *args, model=None, **kwargs):
        out = self.path("out-%d.npz" % random.getrandbits(40))
        text = self.weft("run", model or self.model, "-i", "x=" + self.path("x.npy"), "-o", out, *args, **kwargs)
        return np.load(out)["y"], text

    def assert_right(self, y):
        np.testing.assert_allclose(y, self.reference(self.x), rtol=1e-4, atol=1e-4)
