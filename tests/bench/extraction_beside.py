#!/usr/bin/env python3
"""Runs weft's extraction beside extraction-gym's extractors, file by file, and writes a table per family in markdown.

    extraction_beside.py DATA [--gym PROGRAM] [--weft PROGRAM] [--keep RESULTS.json] [--only TEXT] [--files]

DATA is the folder of e-graphs (family/name.json). PROGRAM of --gym is extraction-gym as built in a checkout of
https://github.com/egraphs-good/extraction-gym, which is no part of this tree: install coinor-libcbc-dev, then
`cargo build --release --features ilp-cbc` makes target/release/extraction-gym. Without --gym only weft runs.
Times are those that the programs themselves tell: the extraction alone, without reading the file. Results already in
--keep are not measured again, so a long run can be taken up where it ended.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PEERS = ["faster-greedy-dag", "faster-ilp-cbc-timeout"]  # the latter with its own limit of 10 s
LINE = re.compile(r" cost (?P<cost>\S+) bound (?P<bound>\S+) (?P<state>proven|OPEN) (?P<seconds>\S+) s ")


def run_weft(program, path, fuel):
    out = subprocess.run([program, "--fuel", str(fuel), path], capture_output=True, text=True, check=True).stdout
    found = LINE.search(out)
    if not found:
        sys.exit(f"{program} said something else than expected of {path}: {out!r}")
    return {"cost": float(found["cost"]), "bound": float(found["bound"]), "proven": found["state"] == "proven",
            "seconds": float(found["seconds"])}


def run_gym(program, path, extractor, limit):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, path, f"--extractor={extractor}", f"--out={out.name}"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"cost": None, "seconds": limit, "fault": f"ended after {limit} s"}
        if done.returncode != 0:
            return {"cost": None, "seconds": 0, "fault": done.stderr.decode(errors="replace")[-200:]}
        told = json.load(open(out.name))
        return {"cost": told["dag"], "seconds": told["micros"] / 1e6}


def measure(args):
    keep = pathlib.Path(args.keep) if args.keep else None
    results = json.loads(keep.read_text()) if keep and keep.exists() else {}
    data = pathlib.Path(args.data)
    names = sorted(str(p.relative_to(data))[:-5] for p in data.glob("*/*.json"))
    for name in names:
        if args.only and args.only not in name:
            continue
        row, path = results.setdefault(name, {}), str(data / (name + ".json"))
        if "weft" not in row and not args.no_weft:
            row["weft"] = run_weft(args.weft, path, args.fuel)
        for extractor in PEERS if args.gym else []:
            if extractor not in row:
                row[extractor] = run_gym(args.gym, path, extractor, args.limit)
        print(name, row, file=sys.stderr, flush=True)
        if keep:
            keep.write_text(json.dumps(results, indent=1))
    return {name: row for name, row in results.items() if "weft" in row}


def same(a, b):
    return abs(a - b) <= 1e-6 * max(1, abs(b))


def cell(rows, who):
    """Files solved to the best cost known, how far above it on average, median and longest time."""
    told = [(r, r[who]) for r in rows if who in r]
    if not told:
        return "-"
    best = sum(x["cost"] is not None and same(x["cost"], r["weft"]["cost"]) for r, x in told)
    better = sum(x["cost"] is not None and x["cost"] < r["weft"]["cost"] and not same(x["cost"], r["weft"]["cost"])
                 for r, x in told)
    above = [x["cost"] / r["weft"]["cost"] - 1 for r, x in told if x["cost"] is not None and r["weft"]["cost"] > 0]
    failed = sum(x["cost"] is None for _, x in told)
    seconds = [x["seconds"] for _, x in told]
    text = f"{best}, +{100 * statistics.mean(above):.2f} %" if above else f"{best}"
    text += f", {failed} none" if failed else ""
    text += f", {better} BETTER" if better else ""
    return f"{text} \\| {duration(statistics.median(seconds))}, {duration(max(seconds))}"


def duration(seconds):
    if seconds == 0:
        return "< 1 ms"
    return f"{seconds:.2g} s" if 1 <= seconds < 10 else f"{seconds:.0f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def print_families(results):
    print("| family | files | weft: proven \\| time | " +
          " | ".join(f"{p}: as cheap, dearer by \\| time" for p in PEERS) + " |")
    print("|---|---|---|" + "---|" * len(PEERS))
    families = {}
    for name, row in results.items():
        families.setdefault(name.split("/")[0], []).append(row)
    for family, rows in sorted(families.items()) + [("all", list(results.values()))]:
        seconds = [r["weft"]["seconds"] for r in rows]
        weft = f"{sum(r['weft']['proven'] for r in rows)} \\| {duration(statistics.median(seconds))}, {duration(max(seconds))}"
        print(f"| {family} | {len(rows)} | {weft} | " + " | ".join(cell(rows, p) for p in PEERS) + " |")


def print_files(results, least):
    """The files that take long or stay open, one by one."""
    print("\n| file | weft | bound | time | " + " | ".join(PEERS) + " |\n|---|---|---|---|" + "---|" * len(PEERS))
    for name, row in results.items():
        w = row["weft"]
        if w["proven"] and w["seconds"] < least and not name.startswith("tensat"):
            continue
        peers = [f"{row[p]['cost']:.6g} in {duration(row[p]['seconds'])}" if p in row and row[p]["cost"] is not None
                 else "none" if p in row else "-" for p in PEERS]
        bound = "proven" if w["proven"] else f"{w['bound']:.6f}".rstrip("0").rstrip(".")
        cost = f"{w['cost']:.6f}".rstrip("0").rstrip(".")
        print(f"| {name} | {cost} | {bound} | {duration(w['seconds'])} | " + " | ".join(peers) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--gym")
    parser.add_argument("--weft", default="build/bin/weft_bench_extract")
    parser.add_argument("--no-weft", action="store_true", help="only the peers; for --keep")
    parser.add_argument("--fuel", type=int, default=300_000_000, help="weft's limit, in steps (its default)")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a peer is ended")
    parser.add_argument("--keep", help="file of results, read and written")
    parser.add_argument("--only", help="files whose names hold this text")
    parser.add_argument("--files", type=float, metavar="SECONDS", help="also a row for each file that takes longer")
    args = parser.parse_args()
    results = measure(args)
    if not results:
        return
    print_families(results)
    if args.files is not None:
        print_files(results, args.files)


if __name__ == "__main__":
    main()
