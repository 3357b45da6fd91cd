#!/usr/bin/env bash
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
# make_data.sh WORK: from nothing to what the GPU machine needs: WORK/src, WORK/bank and
# WORK/pack/{a,b}, with the
# decoder in both halves. About 20 minutes on two cores. Needs ffmpeg, libopusfile-dev, numpy,
# scipy, soundfile, torch.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:?usage: make_data.sh WORK}
"$here/get_sources.sh" "$work/src"
python3 "$here/prepare_data.py" --src "$work/src" --out "$work/bank"
python3 "$here/pack_data.py" --bank "$work/bank" --out "$work/pack"
cc -O2 -static "$here/opus_decode.c" -I/usr/include/opus -lopusfile -lopus -logg -lm \
  -o "$work/pack/a/opus_decode"
cp "$work/pack/a/opus_decode" "$work/pack/b/"
