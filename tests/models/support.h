// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "models/re_use/re_use.h"

namespace hiss::models {

inline std::string golden(const std::string& name) {
  return HISS_SOURCE_DIR "/tests/golden/" + name;
}

// The values of a stored F32 tensor; fails the test when it is not there.
inline std::vector<float> values_of(const io::Safetensors& file, const std::string& name) {
  const ConstTensorView view = file.find(name);
  EXPECT_TRUE(view.present() && view.dtype == DType::kF32) << name;
  if (!view.present()) return {};
  return {view.as<float>(), view.as<float>() + view.elements()};
}

// [rows, cols] -> [cols, rows].
inline std::vector<float> transposed(const std::vector<float>& x, int64_t rows, int64_t cols) {
  std::vector<float> y(x.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      y[static_cast<size_t>(c * rows + r)] = x[static_cast<size_t>(r * cols + c)];
  return y;
}

// rms(got - want) / rms(want); infinite when sizes differ or a value is not finite.
template <class T>
double relative_rms(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) return INFINITY;
  double error = 0, power = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::norm(std::complex<double>(got[i]) - std::complex<double>(want[i]));
    power += std::norm(std::complex<double>(want[i]));
  }
  const double result = std::sqrt(error / power);
  return std::isfinite(result) ? result : INFINITY;
}

// expm1(max(a, 0)) e^(i p): phases mean nothing where there is no magnitude.
inline std::vector<std::complex<double>> spectrum(const std::vector<float>& log_magnitude,
                                                  const std::vector<float>& phase) {
  std::vector<std::complex<double>> y;
  for (size_t i = 0; i < log_magnitude.size(); ++i)
    y.push_back(std::polar(std::expm1(std::max(0.0, double{log_magnitude[i]})), double{phase[i]}));
  return y;
}

// The model of the fixtures, or another, with a context of its own.
struct LoadedModel {
  std::unique_ptr<Context> context;
  std::unique_ptr<ReUse> model;
};
inline LoadedModel load_model(const std::string& path, int threads = 2,
                              Precision precision = Precision::kStandard) {
  Result<Context> context = Context::create({.threads = threads});
  EXPECT_TRUE(context) << context.error().to_string();
  LoadedModel loaded{std::make_unique<Context>(std::move(context).value()), nullptr};
  Result<std::unique_ptr<ReUse>> model = ReUse::load(path, *loaded.context, precision);
  EXPECT_TRUE(model) << model.error().to_string();
  if (model) loaded.model = std::move(model).value();
  return loaded;
}

}  // namespace hiss::models
