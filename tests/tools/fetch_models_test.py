#!/usr/bin/env python3
"""fetch_models.sh with a registry that is slow: it says what it does, and does it once. usage: fetch_models_test.py"""
import os
import re
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/scripts/fetch_models.sh")


class FetchModels(unittest.TestCase):
    def fetch(self, folder, npm):
        """What the script says where `npm` stands in for the real one."""
        tools = os.path.join(folder, "tools")
        os.makedirs(tools, exist_ok=True)
        with open(os.path.join(tools, "npm"), "w") as f:
            f.write("#!/bin/sh\n" + npm)
        os.chmod(f.name, 0o755)
        return subprocess.run([SCRIPT, "--no-made", os.path.join(folder, "models")], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PATH": tools + ":" + os.environ["PATH"], "WEFT_FETCH_NEWS": "0.2"})

    def test_news_of_a_slow_fetch(self):
        with open(SCRIPT) as f:
            files = re.findall(r"^link \S+ (@?\S+\.onnx)$", f.read(), re.M)
        files += [f"jp.keijiro.mlsd/ONNX/mlsd_{size}x{size}_{kind}.onnx" for size in (320, 512) for kind in ("tiny", "large")]
        files += [f"onnxruntime-node/bin/napi-v6/linux/{cpu}/libonnxruntime.so.1" for cpu in ("x64", "arm64")]
        slow = "sleep 1\n" + "".join(f'mkdir -p "$(dirname node_modules/{name})"; touch node_modules/{name}\n' for name in files)
        with tempfile.TemporaryDirectory() as folder:
            first = self.fetch(folder, slow)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertIn("fetching models", first.stdout.splitlines()[0])
            self.assertGreaterEqual(first.stdout.count("still fetching"), 2)
            self.assertTrue(first.stdout.endswith("fetched\n"), first.stdout)
            again = self.fetch(folder, "exit 1")
            self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)

    def test_a_fetch_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.fetch(folder, "echo no network >&2; exit 1")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no network", done.stderr)
            self.assertNotIn("fetched\n", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
