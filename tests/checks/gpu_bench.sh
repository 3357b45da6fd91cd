#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# The parts of bench/gpu that need no GPU do what they say: when a peer is timed, how rows meet, how
# the sanitizers are judged.
set -euo pipefail
command -v python3 >/dev/null || exit 77
cd bench/gpu
export PYTHONDONTWRITEBYTECODE=1
python3 bench_gpu_test.py
python3 checks_test.py
