#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# llama_text.sh FOLDER PLUGIN [MODELS]: what llama.cpp writes with and without the plugin, beside every
# llama.cpp that get_ggml.sh --llama built in FOLDER. For each model of random_models.py, on one and on
# two threads, through the hook and through the device: the greedy text, the text from a restored
# state and those of parallel sequences are the same, perplexities agree to five digits, and the
# plugin says that it computed scans and convolutions.
set -euo pipefail
export OMP_WAIT_POLICY=passive  # other programs may want the cores too
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1 plugin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=${3:-$work/models}
[[ -d $models ]] || python3 "$here/random_models.py" "$models"
failures=0 compared=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# The share by which two perplexities differ; no number where one is none.
share() { awk -v a="$1" -v b="$2" 'BEGIN { d = (a - b) / a; print d < 0 ? -d : d }'; }

for bin in "$folder"/*/bin; do
  [[ -e $bin/libllama.so && -e ${bin%/bin}/source/include/llama.h ]] || continue
  c++ -std=c++20 -O1 -isystem "${bin%/bin}/source/include" -isystem "${bin%/bin}/source/ggml/include" \
    "$here/llama_text.cc" -o "$work/llama_text" -L "$bin" -lllama -lggml -lggml-base -Wl,-rpath,"$bin"
  for model in "$models"/*.gguf; do
    for threads in 1 2; do
      run=("$work/llama_text" "$model" "$threads")
      name="$(basename "$(dirname "$bin")") $(basename "$model" .gguf) $threads threads"
      timeout 300 "${run[@]}" >"$work/without" 2>"$work/err" || { cat "$work/err"; fail "$name"; continue; }
      for words in min_tokens=1 "" min_tokens=1,route=device; do
        HISS_GGML=log${words:+,$words} GGML_BACKEND_PATH=$plugin timeout 300 "${run[@]}" \
          >"$work/with" 2>"$work/err" || { cat "$work/err"; fail "$name $words"; continue; }
        compared=$((compared + 1))
        diff <(grep -v '^perplexity' "$work/without") <(grep -v '^perplexity' "$work/with") ||
          fail "$name $words: the texts differ"
        read -r _ without < <(grep '^perplexity' "$work/without")
        read -r _ with < <(grep '^perplexity' "$work/with")
        difference=$(share "$without" "$with")
        awk -v d="$difference" 'BEGIN { exit !(d < 5e-6) }' ||
          fail "$name $words: perplexity $without without, $with with the plugin"
        scans=$(grep -c '^hiss: SSM_SCAN .*: [a-z_]*/' "$work/err" || true)
        convolutions=$(grep -c '^hiss: SSM_CONV .*: [a-z_0-9]*/' "$work/err" || true)
        ((scans > 0 && convolutions > 0)) || fail "$name $words: the plugin computed nothing"
        printf '%-32s %-24s perplexity %.6g differs by %.1e; %d scans and %d convolutions of different size\n' \
          "$name" "${words:-default}" "$without" "$difference" "$scans" "$convolutions"
      done
      greedy=$(sed -n 's/^greedy //p' "$work/without") restored=$(sed -n 's/^restored //p' "$work/without")
      [[ ${greedy: -${#restored}} == "$restored" ]] || fail "$name: llama.cpp's own restored state"
    done
  done
done
((compared > 0)) || fail "no llama.cpp in $folder: get_ggml.sh --llama builds some"
echo "$compared comparisons, $failures failures"
exit $((failures > 0))
