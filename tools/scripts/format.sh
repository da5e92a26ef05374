#!/usr/bin/env bash
# Formats every C++ file of the tree as .clang-format says, with clang-format 14 (other versions differ in details).
set -euo pipefail
cd "$(dirname "$0")/../.."
format=$(command -v clang-format-14) || { echo "format.sh: clang-format-14 is missing: tools/scripts/install_debian.sh --test" >&2; exit 1; }
git ls-files -z '*.cpp' '*.hpp' | xargs -0 -n 50 "$format" -i
