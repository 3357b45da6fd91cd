#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# run.sh FOLDER: cross-compiles the kernels and their tests for aarch64 into FOLDER and runs them on an
# emulated processor. 77: there is no cross compiler, or no emulator.
set -euo pipefail

build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=aarch64-linux-gnu-g++ emulator=qemu-aarch64-static
for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "no $tool here"; exit 77; }
done
[[ -d /usr/src/googletest ]] || { echo "no source of GoogleTest here"; exit 77; }

if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
[[ -f $build/build.ninja ]] ||
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc
ninja -C "$build" neon_test

# A share a core. Left out is what other tests run on this computer itself: the references' own rows
# and the loops for any computer; and the cases whose rows are 2^32 elements apart, for which the
# emulator takes 8 GB.
shares=$(nproc) runs=() bad=0
for ((i = 0; i < shares; ++i)); do
  GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$i "$emulator" "$build/neon_test" --gtest_brief=1 \
    --gtest_filter='-*.ref:*far*.cpu_neon_*:*/baseline' >"$build/share-$i.log" 2>&1 &
  runs+=($!)
done
for run in "${runs[@]}"; do wait "$run" || bad=1; done
grep -vE 'Skipped$|^[a-z ]*$' "$build"/share-*.log || true
if grep -q 'not exercised here: .*neon' "$build"/share-*.log; then
  echo "the emulated processor has no NEON, or the library did not find it" && bad=1
fi
exit "$bad"
