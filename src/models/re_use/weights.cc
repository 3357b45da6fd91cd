// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "core/float16.h"
#include "models/re_use/key_layout.h"

namespace hiss::models::re_use {
namespace {

// Element i of a tensor that may lie at any address.
float element(const ConstTensorView& t, int64_t i) {
  const std::byte* p = t.as<std::byte>() + i * size_of(t.dtype);
  if (t.dtype == DType::kF32) {
    float value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return t.dtype == DType::kF16 ? float_from_f16(bits) : float_from_bf16(bits);
}

bool readable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

// The scheme that finds the most of the expected tensors; with none found, the first.
KeyScheme recognise(const std::vector<Slot>& expected, const io::Safetensors& file) {
  KeyScheme best;
  int64_t most = 0;
  for (const KeyScheme& scheme : kKeySchemes) {
    const int64_t found = std::count_if(expected.begin(), expected.end(), [&](const Slot& slot) {
      return file.find(stored_name(slot.name, scheme)).present();
    });
    if (found > most) best = scheme, most = found;
  }
  return best;
}

std::string list(const char* what, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string text = "; " + std::to_string(items.size()) + " " + what + ":";
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? " " : ", ") + items[i];
  return text;
}

// Compares the file with what is expected, both ways.
Status check(const std::vector<Slot>& expected, const KeyScheme& scheme,
             const io::Safetensors& file) {
  std::vector<std::string> missing, misshaped, mistyped, unexpected;
  std::set<std::string, std::less<>> names;
  for (const Slot& slot : expected) {
    const std::string name = *names.insert(stored_name(slot.name, scheme)).first;
    const ConstTensorView got = file.find(name);
    if (!got.present()) {
      missing.push_back(name);
      continue;
    }
    const std::vector<int64_t> want = stored_shape(slot.shape, scheme.layout);
    if (!std::equal(want.begin(), want.end(), got.shape.begin(), got.shape.begin() + got.rank)) {
      ConstTensorView shape = got;
      shape.rank = static_cast<int>(want.size());
      std::copy(want.begin(), want.end(), shape.shape.begin());
      misshaped.push_back(name + " got " + to_string(got) + " want " + to_string(shape));
    } else if (!readable(got.dtype)) {
      mistyped.push_back(name + " got " + to_string(got.dtype));
    }
  }
  for (const auto& [name, tensor] : file.tensors())
    if (!names.contains(name)) unexpected.push_back(name);
  if (missing.empty() && misshaped.empty() && mistyped.empty() && unexpected.empty()) return {};
  return InvalidArgument("not a RE-USE checkpoint of this configuration (read as " +
                         std::string(to_string(scheme.layout)) + " keys)" +
                         list("missing", missing) + list("misshaped", misshaped) +
                         list("not F32, F16 or BF16", mistyped) + list("unexpected", unexpected));
}

// out = the tensor, unpacked from its key layout and packed as the field wants it.
void fill(const Slot& slot, KeyLayout layout, const ConstTensorView& t, float* out) {
  const int64_t n = elements(slot.shape);
  switch (slot.packing) {
    case Packing::kAsIs:  // vectors, and kernels with one channel on one side, in any layout
      for (int64_t i = 0; i < n; ++i) out[i] = element(t, i);
      return;
    case Packing::kNegativeExp:
      for (int64_t i = 0; i < n; ++i) out[i] = -std::exp(element(t, i));
      return;
    case Packing::kTransposed: {
      const int64_t rows = slot.shape[0], cols = slot.shape[1];
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) out[c * rows + r] = element(t, r * cols + c);
      return;
    }
    case Packing::kTaps: {
      const int64_t outs = slot.shape[0], ins = slot.shape[1], taps = slot.shape[2] * slot.shape[3];
      const bool ins_last = layout != KeyLayout::kPyTorch;
      for (int64_t o = 0; o < outs; ++o)
        for (int64_t i = 0; i < ins; ++i)
          for (int64_t k = 0; k < taps; ++k)
            out[(k * ins + i) * outs + o] =
                element(t, ins_last ? (o * taps + k) * ins + i : (o * ins + i) * taps + k);
      return;
    }
  }
}

}  // namespace

Result<Weights> load_weights(const ReUseConfig& config, const io::Safetensors& file) {
  Weights weights;
  const std::vector<Slot> expected = slots(config, weights);
  const KeyScheme scheme = recognise(expected, file);
  HISS_RETURN_IF_ERROR(check(expected, scheme, file));

  size_t bytes = 0;
  for (const Slot& slot : expected) bytes += Arena::bytes_for<float>(elements(slot.shape));
  HISS_ASSIGN_OR_RETURN(weights.memory, Arena::create(bytes));
  for (const Slot& slot : expected) {
    const int64_t n = elements(slot.shape);
    float* values = weights.memory.take<float>(n).data();
    fill(slot, scheme.layout, file.find(stored_name(slot.name, scheme)), values);
    *slot.field = values;
    weights.parameters += n;
  }
  return weights;
}

}  // namespace hiss::models::re_use
