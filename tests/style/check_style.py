#!/usr/bin/env python3
"""Checks the rules of the tree that no compiler checks. A rule without a check does not exist.

usage: check_style.py [--root DIR] [RULE...]     rules: includes sizes names readmes format (default: all)

  includes  who may include whom, which outside library stands where, private headers, no "../"
  sizes     a file has at most 800 lines; one of more than 500 explains itself in its first line
  names     snake_case files; no folder called common, utils, helpers, src, misc or lib
  readmes   every folder of FOLDERS_WITH_README has a README.md with the five headings
  format    clang-format 14 would change nothing

Exit status: 0 all kept, 1 a rule is broken, 77 nothing could be checked (clang-format 14 is missing and was all there was to do).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
SOURCE = (".cpp", ".hpp", ".inc", ".h")

# Who may include whom. A file belongs to the longest prefix that fits; it may include files under the prefixes named.
# The order of folders is the order of data: nothing on the left knows anything on the right.
MAY_INCLUDE = {
    "ir": ["ir"],
    "ir/import": ["ir"],
    "egraph": ["ir", "egraph"],
    "passes": ["ir", "egraph", "passes"],
    "backends": ["ir", "backends"],
    "runtime": ["ir", "passes", "backends", "runtime"],
    "tests": ["ir", "egraph", "passes", "backends", "runtime", "tools", "tests"],
    "tools": ["ir", "egraph", "passes", "backends", "runtime", "tools"],
}
# The core carries no protobuf and no file format: importers are separate targets, and only these name them.
IMPORTERS = "ir/import"
MAY_INCLUDE_IMPORTERS = ["ir/import", "runtime", "tools", "tests"]

# Headers directly in a folder are its public face; one level down they are private to that folder.
PUBLIC_ONE_LEVEL_DOWN = ["ir/support", "ir/import"]

# Outside libraries that only some folders may see (pattern of the included name, prefixes).
OUTSIDE = [
    (r"dnnl|oneapi/dnnl", ["backends/onednn"]),
    (r"hwy/", ["backends", "runtime"]),
    (r"(tbb|oneapi/tbb)/", ["backends/tbb", "backends/onednn", "runtime", "egraph", "tests"]),
    (r"onnx/|google/protobuf", ["ir/import/onnx", "tests/ir", "tests/import"]),
    (r"catch2/", ["tests"]),
    (r"benchmark/", ["tests/bench"]),
    (r"CLI/", ["tools", "tests"]),
    (r"png\.h", ["tools"]),
]

FORBIDDEN_FOLDERS = {"common", "utils", "util", "helpers", "helper", "src", "misc", "lib"}
# Top-level folders that are not made of our own text (fuzz corpora and the like may have names of their own).
NAME_EXEMPT = re.compile(r"(^|/)(README\.md|LICENSE|CMakeLists\.txt|CMakePresets\.json|RESULTS\.md|package(-lock)?\.json|Cargo\.(toml|lock))$|^\.|/corpus/|^tests/data/")

FOLDERS_WITH_README = ["ir", "ir/import", "egraph", "passes", "backends", "backends/reference", "backends/null",
                       "backends/tbb", "backends/onednn", "runtime", "tests", "tools"]
README_HEADINGS = [("what comes in and goes out", r"\bin\b.*\bout\b"), ("files in reading order", r"reading order"),
                   ("invariants", r"invariant"), ("how to add one", r"\badd\b"), ("why it is so", r"\bwhy\b")]

LONG, TOO_LONG = 500, 800


def under(path, prefix):
    return path == prefix or path.startswith(prefix + "/")


def tracked_files(root):
    """Files of the tree: what git tracks or would track; without git, everything but hidden and build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return sorted(f for f in listed.stdout.splitlines() if os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [d for d in folders if not d.startswith((".", "build"))]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def layer_of(path):
    fitting = [p for p in MAY_INCLUDE if under(path, p)]
    return max(fitting, key=len) if fitting else None


def include_problem(path, name, quoted, files):
    """Why `path` may not include `name`, or nothing."""
    if name.startswith("."):
        return "includes are written from the root"
    outside = next((allowed for pattern, allowed in OUTSIDE if re.match(pattern, name)), None)
    if outside is not None:
        return None if any(under(path, p) for p in outside) else f"only {', '.join(outside)} may include it"
    target = layer_of(name)
    if target is None:
        return None
    if not quoted:
        return "our own headers are included with quotes"
    layer = layer_of(path)
    if not any(under(name, p) for p in MAY_INCLUDE[layer]):
        return f"{layer}/ may include only {', '.join(MAY_INCLUDE[layer])}"
    if under(name, IMPORTERS) and not any(under(path, p) for p in MAY_INCLUDE_IMPORTERS):
        return f"only {', '.join(MAY_INCLUDE_IMPORTERS)} may include an importer"
    if under(name, "backends") and under(path, "backends"):
        own, theirs = path.split("/")[1], name.split("/")[1]
        if name.count("/") > 1 and own != theirs:
            return "backends do not include each other"
    private = name.count("/") > 1 and not any(under(name, p) for p in PUBLIC_ONE_LEVEL_DOWN)
    if private and not under(path, name.split("/")[0]) and not under(path, "tests"):
        return f"headers below {name.split('/')[0]}/ are private to it"
    if name not in files and not under(name, "build") and not re.search(r"generated|_rules\.|registry\.inc", name):
        return "no such file in the tree"
    return None


def check_includes(root, files):
    known = set(files)
    for path in files:
        if not path.endswith(SOURCE) or layer_of(path) is None:
            continue
        for number, line in enumerate(read(root, path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            problem = include_problem(path, match[2], match[1] == '"', known)
            if problem:
                yield f"{path}:{number}: includes {match[2]}: {problem}"


def check_sizes(root, files):
    for path in files:
        if not path.endswith(SOURCE + (".py", ".sh", ".rules", ".cmake")):
            continue
        lines = read(root, path).splitlines()
        explained = [line for line in lines[:3] if re.match(r'\s*(//|#(?!\s*pragma|!)|""")', line)]
        if len(lines) > TOO_LONG:
            yield f"{path}: {len(lines)} lines; more than {TOO_LONG} are too many: split it by theme"
        elif len(lines) > LONG and not any(re.search(r"\b(one|long|list|table|whole|all)\b", line) for line in explained):
            yield f"{path}: {len(lines)} lines; a file of more than {LONG} explains in its first line why it is one"


def check_names(_, files):
    folders = sorted({os.path.dirname(f) for f in files})
    for folder in folders:
        bad = FORBIDDEN_FOLDERS.intersection(folder.split("/"))
        if bad:
            yield f"{folder}/: a folder called '{bad.pop()}' says nothing of what is in it"
    for path in files:
        if not NAME_EXEMPT.search(path) and not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", os.path.basename(path)):
            yield f"{path}: file names are snake_case"


def check_readmes(root, files):
    for folder in FOLDERS_WITH_README:
        path = folder + "/README.md"
        if path not in files:
            yield f"{path}: missing"
            continue
        headings = [h.lower() for h in re.findall(r"^#+\s*(.+)$", read(root, path), re.M)]
        for name, pattern in README_HEADINGS:
            if not any(re.search(pattern, h) for h in headings):
                yield f"{path}: no heading '{name}'"


def clang_format():
    return next((p for p in map(shutil.which, ("clang-format-14", "clang-format")) if p and " 14." in
                 subprocess.run([p, "--version"], capture_output=True, text=True).stdout), None)


def check_format(root, files):
    sources = [f for f in files if f.endswith((".cpp", ".hpp"))]
    for start in range(0, len(sources), 50):
        run = subprocess.run([clang_format(), "--dry-run", *sources[start:start + 50]], cwd=root, capture_output=True, text=True)
        named = re.findall(r"^(\S+?):\d+:\d+: warning: code should be clang-formatted", run.stderr, re.M)
        yield from (f"{path}: not as clang-format 14 would have it: tools/scripts/format.sh" for path in sorted(set(named)))


RULES = {"includes": check_includes, "sizes": check_sizes, "names": check_names, "readmes": check_readmes, "format": check_format}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="rules to check (default: all)")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    options = parser.parse_args()
    rules = options.rules or list(RULES)
    unknown = [r for r in rules if r not in RULES]
    if unknown:
        parser.error(f"unknown rule {unknown[0]!r}; known: {', '.join(RULES)}")
    if "format" in rules and clang_format() is None:
        print("skipped: format, for clang-format 14 is not installed (tools/scripts/install_debian.sh --test)")
        rules.remove("format")
        if not rules:
            return SKIPPED
    root, broken = os.path.abspath(options.root), 0
    files = tracked_files(root)
    if not any(f.endswith(".cpp") for f in files):
        print(f"no sources under {root}")
        return 1
    for rule in rules:
        problems = list(RULES[rule](root, files))
        broken += len(problems)
        for problem in problems:
            print(f"{rule}: {problem}")
    print(f"{len(files)} files, rules {' '.join(rules)}: {broken} problems" if broken else f"{len(files)} files keep {' '.join(rules)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
