#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# kernel_table.sh PROGRAM [--write]: whether docs/kernels.md, seen from the current folder, holds the
# table that the program prints, and explains every phrase a kernel may decline with. --write puts
# the printed table in. A program built without CUDA knows nothing of the page's CUDA rows: they are
# left out of the comparison, and --write refuses.
set -euo pipefail

program=$1 page=docs/kernels.md
begin='<!-- hiss kernels --markdown: begin -->' end='<!-- hiss kernels --markdown: end -->'
table=$("$program" kernels --markdown)

has_cuda=yes
grep -q '/cuda\.' <<<"$table" || has_cuda=
if [[ ${2:-} == --write ]]; then
  [[ -n $has_cuda ]] || { echo "$page lists CUDA rows: write it with a build that has HISS_CUDA" >&2; exit 1; }
  new=$(awk -v begin="$begin" -v end="$end" -v table="$table" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { print ""; print table; print ""; inside = 1 }' "$page")
  printf '%s\n' "$new" >"$page"
  exit
fi

bad=0
written=$(awk -v begin="$begin" -v end="$end" '
  $0 == end { inside = 0 } inside && NF { print } $0 == begin { inside = 1 }' "$page")
[[ -n $has_cuda ]] || written=$(grep -v '/cuda\.' <<<"$written")
if [[ $written != "$table" ]]; then
  diff <(printf '%s\n' "$written") <(printf '%s\n' "$table") || true
  echo "$page is stale: tests/apps/kernel_table.sh $program --write" >&2
  bad=1
fi
while IFS= read -r phrase; do
  grep -qF "| \`$phrase\` |" "$page" || { echo "$page does not explain \"$phrase\"" >&2; bad=1; }
done < <(sed -n 's/^inline constexpr Decline k[A-Za-z]* = "\(.*\)";$/\1/p' include/hiss/kernel.h)
exit "$bad"
