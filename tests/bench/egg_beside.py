#!/usr/bin/env python3
"""Runs the e-graph workloads in weft and in egg by turns and writes a table in markdown.

    egg_beside.py [WORKLOAD:N ...] [--pairs P] [--weft PROGRAM] [--peer PROGRAM] [--keep RESULTS.json]

Without --peer it builds tests/bench/egg_peer with cargo into build/egg_peer; crates come from crates.io, at the versions
in its Cargo.lock. egg 0.11's dependencies need Rust 1.85 or later. Debian 12's package `rustc` is 1.63, but its security
archive has a current compiler beside it:

    apt-get install --no-install-recommends cargo-web      # rustc 1.96; where rustup is installed already, that serves

Wall times are medians of what the programs tell, weft and egg by turns, weft on one thread as egg is (and on all, in a
column of its own). Instructions are those of the whole process under valgrind's callgrind, where it is installed and
egg takes less than --longest seconds. Nodes and classes must agree; math's may differ by a few, since egg asks
conditions while it applies and weft while it searches. With --keep the rows of earlier runs stay in the table.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ["micro:9", "micro:10", "micro:11", "ac:8", "ac:9", "ac:10", "mm:20", "mm:40", "math:6", "math:7"]
LINE = re.compile(r": (\d+) nodes, (\d+) classes, (\d+) iterations, (\S+) s \(search (\S+), apply (\S+), rebuild (\S+)\)")
LOOSE = 0.001  # how far math's sizes may differ


def build_peer():
    if not shutil.which("cargo"):
        sys.exit("egg_beside.py: cargo is missing: apt-get install --no-install-recommends cargo-web")
    crate, target = ROOT / "tests/bench/egg_peer", ROOT / "build/egg_peer"
    subprocess.run(["cargo", "build", "--release", "--locked", "--manifest-path", crate / "Cargo.toml", "--target-dir",
                    target], check=True)
    return str(target / "release/egg_peer")


def run(command):
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = LINE.search(out.splitlines()[-1])
    if not found:
        sys.exit(f"{command} ended with {out.splitlines()[-1]!r}")
    nodes, classes, iterations, *seconds = found.groups()
    keys = ["seconds", "search", "apply", "rebuild"]
    return dict(zip(keys, map(float, seconds)), nodes=int(nodes), classes=int(classes), iterations=int(iterations))


def instructions(command):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *command],
                              capture_output=True, text=True, check=True)
    return int(re.search(r"refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def check_sizes(name, weft, peer):
    for key in ("nodes", "classes"):
        allowed = LOOSE * peer[key] if name == "math" else 0
        if abs(weft[key] - peer[key]) > allowed:
            sys.exit(f"{name}: weft has {weft[key]} {key}, egg {peer[key]}")


def measure(workload, args):
    name, n = workload.split(":")
    one, many, peer = [args.weft, name, n, "--threads", "1"], [args.weft, name, n], [args.peer, name, n]
    told = {"one": [], "many": [], "peer": []}
    for _ in range(args.pairs):
        told["one"].append(run(one))
        told["peer"].append(run(peer))
        told["many"].append(run(many))
    check_sizes(name, told["one"][0], told["peer"][0])
    row = {"nodes": told["one"][0]["nodes"], "classes": told["one"][0]["classes"], "pairs": args.pairs}
    for who, runs in told.items():
        for key in ("seconds", "search", "apply", "rebuild"):
            row[f"{who} {key}"] = statistics.median(r[key] for r in runs)
    if shutil.which("valgrind") and row["peer seconds"] < args.longest:
        row["one instructions"], row["peer instructions"] = instructions(one), instructions(peer)
    return row


def duration(seconds):
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def millions(row, who):
    return f"{row[who] / 1e6:,.1f} M" if who in row else "-"


def print_table(results):
    print("| workload | e-nodes / classes | weft, 1 thread | weft, all | egg | egg / weft, 1 thread | "
          "instructions: weft | egg | egg / weft |\n|---|---|---|---|---|---|---|---|---|")
    for workload, row in results.items():
        times = " | ".join(f"{duration(row[f'{who} seconds'])}" for who in ("one", "many", "peer"))
        ratio = row["peer instructions"] / row["one instructions"] if "one instructions" in row else None
        print(f"| {workload.replace(':', ' ')} | {row['nodes']:,} / {row['classes']:,} | {times} | "
              f"{row['peer seconds'] / row['one seconds']:.1f} | {millions(row, 'one instructions')} | "
              f"{millions(row, 'peer instructions')} | {f'{ratio:.1f}' if ratio else '-'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--weft", default=str(ROOT / "build/bin/weft_bench_egraph"))
    parser.add_argument("--peer", help="egg_peer, where it is built already")
    parser.add_argument("--longest", type=float, default=3, help="seconds of egg up to which instructions are counted")
    parser.add_argument("--keep", help="file of results, read and written")
    args = parser.parse_args()
    args.peer = args.peer or build_peer()
    keep = pathlib.Path(args.keep) if args.keep else None
    results = json.loads(keep.read_text()) if keep and keep.exists() else {}
    for workload in args.workloads:
        results[workload] = measure(workload, args)
        if keep:
            keep.write_text(json.dumps(results, indent=1))
    print_table(results)


if __name__ == "__main__":
    main()
