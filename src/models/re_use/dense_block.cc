// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/dense_block.h"

namespace hiss::models::re_use {

Status dense_block(const DenseBlock& w, const Map& skip, const Map& out, int64_t keep_every,
                   const ConvScratch& scratch) {
  const int64_t d = out.channels;
  for (int64_t i = 0; i < 3; ++i)
    HISS_RETURN_IF_ERROR(conv_norm_act(w.dense_block[static_cast<size_t>(i)],
                                       skip.slice((3 - i) * d, (i + 1) * d),
                                       skip.slice((2 - i) * d, d), {}, scratch));
  return conv_norm_act(w.dense_block[3], skip, out, {.keep_every = keep_every}, scratch);
}

}  // namespace hiss::models::re_use
