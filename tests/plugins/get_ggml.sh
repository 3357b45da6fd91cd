#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# get_ggml.sh FOLDER [--llama] [VERSION...]: builds the ggml of the versions in llama_versions.txt, or of
# those named, as shared libraries in FOLDER/<version>/bin, from pinned source packages. --llama: also
# libllama, llama-bench and test-backend-ops (some ten minutes each on two cores). What is there
# already is left alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: get_ggml.sh FOLDER [--llama] [VERSION...]}
shift
targets=(ggml) proof=libggml.so
if [[ ${1:-} == --llama ]]; then
  targets=(ggml llama llama-bench test-backend-ops) proof=test-backend-ops
  shift
fi
wanted=" $* "
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
launcher=$(command -v ccache || true)

while read -r package hash; do
  version=${package#*==}
  to=$folder/$version
  [[ $wanted == "  " || $wanted == *" $version "* ]] || continue
  [[ -e $to/bin/$proof ]] && continue
  echo "get_ggml.sh: ${targets[*]} of $package" >&2
  if [[ ! -e $to/build.ninja ]]; then
    rm -rf "$to"
    mkdir -p "$to/download" "$to/source"
    printf '%s %s\n' "$package" "$hash" >"$to/requirement.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
      --require-hashes --dest "$to/download" --requirement "$to/requirement.txt"
    tar -xzf "$to"/download/*.tar.gz -C "$to/source" --strip-components 3 --wildcards '*/vendor/llama.cpp'
    cmake -S "$to/source" -B "$to" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
      -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_SERVER=OFF \
      -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_TESTS=ON \
      -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >&2
  fi
  ninja -C "$to" -j "${HISS_JOBS:-$(nproc)}" "${targets[@]}" >&2
done < <(grep -v '^#' "$here/llama_versions.txt")
