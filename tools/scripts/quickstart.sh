#!/usr/bin/env bash
# From nothing to a result on a fresh Debian 12: installs what the build needs, builds, fetches PP-OCR's detection network
# and runs it on a picture. The result, with a box around every piece of text, is build/text_found.png.
# usage: quickstart.sh [PICTURE.png]
set -euo pipefail
cd "$(dirname "$0")/../.."
picture=${1:-tests/data/street_signs.png}
say() { echo "== $*"; }
say "1 of 4: packages of Debian"
tools/scripts/install_debian.sh --build --npm
say "2 of 4: build (minutes)"
cmake --preset release
cmake --build --preset release --target weft detect_text
say "3 of 4: models"
tools/scripts/fetch_models.sh --no-made build/models
say "4 of 4: the network, and what it finds in $picture"
build/bin/weft inspect build/models/pp_ocr_det.onnx
build/bin/detect_text build/models/pp_ocr_det.onnx "$picture" build/text_found.png
