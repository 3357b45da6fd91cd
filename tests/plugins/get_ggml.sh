#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# get_ggml.sh FOLDER: builds the ggml of every version in llama_versions.txt as shared libraries in
# FOLDER/<version>/bin, from pinned source packages. What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: get_ggml.sh FOLDER}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
launcher=$(command -v ccache || true)

while read -r package hash; do
  version=${package#*==}
  to=$folder/$version
  [[ -e $to/bin/libggml.so ]] && continue
  echo "get_ggml.sh: ggml of $package" >&2
  rm -rf "$to"
  mkdir -p "$to/download" "$to/source"
  printf '%s %s\n' "$package" "$hash" >"$to/requirement.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --require-hashes --dest "$to/download" --requirement "$to/requirement.txt"
  tar -xzf "$to"/download/*.tar.gz -C "$to/source" --strip-components 3 \
    --wildcards '*/vendor/llama.cpp/ggml' '*/vendor/llama.cpp/LICENSE'
  touch "$to/source/ggml/ggml.pc.in"  # not in every source package; for installing only
  cmake -S "$to/source/ggml" -B "$to" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DGGML_NATIVE=ON -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF \
    -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$to/bin" \
    -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >&2
  ninja -C "$to" -j "${HISS_JOBS:-$(nproc)}" ggml >&2
done < <(grep -v '^#' "$here/llama_versions.txt")
