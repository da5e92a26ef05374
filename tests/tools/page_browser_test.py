#!/usr/bin/env python3
"""The page of `weft dot --html` in a headless Chromium: it runs without an error, says what was asked for, and draws.
usage: page_browser_test.py WEFT MODELS_DIR [--keep FOLDER]      (77: no Chromium here)"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

WEFT, MODELS = os.path.abspath(sys.argv[1]), sys.argv[2]
KEEP = sys.argv[4] if sys.argv[3:4] == ["--keep"] else None
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1600,900", "--virtual-time-budget=4000",
         "--enable-logging=stderr", "--log-level=0"]


def browse(folder, page, state, *flags):
    profile = tempfile.mkdtemp(dir=folder)
    done = subprocess.run([CHROMIUM, *FLAGS, "--user-data-dir=" + profile, *flags, "file://" + page + state],
                          capture_output=True, text=True, errors="replace", timeout=180)
    wrong = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not wrong, wrong
    return done.stdout


def pixels(png):
    """The colours of a PNG of 8 bits a channel, without alpha: how often each occurs."""
    with open(png, "rb") as f:
        data = f.read()
    at, packed, (width, height, depth, kind) = 8, b"", (0, 0, 0, 0)
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", data[at + 8:at + 18])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    assert depth == 8 and kind in (2, 6), (depth, kind)
    step, raw, counts, above = (3 if kind == 2 else 4), zlib.decompress(packed), {}, None
    for y in range(height):
        method, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        for i in range(len(line)):  # PNG 9.2
            a = line[i - step] if i >= step else 0
            b = above[i] if above else 0
            c = above[i - step] if above and i >= step else 0
            if method == 4:
                p = a + b - c
                a = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, a)[method]) & 255
        above = line
        if y % 4 == 0:
            for x in range(0, width * step, 4 * step):
                colour = bytes(line[x:x + 3]).hex()
                counts[colour] = counts.get(colour, 0) + 1
    return counts


def check(folder, name, args):
    page = os.path.join(folder, name + ".html")
    subprocess.run([WEFT, "dot", *args, "--html", "-o", page, "--no-cache"], check=True, timeout=300)
    dom = browse(folder, page, "#theme=light", "--dump-dom")
    assert re.search(r"\d+ e-nodes in \d+ classes", dom), dom[-2000:]
    with open(page, encoding="utf-8") as f:
        node = int(re.findall(r'"chosen":true.*?"id":(\d+)', f.read())[-1])
    dom = browse(folder, page, f"#node={node}&theme=dark&iteration=1", "--dump-dom")
    assert 'data-theme="dark"' in dom and "made by" in dom, dom[-2000:]
    shots = {"light": "#theme=light", "dark": f"#theme=dark&node={node}", "whole": "#theme=light&fit=1", "first": "#theme=light&iteration=0", "search": "#theme=light&search=relu"}
    for shot, state in shots.items():
        png = os.path.join(KEEP or folder, f"{name}_{shot}.png")
        browse(folder, page, state, "--screenshot=" + png)
        colours = pixels(png)
        assert len(colours) > 8, (png, colours)  # something is drawn: boxes, text, lines
    print(name, "ok")


def main():
    if not CHROMIUM:
        print("no chromium: tools/scripts/install_debian.sh --nightly")
        return 77
    with tempfile.TemporaryDirectory(prefix="weft-page-") as folder:
        check(folder, "blazeface", [os.path.join(MODELS, "blazeface_front.onnx"), "--of", "egraph", "--max-nodes", "2000"])
        check(folder, "det", [os.path.join(MODELS, "pp_ocr_det.onnx"), "--shape", "x=1x3x160x160", "--of", "egraph", "--max-nodes", "2000"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
