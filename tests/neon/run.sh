#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# run.sh FOLDER: cross-compiles the kernels and the tests of the table for aarch64 into FOLDER and runs
# them on an emulated processor. 77: there is no cross compiler, or no emulator.
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

# Neither the reference's own rows nor what other architectures have a loop for. A share a core.
shares=$(nproc) runs=()
for ((i = 0; i < shares; ++i)); do
  GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$i \
    "$emulator" "$build/neon_test" --gtest_brief=1 --gtest_filter='-*_ref.*:*.fast_*:*.larger_than_caches:VectorMath*:Decay.*' &
  runs+=($!)
done
for run in "${runs[@]}"; do wait "$run"; done
