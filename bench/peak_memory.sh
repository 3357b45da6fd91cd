#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Peak memory of `hiss enhance` on recordings of growing length: it must not grow with them.
#   bench/peak_memory.sh HISS MODEL SECONDS...
# The recordings are white noise, 16-bit mono at 16 kHz, made in a temporary folder.

set -euo pipefail

hiss=$1 model=$2
shift 2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# little_endian VALUE BYTES
little_endian() {
  local i
  # shellcheck disable=SC2059  # the format is the byte
  for ((i = 0; i < $2; i++)); do printf "\\x$(printf %02x $(($1 >> 8 * i & 255)))"; done
}

# noise SECONDS: a WAV file on stdout.
noise() {
  local rate=16000 bytes=$((16000 * 2 * $1))
  printf RIFF && little_endian $((36 + bytes)) 4
  printf 'WAVEfmt ' && little_endian 16 4
  little_endian 1 2 && little_endian 1 2 && little_endian $rate 4 && little_endian $((rate * 2)) 4
  little_endian 2 2 && little_endian 16 2
  printf data && little_endian $bytes 4
  head -c $bytes /dev/urandom
}

printf '%10s %12s %12s\n' seconds 'peak MiB' 'wall s'
for seconds in "$@"; do
  noise "$seconds" >"$folder/in.wav"
  /usr/bin/time -f '%M %e' -o "$folder/time" \
    "$hiss" enhance "$folder/in.wav" -o "$folder/out.wav" --model "$model" --force --quiet
  read -r kilobytes wall <"$folder/time"
  awk -v s="$seconds" -v kb="$kilobytes" -v w="$wall" 'BEGIN { printf "%10d %12.1f %12.1f\n", s, kb / 1024, w }'
done
