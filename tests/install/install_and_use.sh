#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# install_and_use.sh BUILD_FOLDER COMPILER: installs the build into BUILD_FOLDER/install-test, moves it (an
# installation must not know its place), builds the client of this folder against it and runs both.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$1/install-test
rm -rf "$work"
cmake --install "$1" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
cmake -S "$here" -B "$work/client" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$2" \
  "-DCMAKE_PREFIX_PATH=$work/moved"
cmake --build "$work/client"
"$work/client/client"
"$work/client/examples/1_selective_scan"
"$work/client/examples/2_enhance_buffer" "$(echo "$work"/moved/share/hiss/models/*.safetensors)"
if [[ -x $work/moved/bin/hiss ]]; then
  "$work/moved/bin/hiss" --help >/dev/null
fi
