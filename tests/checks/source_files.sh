#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Every source file below the current folder starts with the licence lines and stays below 400 lines;
# shell scripts are executable. Prints what does not; exits with 1 if anything does not.
set -euo pipefail

bad=0
while IFS= read -r -d '' file; do
  head -4 "$file" | tr '\n' ' ' |
    grep -q 'Copyright 2026 The hiss authors.*SPDX-License-Identifier: Apache-2.0' ||
    { echo "$file: the two licence lines are missing"; bad=1; }
  lines=$(wc -l <"$file")
  ((lines <= 400)) || { echo "$file: $lines lines, more than 400"; bad=1; }
  [[ $file != *.sh || -x $file ]] || { echo "$file: not executable"; bad=1; }
done < <(find . \( -name build -o -name out -o -name ".?*" \) -prune -o \
  \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' \
  -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt \) -type f -print0)
exit "$bad"
