#!/usr/bin/env bash
# Installs what the tests need on Debian 12, fetches and makes the models, builds everything and runs all tests but the nightly ones.
# usage: run_tests.sh [release|debug|asan|tsan] [ctest options...]      (default: release)
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=release
case ${1:-} in release | debug | asan | tsan) preset=$1; shift ;; esac
tools/scripts/install_debian.sh --build --test
tools/scripts/fetch_models.sh build/models
export WEFT_REQUIRE_MODELS=1
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@"
