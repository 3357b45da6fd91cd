// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

namespace hiss::ggml {

// The measure of ggml's own operator test: squared difference over squared reference. Infinite
// where one side has a number and the other has none, or where only one side wrote an element
// (BuiltNode::kUnwritten).
double nmse(const std::vector<float>& result, const std::vector<float>& reference);

}  // namespace hiss::ggml
