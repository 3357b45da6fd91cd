#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Each check of this folder accepts a small correct tree and names the fault in one that has it.
# shellcheck disable=SC2016  # the backquotes are Markdown's
set -euo pipefail
checks=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
licence=$'// Copyright 2026 The hiss authors\n// SPDX-License-Identifier: Apache-2.0\n'
failed=0

file() { mkdir -p "$tree/$(dirname "$1")" && printf '%s\n%s\n' "$licence" "$2" >"$tree/$1"; }
reset() {
  rm -rf "${tree:?}"/*
  file include/hiss/tensor.h '#include <span>'
  file src/core/tensor.cc '#include "hiss/tensor.h"'
  printf 'See `src/core/tensor.cc` and [the header](include/hiss/tensor.h).\n' >"$tree/README.md"
}
# check NAME ARGUMENTS: runs it on the tree.
check() {
  if [[ -f $checks/$1.py ]]; then
    (cd "$tree" && python3 "$checks/$1.py" "${@:2}")
  else
    (cd "$tree" && "$checks/$1.sh" "${@:2}")
  fi
}
# accepts CHECK: it passes on the tree as it is.
accepts() {
  check "$@" >/dev/null || { echo "$1 refuses a correct tree"; failed=1; }
  faults=$((faults + 1))
}
# notices CHECK TEXT: it fails, and says TEXT.
notices() {
  local said
  if said=$(check "$1" "${@:3}" 2>&1); then
    echo "$1 does not notice: $2"
    failed=1
  elif ! grep -qF -- "$2" <<<"$said"; then
    echo "$1 says '$said', not '$2'"
    failed=1
  fi
  reset
  faults=$((faults + 1))
}

faults=0
reset
accepts include_directions
accepts source_files
accepts docs_paths

file src/core/tensor.cc '#include "models/re_use/re_use.h"'
notices include_directions 'src/core does not include from models'
file src/cpu/scan.cc '#include "ref/scan.h"'
notices include_directions 'src/cpu does not include from ref'
file src/core/tensor.cc '#include "hiss/ops/selective_scan.h"'
notices include_directions 'src/core does not include from hiss/ops'
file src/new/thing.cc '#include "hiss/tensor.h"'
notices include_directions 'folder src/new is not in the table'
file include/hiss/tensor.h '#include <hwy/highway.h>'
notices include_directions 'a public header includes nothing but the standard library'
file include/hiss/tensor.h '#include <sndfile.h>'
notices include_directions 'a public header includes nothing but the standard library'
file src/models/model.cc '  #  include <sndfile.hh>'
notices include_directions 'sndfile is for src/audio'
file src/core/tensor.cc '#include "hwy/highway.h"'
notices include_directions 'hwy is for src/cpu'
file src/core/machine.cc '#include <cuda_runtime_api.h>'
notices include_directions 'cuda is for src/cuda'
file src/core/tensor.cc '#include <torch/torch.h>'
notices include_directions 'library torch is not in the table'

printf 'int x;\n' >"$tree/src/core/x.cc"
notices source_files 'src/core/x.cc: the two licence lines are missing'
{ printf '%s' "$licence" && printf '//%.0s\n' {1..400}; } >"$tree/src/core/x.cc"
notices source_files 'more than 400'
printf '#!/bin/sh\n# %s\n' "$licence" >"$tree/x.sh"
notices source_files 'x.sh: not executable'

if command -v clang++ >/dev/null && command -v python3 >/dev/null; then
  # built FILE: a build of the tree that compiles it.
  built() {
    printf '[{"directory": "%s", "command": "g++ -std=c++20 -Wall -Werror -c %s -o x.o", "file": "%s"}]' \
      "$tree" "$1" "$tree/$1" >"$tree/compile_commands.json"
  }
  file bench/gpu/check.cc 'int main() {}' && built bench/gpu/check.cc
  accepts cuda_by_clang .
  file bench/gpu/check.cc 'int main() { for (int unused; false;) {} }' && built bench/gpu/check.cc
  notices cuda_by_clang 'unused variable' .
  built src/core/tensor.cc
  notices cuda_by_clang 'has no C++ source that only CUDA builds compile' .
fi

printf 'See `src/core/gone.cc`.\n' >"$tree/README.md"
notices docs_paths 'src/core/gone.cc does not exist'
printf '[gone](docs/gone.md)\n' >"$tree/README.md"
notices docs_paths 'docs/gone.md does not exist'

if command -v clang-format-14 >/dev/null; then
  file src/core/tensor.cc 'int  x ;'
  notices format 'src/core/tensor.cc'
fi
for call in 'puts("x")' 'exit(1)' 'abort()' 'std::cout << 1'; do
  printf '#include <cstdio>\n#include <cstdlib>\n#include <iostream>\nvoid f() { %s; }\n' "$call" >"$tree/loud.cc"
  "${CXX:-c++}" -shared -fPIC -o "$tree/loud.so" "$tree/loud.cc"
  name=${call%%(*}
  notices library_is_silent "${name%% *}" "$tree/loud.so"
done

echo "$faults trees tried"
exit "$failed"
