#!/usr/bin/env bash
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
# finish.sh CHECKPOINT NAME VOICEBANK HELDOUT LOG...: export, evaluation and card of one
# checkpoint in one command.
# Writes models/NAME.safetensors, bench/results/quality-<date>.json and models/NAME.md (LOG...:
# train.jsonl of each run).
# HISS is the command to measure, with {in} and {out}; the default is the program of this checkout.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
checkpoint=$1 name=$2 voicebank=$3 heldout=$4
shift 4
model=$root/models/$name.safetensors
json=$root/bench/results/quality-$(date +%F).json
python3 "$root/training/export.py" "$checkpoint" "$model"
python3 "$root/bench/quality/run.py" --voicebank "$voicebank" --heldout "$heldout" --json "$json" \
  --hiss "${HISS:-$root/run hiss enhance {in} -o {out} --model $model --quiet}" ${BYPASS:+--bypass "$model"}
python3 "$root/training/card.py" "$checkpoint" "$model" --scores "$json" --logs "$@"
