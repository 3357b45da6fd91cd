#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# get.sh FOLDER: brings in what `./run bench cpu` measures against, into FOLDER (not under version
# control, nothing of it is installed):
#   FOLDER/ggml/libhiss_bench_ggml.so  ggml's CPU backend, from the llama.cpp source inside a pinned
#                                      source package of PyPI, compiled for this machine
#   FOLDER/python                      a link to a Python that has PyTorch and NumPy
# Needs pip, cmake, ninja and a compiler; python3-torch is Debian's package of PyTorch.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: get.sh FOLDER}
python=${HISS_BENCH_PYTHON:-/usr/bin/python3}
mkdir -p "$folder/download"
folder=$(cd "$folder" && pwd)

if [[ ! -d $folder/ggml_source ]]; then
  "$python" -m pip download --quiet --no-deps --no-binary :all: --require-hashes \
    --dest "$folder/download" --requirement "$here/ggml.txt"
  rm -rf "$folder/unpacked"
  mkdir "$folder/unpacked"
  tar -xzf "$folder"/download/llama_cpp_python-*.tar.gz -C "$folder/unpacked" \
    --strip-components 3 --wildcards '*/vendor/llama.cpp/ggml' '*/vendor/llama.cpp/LICENSE'
  mv "$folder/unpacked" "$folder/ggml_source"
fi
launcher=$(command -v ccache || true)
cmake -S "$here/ggml_adapter" -B "$folder/ggml" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DGGML_SOURCE="$folder/ggml_source/ggml" \
  -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >&2
ninja -C "$folder/ggml" -j "${HISS_JOBS:-$(nproc)}" hiss_bench_ggml >&2

if "$python" -c 'import numpy, torch' 2>/dev/null; then
  ln -sfn "$python" "$folder/python"
else
  echo "get.sh: $python has no PyTorch; HISS_BENCH_PYTHON=<a python that has> tries another" >&2
  exit 1
fi
