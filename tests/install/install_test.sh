#!/usr/bin/env bash
# Installs into a temporary prefix, builds a project against it with CMake and with pkg-config, moves the prefix and builds again.
# usage: install_test.sh BUILD_DIR SOURCE_DIR      (CXX and CXXFLAGS: the compiler, and the sanitizers of the build if any)
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
prefix=$work/first
cmake --install "$build" --prefix "$prefix" --strip >/dev/null

"${PYTHON:-python3}" - "$work/m.onnx" <<'EOF'
import sys, numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as n
w = n.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
g = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [h.make_tensor_value_info("x", T.FLOAT, ["N", 2])],
                 [h.make_tensor_value_info("y", T.FLOAT, ["N", 3])], [w])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 13)]), sys.argv[1])
EOF

check() {  # of the program, what x = 0.5 gives: 0.5 * 0 + 0.5 * 3
  local text; text=$("$1" "$work/m.onnx" x=1x2)
  grep -q 'y: 3 elements, the first is 1.5' <<<"$text" || { echo "$1 printed: $text"; exit 1; }
}
with_cmake() {
  cmake -S "$source/tools/examples/embed" -B "$2" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$2" >/dev/null
  check "$2/embed"
}
export WEFT_CACHE_DIR=$work/cache
with_cmake "$prefix" "$work/b1"
mv "$prefix" "$work/second"  # nothing may point to where it was first
with_cmake "$work/second" "$work/b2"
export PKG_CONFIG_PATH=$(dirname "$(find "$work/second" -name weft.pc)")
${CXX:-g++} -std=c++20 ${CXXFLAGS:-} "$source/tools/examples/embed/embed.cpp" $(pkg-config --cflags weft) -o "$work/by_pkg_config" $(pkg-config --libs weft)
check "$work/by_pkg_config"
"$work/second/bin/weft" version | grep -q '^weft '
! grep -rn "$build" "$work/second/lib"*/cmake "$PKG_CONFIG_PATH" || { echo "installed files name the build folder"; exit 1; }
echo "installed, moved, and used"
