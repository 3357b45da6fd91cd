#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# llama_check.sh HISS FOLDER: the plugin beside every ggml that get_ggml.sh built in FOLDER, against
# ggml's own results: problems of models and random ones, on one and on three threads, through the
# hook; and what happens when it is switched off or told nonsense.
set -euo pipefail
export OMP_WAIT_POLICY=passive  # more threads than cores here and there
hiss=$1 folder=$2
found=0
for bin in "$folder"/*/bin; do
  [[ -e $bin/libggml.so ]] || continue
  found=$((found + 1))
  for threads in 1 3; do
    HISS_GGML=log,min_tokens=1 "$hiss" llama-check "$bin" --runs 0 --problems 400 --threads "$threads" --seed "$threads" \
      >out.txt 2>err.txt || { cat out.txt err.txt; exit 1; }
    grep -q '400 random problems, .* 0 wrong$' out.txt
    grep -q 'route hook' err.txt
    grep -Eq 'SSM_SCAN N128 P64 H48 G1 T512 S1 K1: ssd_chunk_scan/' err.txt
    grep -Eq 'SSM_CONV W4 C3328 T512 S1: causal_conv1d/' err.txt
  done
  code=0
  HISS_GGML=off "$hiss" llama-check "$bin" >out.txt 2>err.txt || code=$?
  [[ $code == 3 ]] && grep -q 'ggml did not take' err.txt
  code=0
  HISS_GGML=route=nowhere "$hiss" llama-check "$bin" >out.txt 2>err.txt || code=$?
  [[ $code == 3 ]] && grep -q 'HISS_GGML: got "route=nowhere"; want route=hook or device; not used' err.txt
done
((found > 0)) || { echo "no ggml in $folder: get_ggml.sh builds some"; exit 1; }
