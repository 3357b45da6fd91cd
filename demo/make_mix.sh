#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes demo/clean.wav and demo/noisy.wav again from the two Debian packages of demo/SOURCES.md:
#   demo/make_mix.sh pocketsphinx-testdata_*.deb blanket_*.deb OUTPUT_FOLDER
# Needs sox, and gresource (libglib2.0-bin).
set -euo pipefail
[[ $# == 3 ]] || { grep '^# ' "$0" | sed 's/^# //' >&2; exit 2; }
snr_db=5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

dpkg-deb -x "$1" "$work/speech"
dpkg-deb -x "$2" "$work/noise"
speech=$work/speech/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav
gresource extract "$work/noise/usr/share/blanket/blanket.gresource" \
  /com/rafaelmardojai/Blanket/sounds/coffee-shop.ogg >"$work/coffee-shop.ogg"

rms() { sox "$1" -n stat 2>&1 | awk '/^RMS +amplitude/ {print $3}'; }

# The recording as it is; as much ambience, one channel at the same rate, from its sixth second on.
seconds=$(soxi -D "$speech")
sox -D "$work/coffee-shop.ogg" -b 32 -e float "$work/ambience.wav" remix - rate -v 16k trim 6 "$seconds"
gain=$(awk -v s="$(rms "$speech")" -v n="$(rms "$work/ambience.wav")" -v d="$snr_db" \
  'BEGIN {printf "%.6f", s / n * 10 ^ (-d / 20)}')
mkdir -p "$3"
sox -D "$speech" -b 16 "$3/clean.wav"
sox -D -m -v 1 "$speech" -v "$gain" "$work/ambience.wav" -b 16 -e signed-integer "$3/noisy.wav"
