// Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
// opus_decode IN.opus OUT.s16: decodes an Ogg Opus file to 48 kHz mono 16-bit samples.
// cc -O2 -static opus_decode.c -I/usr/include/opus -lopusfile -lopus -logg -lm -o opus_decode
#include <opusfile.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int error;
  OggOpusFile* in = argc == 3 ? op_open_file(argv[1], &error) : 0;
  FILE* out = in ? fopen(argv[2], "wb") : 0;
  if (!out) return 1;
  static opus_int16 samples[11520 * 2];
  const int channels = op_channel_count(in, -1);
  for (;;) {
    const int count = op_read(in, samples, sizeof samples / sizeof *samples, 0);
    if (count == OP_HOLE) continue;
    if (count < 0) return 2;
    if (count == 0) break;
    if (channels == 2) {
      for (int i = 0; i < count; ++i) samples[i] = (samples[2 * i] + samples[2 * i + 1]) / 2;
    }
    fwrite(samples, 2, count, out);
  }
  return fclose(out) != 0;
}
