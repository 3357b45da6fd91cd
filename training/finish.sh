#!/usr/bin/env bash
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
# finish.sh CHECKPOINT NAME VOICEBANK HELDOUT LOG...: export, evaluation and card of one
# checkpoint in one command.
# Writes models/NAME.safetensors, bench/results/quality-<date>.json and models/NAME.md (LOG...:
# train.jsonl of each run). HISS is the command to measure, with {in} and {out}; the default is the
# program of this checkout. JSON names another file for the scores, PYTHON the interpreter that has
# the packages of bench/quality/run.py.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
checkpoint=$1 name=$2 voicebank=$3 heldout=$4
shift 4
model=$root/models/$name.safetensors
hiss="$root/run hiss enhance {in} -o {out} --model $model --sample-format float --quiet"
json=${JSON:-$root/bench/results/quality-$(date +%F).json}
python3 "$root/training/export.py" "$checkpoint" "$model"
"${PYTHON:-python3}" "$root/bench/quality/run.py" --voicebank "$voicebank" --heldout "$heldout" \
  --hiss "${HISS:-$hiss}" \
  ${BYPASS:+--bypass "$model"} --json "$json"
python3 "$root/training/card.py" "$checkpoint" "$model" --scores "$json" --logs "$@"
