#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# backend_ops.sh FOLDER PLUGIN [MARGIN [WORDS]]: llama.cpp's own operator test, test-backend-ops, of SSM_SCAN and
# SSM_CONV on the plugin's device, beside every llama.cpp in FOLDER (get_ggml.sh). Its limits are
# divided by MARGIN, 100 if not said, before it is built. WORDS, of HISS_GGML: another precision, say.
set -euo pipefail
folder=$1 plugin=$2 margin=${3:-100} words=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=0 failures=0
for bin in "$folder"/*/bin; do
  source=${bin%/bin}/source
  [[ -e $bin/libggml.so && -e $source/tests/test-backend-ops.cpp ]] || continue
  found=$((found + 1))
  sed "s/if (err > ud->tc->max_err(ud->backend1))/if ($margin * err > ud->tc->max_err(ud->backend1))/" \
    "$source/tests/test-backend-ops.cpp" >"$work/strict.cpp"
  cmp -s "$source/tests/test-backend-ops.cpp" "$work/strict.cpp" && echo "no limit found to divide" && exit 1
  c++ -std=c++17 -O0 -w -I "$source/ggml/include" "$work/strict.cpp" -o "$work/strict" -L "$bin" -lggml -lggml-base \
    -lggml-cpu -pthread -Wl,-rpath,"$bin"
  for op in SSM_SCAN SSM_CONV; do
    code=0
    HISS_GGML=log,route=device,min_tokens=1${words:+,$words} GGML_BACKEND_PATH=$plugin \
      "$work/strict" test -b HISS -o "$op" >"$work/out" 2>"$work/err" || code=$?
    result=$(grep -E '^ *[0-9]+/[0-9]+ tests passed' "$work/out" || echo "no result")
    kernels=$(grep -c "^hiss: $op .*: [a-z_0-9]*/" "$work/err" || true)
    printf '%s %s: %s, %d distinct problems computed by hiss\n' "$(basename "${bin%/bin}")" "$op" "$result" "$kernels"
    if ((code != 0)) || ! grep -Eq '^ *([1-9][0-9]*)/\1 tests passed' "$work/out" || ((kernels == 0)); then
      grep -E "$op.*(FAIL|not supported)" "$work/out" || true
      failures=$((failures + 1))
    fi
  done
done
((found > 0)) || { echo "no llama.cpp in $folder: get_ggml.sh builds some"; exit 1; }
exit $((failures > 0))
