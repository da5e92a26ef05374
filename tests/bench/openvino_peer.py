#!/usr/bin/env python3
"""OpenVINO as a second peer: times the models of the benches in a process of its own and prints a markdown table.

usage: openvino_peer.py [MODEL...] [--threads 1,2] [--seconds 10] [--models build/models] [--reference build/reference]

Installs OpenVINO (pinned in openvino_requirements.txt, from PyPI) into a virtual environment of its own under build/ at the
first run. Inputs and expected outputs are the files that `build/bin/ort_reference all --seeds 1` writes; MODEL is a name
there (default: all but tiny ones). f32 arithmetic, one stream, latency hint; the same warm-up and medians as bench_models.
"""
import argparse
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


def first_cases(folder):
    """Model name -> path without ending of its first case's files, seed 1; the first case was written first."""
    cases = {}
    names = [n for n in os.listdir(folder) if n.endswith(".1.inputs.npz")]
    for name in sorted(names, key=lambda n: os.stat(os.path.join(folder, n)).st_mtime_ns):
        cases.setdefault(name.split(".")[0], os.path.join(folder, name[: -len(".inputs.npz")]))
    return cases


def time_model(core, numpy, path, stem, threads, seconds):
    inputs = dict(numpy.load(stem + ".inputs.npz"))
    model = core.read_model(path)
    model.reshape({name: list(value.shape) for name, value in inputs.items()})
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    request.infer(inputs)
    expected, worst, agrees = numpy.load(stem + ".outputs.npz"), 0.0, True
    for name in expected.files:
        actual = request.get_tensor(name).data
        worst = max(worst, float(numpy.abs(actual - expected[name]).max()))
        agrees = agrees and numpy.allclose(actual, expected[name], rtol=1e-3, atol=1e-5)
    times, start = [], time.perf_counter()
    while len(times) < 20 or (time.perf_counter() - start < seconds and len(times) < 400):
        before = time.perf_counter()
        request.infer()
        times.append(1e3 * (time.perf_counter() - before))
    p10, median, p90 = numpy.percentile(times, [10, 50, 90])
    return f"{median:.2f} ({p10:.2f}-{p90:.2f}, n={len(times)})", f"{'yes' if agrees else 'NO'}, {worst:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--models", dest="folder", default="build/models")
    parser.add_argument("--reference", default="build/reference")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        enter_environment(os.path.join(options.folder, "..", "openvino"))
    import numpy
    import openvino

    cases = first_cases(options.reference)
    names = options.models or [n for n in cases if not n.startswith("tiny_")]
    core = openvino.Core()
    print(f"OpenVINO {openvino.__version__}; {core.get_property('CPU', 'FULL_DEVICE_NAME')}, {os.cpu_count()} cores; "
          f"{time.strftime('%Y-%m-%d', time.gmtime())}; load before: {os.getloadavg()[0]:.2f}\n")
    print("| model | threads | OpenVINO, ms: median (p10-p90) | agrees with ONNX Runtime |\n|---|---|---|---|")
    for name in names:
        if name not in cases:
            print(f"no {name} in {options.reference}: run build/bin/ort_reference {name} --seeds 1", file=sys.stderr)
            return 1
        path = next(p for p in (os.path.join(options.folder, name + ".onnx"), os.path.join(options.folder, "made", name + ".onnx"))
                    if os.path.exists(p))
        for threads in map(int, options.threads.split(",")):
            cell, agreement = time_model(core, numpy, path, cases[name], threads, options.seconds)
            print(f"| {name} | {threads} | {cell} | {agreement} |", flush=True)
    print(f"\nload after: {os.getloadavg()[0]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
