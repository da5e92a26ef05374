#!/usr/bin/env bash
# Everything under sanitizers, from nothing on a fresh Debian 12: installs, builds, runs all tests but the nightly ones.
# usage: run_sanitizers.sh [asan|tsan]... [ctest options...]      (default: both, one after the other)
set -euo pipefail
cd "$(dirname "$0")/../.."
kinds=()
while [ $# -gt 0 ]; do
  case $1 in asan | tsan) kinds+=("$1"); shift ;; *) break ;; esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(asan tsan)
# The thread sanitizer needs its addresses free: kernels that shuffle them by more than 28 bits do not leave them so.
fixed=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed=(setarch "$(uname -m)" -R)
fi
# GCC 12 misaligns 64-byte variables where use after return is looked for (GCC bug 110027): not with AVX-512 code.
grep -q avx512f /proc/cpuinfo || export WEFT_ASAN_OPTIONS=${WEFT_ASAN_OPTIONS:-detect_stack_use_after_return=1}
for kind in "${kinds[@]}"; do
  "${fixed[@]}" tools/scripts/run_tests.sh "$kind" "$@"
done
