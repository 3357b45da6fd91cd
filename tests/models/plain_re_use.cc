// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/plain_re_use.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace hiss::models {
namespace {

using Values = std::vector<double>;

// [channels, rows, cols]
struct Image {
  int64_t channels, rows, cols;
  Values v;
  Image(int64_t c, int64_t h, int64_t w)
      : channels(c), rows(h), cols(w), v(static_cast<size_t>(c * h * w)) {}
  double& at(int64_t c, int64_t h, int64_t w) {
    return v[static_cast<size_t>((c * rows + h) * cols + w)];
  }
  // Zero outside.
  double get(int64_t c, int64_t h, int64_t w) const {
    if (h < 0 || w < 0 || h >= rows || w >= cols) return 0;
    return v[static_cast<size_t>((c * rows + h) * cols + w)];
  }
};

Image transposed(const Image& x) {
  Image y(x.channels, x.cols, x.rows);
  for (int64_t c = 0; c < x.channels; ++c)
    for (int64_t h = 0; h < x.rows; ++h)
      for (int64_t w = 0; w < x.cols; ++w) y.at(c, w, h) = x.get(c, h, w);
  return y;
}

Image concat(const Image& a, const Image& b) {
  Image y(a.channels + b.channels, a.rows, a.cols);
  std::copy(a.v.begin(), a.v.end(), y.v.begin());
  std::copy(b.v.begin(), b.v.end(), y.v.begin() + static_cast<int64_t>(a.v.size()));
  return y;
}

class Plain {
 public:
  Plain(const Checkpoint& checkpoint, const ReUseConfig& config)
      : checkpoint_(checkpoint), config_(config) {}

  Image encoder(Image x) const {
    x = conv_norm_act("dense_encoder.dense_conv_1", "0", x, {});
    x = dense("dense_encoder.dense_block", x);
    return conv_norm_act("dense_encoder.dense_conv_2", "0", x,
                         {.stride_rows = 4, .stride_cols = 2});
  }

  Image block(int64_t b, const Image& x) const {
    const std::string prefix = "TSMamba." + std::to_string(b);
    const Image y = transposed(along_rows(prefix + ".time_mamba", transposed(x)));
    return along_rows(prefix + ".freq_mamba", y);
  }

  Image decoder(const std::string& name, Image x) const {
    x = dense(name + ".dense_block", x);
    x = norm_act(name + ".up_conv1", sub_pixel(name + ".up_conv1.0", x, 2));
    x = norm_act(name + ".up_conv2", sub_pixel(name + ".up_conv2.0", transposed(x), 4));
    return transposed(x);
  }

  struct Geometry {
    int64_t stride_rows = 1, stride_cols = 1, dilation = 1, pad_rows = 0, pad_cols = 0;
  };
  Image conv(const std::string& name, const Image& x, const Geometry& g) const {
    const Checkpoint::Tensor& w = checkpoint_.tensors.at(name + ".weight");
    const int64_t outs = w.shape[0], ins = w.shape[1], kh = w.shape[2], kw = w.shape[3];
    Image y(outs, (x.rows + 2 * g.pad_rows - g.dilation * (kh - 1) - 1) / g.stride_rows + 1,
            (x.cols + 2 * g.pad_cols - kw) / g.stride_cols + 1);
    for (int64_t o = 0; o < outs; ++o)
      for (int64_t h = 0; h < y.rows; ++h)
        for (int64_t j = 0; j < y.cols; ++j) {
          double sum = checkpoint_.tensors.at(name + ".bias").values[static_cast<size_t>(o)];
          for (int64_t c = 0; c < ins; ++c)
            for (int64_t a = 0; a < kh; ++a)
              for (int64_t b = 0; b < kw; ++b)
                sum += double{w.values[static_cast<size_t>(((o * ins + c) * kh + a) * kw + b)]} *
                       x.get(c, h * g.stride_rows + a * g.dilation - g.pad_rows,
                             j * g.stride_cols + b - g.pad_cols);
          y.at(o, h, j) = sum;
        }
    return y;
  }

 private:
  Values weight(const std::string& name) const {
    const auto& v = checkpoint_.tensors.at(name).values;
    return {v.begin(), v.end()};
  }

  Image norm_act(const std::string& name, Image x) const {
    const Values scale = weight(name + ".1.weight"), bias = weight(name + ".1.bias");
    const Values slope = weight(name + ".2.weight");
    const int64_t n = x.rows * x.cols;
    for (int64_t c = 0; c < x.channels; ++c) {
      double* v = &x.at(c, 0, 0);
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < n; ++i) mean += v[i] / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i)
        variance += (v[i] - mean) * (v[i] - mean) / static_cast<double>(n);
      const size_t k = static_cast<size_t>(c);
      for (int64_t i = 0; i < n; ++i) {
        v[i] = (v[i] - mean) / std::sqrt(variance + 1e-5) * scale[k] + bias[k];
        if (v[i] < 0) v[i] *= slope[k];
      }
    }
    return x;
  }

  Image conv_norm_act(const std::string& name, const std::string& item, const Image& x,
                      const Geometry& g) const {
    return norm_act(name, conv(name + "." + item, x, g));
  }

  Image dense(const std::string& name, const Image& x) const {
    Image skip = x, y = x;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t dilation = int64_t{1} << i;
      y = conv_norm_act(name + ".dense_block." + std::to_string(i), "0", skip,
                        {.dilation = dilation, .pad_rows = dilation, .pad_cols = 1});
      skip = concat(y, skip);
    }
    return y;
  }

  Image sub_pixel(const std::string& name, const Image& x, int64_t r) const {
    const Image y = conv(name + ".conv", x, {.pad_cols = 1});
    Image out(y.channels / r, y.rows, y.cols * r);
    for (int64_t c = 0; c < out.channels; ++c)
      for (int64_t h = 0; h < out.rows; ++h)
        for (int64_t w = 0; w < out.cols; ++w)
          out.at(c, h, w) = y.get(w % r * out.channels + c, h, w / r);
    return out;
  }

  // y[t, o] = sum_i w[o, i] x[t, i]
  static Values linear(const Values& w, const Values& x, size_t ins) {
    const size_t outs = w.size() / ins, tokens = x.size() / ins;
    Values y(tokens * outs);
    for (size_t t = 0; t < tokens; ++t)
      for (size_t o = 0; o < outs; ++o)
        for (size_t i = 0; i < ins; ++i) y[t * outs + o] += w[o * ins + i] * x[t * ins + i];
    return y;
  }

  // x [L, d] -> [L, d]
  Values mamba(const std::string& name, const Values& x) const {
    const size_t d = size(config_.channels), e = d * size(config_.expand);
    const size_t n = size(config_.d_state), r = size(config_.dt_rank), k = size(config_.d_conv);
    const size_t length = x.size() / d;
    const Values xz = linear(weight(name + ".in_proj.weight"), x, d);
    const Values taps = weight(name + ".conv1d.weight"), conv_bias = weight(name + ".conv1d.bias");
    Values u(length * e);
    for (size_t t = 0; t < length; ++t)
      for (size_t c = 0; c < e; ++c) {
        double sum = conv_bias[c];
        for (size_t j = 0; j < k; ++j)
          if (t + j + 1 >= k) sum += taps[c * k + j] * xz[(t + j + 1 - k) * 2 * e + c];
        u[t * e + c] = silu(sum);
      }
    const Values dbc = linear(weight(name + ".x_proj.weight"), u, e);
    const size_t row = r + 2 * n;
    const Values dt_weight = weight(name + ".dt_proj.weight");
    const Values dt_bias = weight(name + ".dt_proj.bias");
    const Values a_log = weight(name + ".A_log"), skip = weight(name + ".D");
    Values y(length * e), h(e * n);
    for (size_t t = 0; t < length; ++t)
      for (size_t c = 0; c < e; ++c) {
        double raw = dt_bias[c];
        for (size_t i = 0; i < r; ++i) raw += dt_weight[c * r + i] * dbc[t * row + i];
        const double delta = raw > 20 ? raw : std::log1p(std::exp(raw));
        double sum = skip[c] * u[t * e + c];
        for (size_t s = 0; s < n; ++s) {
          double& state = h[c * n + s];
          state = std::exp(-delta * std::exp(a_log[c * n + s])) * state +
                  delta * dbc[t * row + r + s] * u[t * e + c];
          sum += dbc[t * row + r + n + s] * state;
        }
        y[t * e + c] = sum * silu(xz[t * 2 * e + e + c]);
      }
    return linear(weight(name + ".out_proj.weight"), y, e);
  }

  static double silu(double v) { return v / (1 + std::exp(-v)); }
  static size_t size(int64_t n) { return static_cast<size_t>(n); }

  static Values flipped(const Values& x, size_t d) {
    Values y;
    for (size_t t = x.size() / d; t-- > 0;)
      for (size_t c = 0; c < d; ++c) y.push_back(x[t * d + c]);
    return y;
  }

  Values bi_mamba(const std::string& name, const Values& x) const {
    const size_t d = size(config_.channels), length = x.size() / d;
    Values f = mamba(name + ".forward_blocks", x);
    const Values r = flipped(x, d);
    Values b = mamba(name + ".backward_blocks", r);
    for (size_t i = 0; i < x.size(); ++i) f[i] += x[i], b[i] += r[i];
    b = flipped(b, d);
    Values both;
    for (size_t t = 0; t < length; ++t) {
      both.insert(both.end(), f.begin() + static_cast<long>(t * d),
                  f.begin() + static_cast<long>((t + 1) * d));
      both.insert(both.end(), b.begin() + static_cast<long>(t * d),
                  b.begin() + static_cast<long>((t + 1) * d));
    }
    Values y = linear(weight(name + ".output_proj.weight"), both, 2 * d);
    const Values merge_bias = weight(name + ".output_proj.bias");
    const Values scale = weight(name + ".norm.weight"), bias = weight(name + ".norm.bias");
    for (size_t t = 0; t < length; ++t) {
      double mean = 0, variance = 0;
      double* v = &y[t * d];
      for (size_t c = 0; c < d; ++c) v[c] += merge_bias[c];
      for (size_t c = 0; c < d; ++c) mean += v[c] / static_cast<double>(d);
      for (size_t c = 0; c < d; ++c)
        variance += (v[c] - mean) * (v[c] - mean) / static_cast<double>(d);
      for (size_t c = 0; c < d; ++c)
        v[c] = (v[c] - mean) / std::sqrt(variance + config_.norm_epsilon) * scale[c] + bias[c] +
               x[t * d + c];
    }
    return y;
  }

  // Every row of x is a sequence of cols tokens.
  Image along_rows(const std::string& name, const Image& x) const {
    Image out = x;
    for (int64_t h = 0; h < x.rows; ++h) {
      Values sequence;
      for (int64_t w = 0; w < x.cols; ++w)
        for (int64_t c = 0; c < x.channels; ++c) sequence.push_back(x.get(c, h, w));
      const Values y = bi_mamba(name, sequence);
      for (int64_t w = 0; w < x.cols; ++w)
        for (int64_t c = 0; c < x.channels; ++c)
          out.at(c, h, w) = y[static_cast<size_t>(w * x.channels + c)];
    }
    return out;
  }

  const Checkpoint& checkpoint_;
  const ReUseConfig& config_;
};

}  // namespace

void plain_re_use(const Checkpoint& checkpoint, const ReUseConfig& config, int64_t frames,
                  int64_t bins, std::vector<double>& log_magnitude, std::vector<double>& phase) {
  const Plain network(checkpoint, config);
  Image x(2, frames + 2, bins + 2);
  for (int64_t t = 0; t < frames; ++t)
    for (int64_t f = 0; f < bins; ++f) {
      x.at(0, t, f) = log_magnitude[static_cast<size_t>(t * bins + f)];
      x.at(1, t, f) = phase[static_cast<size_t>(t * bins + f)];
    }
  x = network.encoder(x);
  for (int64_t b = 0; b < config.blocks; ++b) x = network.block(b, x);
  const Image mask =
      network.conv("mask_decoder.final_conv", network.decoder("mask_decoder", x), {});
  const Image trunk = network.decoder("phase_decoder", x);
  const Image r = network.conv("phase_decoder.phase_conv_r", trunk, {});
  const Image i = network.conv("phase_decoder.phase_conv_i", trunk, {});
  for (int64_t t = 0; t < frames; ++t)
    for (int64_t f = 0; f < bins; ++f) {
      log_magnitude[static_cast<size_t>(t * bins + f)] = mask.get(0, t, f);
      phase[static_cast<size_t>(t * bins + f)] = std::atan2(i.get(0, t, f), r.get(0, t, f));
    }
}

}  // namespace hiss::models
