#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# The scripts are as shellcheck likes them.
set -euo pipefail
command -v shellcheck >/dev/null || { echo "skipped: shellcheck is not installed"; exit 77; }
find . \( -name build -o -name out -o -name ".?*" \) -prune -o -name '*.sh' -type f -print0 |
  xargs -0 shellcheck run .ci/run
