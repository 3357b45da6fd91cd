#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# readme_commands.sh PROGRAM: every "./run hiss ..." line in the sh blocks of README.md and docs/ exits
# with 0, run in a scratch folder with PROGRAM behind ./run. A line with a name in capitals, which the
# reader fills in, is not run.
set -euo pipefail
program=$1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$root/demo" "$root/models" "$work"
mkdir -p "$work/tests" "$work/out"
[[ ! -d tests/golden ]] || ln -s "$root/tests/golden" "$work/tests/golden"
cat >"$work/run" <<TEXT
#!/bin/sh
[ "\$1" = hiss ] && shift && exec "$program" "\$@"
TEXT
chmod +x "$work/run"

tried=0 failed=0
while IFS= read -r command; do
  if grep -qE '(^| )[A-Z][A-Z_-]{2,}( |/|$|\.)' <<<"$command"; then
    echo "not run (the reader fills in a name): $command"
    continue
  fi
  tried=$((tried + 1))
  if ! said=$(cd "$work" && bash -c "$command" 2>&1); then
    printf 'failed: %s\n%s\n' "$command" "$said"
    failed=1
  fi
done < <(awk 'FNR == 1 {sh = 0} /^ *```/ {sh = /```(sh|console|bash)/; next}
  sh && /^ *(\$ )?\.\/run hiss / {sub(/^ *(\$ )?/, ""); print}' README.md docs/*.md)
((tried)) || { echo "no commands found"; exit 1; }
echo "$tried commands ran"
exit "$failed"
