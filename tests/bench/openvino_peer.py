#!/usr/bin/env python3
"""OpenVINO as a peer of the model benches: a process that bench_models --openvino starts and gives its turns.

usage: openvino_peer.py ENVIRONMENT MODEL.onnx THREADS INPUTS.npz

Installs OpenVINO (pinned in openvino_requirements.txt, from PyPI) into the virtual environment ENVIRONMENT where it is not
there yet. Says "ready VERSION" when the model is compiled for the shapes of the inputs (f32 arithmetic, one stream, latency
hint); then answers lines of standard input: "run" with the seconds of one inference, "save FILE.npz" with "saved" when the
outputs of the last one are written.
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "openvino_requirements.txt")


def enter_environment(folder):
    """Runs this script again under the pinned environment, made where it is not there."""
    python = os.path.join(folder, "bin", "python3")
    stamp = os.path.join(folder, "requirements.txt")
    with open(REQUIREMENTS, encoding="utf-8") as file:
        wanted = file.read()
    if not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "-r", REQUIREMENTS], check=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:], "--inside"])


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    environment, path, threads, inputs_file = sys.argv[1:5]
    if len(sys.argv) == 5:
        enter_environment(environment)
    import numpy
    import openvino

    inputs = dict(numpy.load(inputs_file))
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(value.shape) for name, value in inputs.items()})
    settings = {"INFERENCE_NUM_THREADS": int(threads), "NUM_STREAMS": "1", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    request.infer(inputs)
    print("ready", openvino.__version__.split("-")[0], flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "run":
            before = time.perf_counter()
            request.infer()
            print(f"{time.perf_counter() - before:.9f}", flush=True)
        elif word == "save":
            numpy.savez(rest, **{port.get_any_name(): request.get_tensor(port).data for port in compiled.outputs})
            print("saved", flush=True)
        else:
            sys.exit(f"openvino_peer.py: cannot '{word}'")


if __name__ == "__main__":
    main()
