#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Every file or folder of ours that a document names in backquotes exists, and so does every relative
# link. Prints those that do not; exits with 1 if there is any.
set -euo pipefail

bad=0
folders='\.ci|apps|bench|cmake|demo|docs|examples|include|models|plugins|python|src|tests|training'
missing() { echo "$1: $2 does not exist"; bad=1; }
while IFS= read -r -d '' document; do
  here=$(dirname "$document")
  while IFS= read -r path; do
    [[ -e $path || -e $here/$path ]] || missing "$document" "$path"
  done < <(grep -oE "\`($folders)/[A-Za-z0-9_./-]*\`" "$document" | tr -d '`' | sort -u)
  while IFS= read -r path; do
    [[ -e $here/$path ]] || missing "$document" "$path"
  done < <(grep -oE '\]\([^)# ]+' "$document" | sed 's/^](//' | grep -vE '^(https?|mailto):' | sort -u)
done < <(find . \( -name build -o -name out -o -name ".?*" \) -prune -o -name '*.md' -type f -print0)
exit "$bad"
