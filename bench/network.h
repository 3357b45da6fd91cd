// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "measure.h"

// The RE-USE network as one row beside the operators': a window of 5 s, features in, spectrum out.
namespace hiss::bench {

struct NetworkShape {
  std::string name;
  std::string model;  // a checkpoint; empty: full size with random weights
  int64_t rate;       // Hz
};
std::vector<NetworkShape> network_shapes();

// Sound in one window.
inline constexpr int64_t kWindowSeconds = 5;

// The rows of the classes and thread counts that `settings` wants. With `contenders` (get.sh's
// folder) that has PyTorch, the full-size network is also run there: one block of the thirty, the
// others counted as often; its answer is compared with that of our network cut down alike. Errors
// of the full size are those of one block: fast against standard, standard against PyTorch (0
// without). The bundled model's fast row has that against its standard one.
Result<std::vector<Row>> measure_network(const NetworkShape& shape, const Settings& settings,
                                         const Peaks& peaks, const std::string& contenders);

}  // namespace hiss::bench
