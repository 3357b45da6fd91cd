#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# The sources are as clang-format 14 writes them (other versions format otherwise). ./run format does it.
set -euo pipefail
command -v clang-format-14 >/dev/null || { echo "skipped: clang-format-14 is not installed"; exit 77; }
find . \( -name build -o -name out \) -prune -o -type f -regextype posix-extended \
  -regex '\./(include|src|plugins|apps|tests|bench|examples)/.*\.(h|cc|c|cu|cuh)' -print0 |
  xargs -0 -r clang-format-14 --dry-run -Werror
