// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "clock.h"
#include "contenders/contender.h"
#include "contenders/dense.h"
#include "contenders/ggml_adapter/adapter.h"
#include "pinned_pool.h"

// SSM_SCAN and SSM_CONV of ggml's CPU backend (llama.cpp), each as a graph of one node.
namespace hiss::bench {
namespace {

float silu(float v) { return v / (1 + std::exp(-v)); }

class GgmlPeer final : public Peer {
 public:
  using Finish = std::function<void(const float* result, std::vector<float>& y)>;
  // finish: from the node's result to y.
  static Contender::Prepared create(const GgmlContender& ggml, void* graph, int threads,
                                    const ConstTensorView& y, Finish finish) {
    if (graph == nullptr) return ResourceExhausted("ggml: no memory for the graph");
    if (static_cast<size_t>(threads) <= processors().size()) ggml.pin(processors().data(), threads);
    std::unique_ptr<GgmlPeer> peer(new GgmlPeer(ggml, graph, threads, y, std::move(finish)));
    double ms = 0;
    for (int run = 0; run < 2 && ms < 5; ++run) {  // the first may find cold caches
      const double start = milliseconds(false);
      HISS_RETURN_IF_ERROR(peer->compute());
      ms = milliseconds(false) - start;
    }
    peer->calls_ = calls_in_a_sample(ms);
    ggml.repeat(graph, peer->calls_);
    return Contender::Prepared(std::move(peer));
  }
  ~GgmlPeer() override { ggml_.release(graph_); }

  Result<double> milliseconds_of_a_call() override {
    const double start = milliseconds(threads_ == 1);
    HISS_RETURN_IF_ERROR(compute());
    const double ms = (milliseconds(threads_ == 1) - start) / calls_;
    if (threads_ > 1) usleep(10'000);  // its idle threads spin for a while and would disturb others
    return ms;
  }
  Result<TensorView> answer() override {
    y_values_.resize(static_cast<size_t>(y_.elements()));
    finish_(ggml_.result(graph_), y_values_);
    return view_of(y_values_, y_);
  }

 private:
  GgmlPeer(const GgmlContender& ggml, void* graph, int threads, const ConstTensorView& y,
           Finish finish)
      : ggml_(ggml), graph_(graph), threads_(threads), y_(y), finish_(std::move(finish)) {}
  Status compute() {
    return ggml_.compute(graph_) ? Status() : Internal("ggml: the graph could not be computed");
  }

  const GgmlContender& ggml_;
  void* const graph_;
  const int threads_;
  const ConstTensorView y_;
  const Finish finish_;
  std::vector<float> y_values_;
  int calls_ = 1;
};

// The three scans in the terms of one: SSM_SCAN's. Channel: a row of a head.
struct Scan {
  GgmlScan sizes{};
  std::vector<float> x, dt, A, B, C, state;  // dt with its bias
  std::vector<float> D, z;                   // of each channel; of each element; or empty
};

template <class Args>
Status check(const Args& a) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (!a.dt_softplus) return Unsupported("ggml: SSM_SCAN without softplus");
  if (a.dt_min > 0 || a.dt_max < kInf) return Unsupported("ggml: SSM_SCAN with limits of dt");
  return {};
}

std::vector<float> decay_rates(const ConstTensorView& A, bool is_log) {
  std::vector<float> values = dense(A);
  if (is_log)
    for (float& v : values) v = -std::exp(v);
  return values;
}

void add_bias(std::vector<float>& dt, const std::vector<float>& bias) {
  for (size_t i = 0; i < dt.size() && !bias.empty(); ++i) dt[i] += bias[i % bias.size()];
}

Contender::Prepared start(const GgmlContender& ggml, Scan scan, const ConstTensorView& y,
                          int threads) {
  GgmlScan& s = scan.sizes;
  scan.state.resize(static_cast<size_t>(s.batch * s.nheads * s.headdim * s.dstate));
  s.x = scan.x.data(), s.dt = scan.dt.data(), s.A = scan.A.data(), s.B = scan.B.data();
  s.C = scan.C.data(), s.state = scan.state.data();
  void* graph = ggml.scan(s, threads);
  const auto skip_and_gate = [x = std::move(scan.x), D = std::move(scan.D), z = std::move(scan.z)](
                                 const float* result, std::vector<float>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = result[i];
      if (!D.empty()) values[i] += D[i % D.size()] * x[i];
      if (!z.empty()) values[i] *= silu(z[i]);
    }
  };
  return GgmlPeer::create(ggml, graph, threads, y, skip_and_gate);
}

class Ggml final : public Contender {
 public:
  explicit Ggml(const GgmlContender& ggml) : ggml_(ggml) {}
  std::string name() const override { return std::string("ggml ") + ggml_.version; }
  std::string leaves_out() const override {
    return "the scan alone: no bias of dt, D or gate; the convolution alone: no bias, no SiLU, the "
           "input already transposed behind its state";
  }

  Prepared prepare(const CausalConv1d::Args& a, int threads) override {
    if (a.cu_seqlens.present() || a.direction == Direction::kReverse)
      return Unsupported("ggml: SSM_CONV of packed or reversed sequences");
    return convolve(a.x, a.weight, a.bias, dense(a.initial_state), a.activation, a.y, threads);
  }
  Prepared prepare(const CausalConv1dUpdate::Args& a, int threads) override {
    if (a.state_indices.present()) return Unsupported("ggml: SSM_CONV with slots");
    return convolve(a.x, a.weight, a.bias, dense(a.state), a.activation, a.y, threads);
  }
  Prepared prepare(const SelectiveScan::Args& a, int threads) override {
    HISS_RETURN_IF_ERROR(check(a));
    if (a.cu_seqlens.present() || a.direction == Direction::kReverse)
      return Unsupported("ggml: SSM_SCAN of packed or reversed sequences");
    Scan s;
    s.sizes = {.batch = a.u.shape[0],
               .seqlen = a.u.shape[1],
               .nheads = a.u.shape[2],
               .headdim = 1,
               .ngroups = a.B.shape[2],
               .dstate = a.B.shape[3],
               .decay_per_state = true};
    s.x = dense(a.u), s.dt = dense(a.dt), s.state = dense(a.initial_state);
    s.D = dense(a.D);
    return finish(a, std::move(s), a.y, threads);
  }
  Prepared prepare(const SsdChunkScan::Args& a, int threads) override {
    HISS_RETURN_IF_ERROR(check(a));
    if (a.cu_seqlens.present()) return Unsupported("ggml: SSM_SCAN of packed sequences");
    Scan s;
    s.sizes = {.batch = a.x.shape[0],
               .seqlen = a.x.shape[1],
               .nheads = a.x.shape[2],
               .headdim = a.x.shape[3],
               .ngroups = a.B.shape[2],
               .dstate = a.B.shape[3]};
    s.x = dense(a.x), s.dt = dense(a.dt), s.state = dense(a.initial_states);
    const std::vector<float> D = dense(a.D);
    const auto per_row = static_cast<size_t>(a.D.rank == 2 ? 1 : s.sizes.headdim);
    for (size_t i = 0; i < D.size() * per_row; ++i) s.D.push_back(D[i / per_row]);
    return finish(a, std::move(s), a.y, threads);
  }
  Prepared prepare(const SelectiveStateUpdate::Args& a, int threads) override {
    HISS_RETURN_IF_ERROR(check(a));
    if (a.state_indices.present()) return Unsupported("ggml: SSM_SCAN with slots");
    const int64_t nheads = a.x.shape[2], headdim = a.x.shape[3];
    const bool tied = SelectiveStateUpdate::describe(a).tied;
    SelectiveStateUpdate::Args heads = a;  // tied: one row stands for the head
    if (tied) heads.A.shape[1] = heads.A.shape[2] = 1;
    if (tied) heads.dt.shape[3] = heads.dt_bias.shape[1] = 1;
    Scan s;
    s.sizes = {.batch = a.x.shape[0],
               .seqlen = a.x.shape[1],
               .nheads = tied ? nheads : nheads * headdim,
               .headdim = tied ? headdim : 1,
               .ngroups = a.B.shape[2],
               .dstate = a.B.shape[3],
               .decay_per_state = !tied};
    s.x = dense(a.x), s.dt = dense(heads.dt), s.state = dense(a.state), s.D = dense(a.D);
    return finish(heads, std::move(s), a.y, threads);
  }

 private:
  // What the three kinds of arguments have in common.
  template <class Args>
  Prepared finish(const Args& a, Scan s, const ConstTensorView& y, int threads) {
    add_bias(s.dt, dense(a.dt_bias));
    s.A = decay_rates(a.A, a.A_is_log), s.B = dense(a.B), s.C = dense(a.C), s.z = dense(a.z);
    return start(ggml_, std::move(s), y, threads);
  }

  // state: (batch, width-1, dim), or empty.
  Prepared convolve(const ConstTensorView& x, const ConstTensorView& weight,
                    const ConstTensorView& bias, const std::vector<float>& state,
                    Activation activation, const ConstTensorView& y, int threads) {
    const int64_t batch = x.shape[0], seqlen = x.shape[1], dim = x.shape[2];
    const int64_t before = weight.shape[1] - 1, length = before + seqlen;
    std::vector<float> columns(static_cast<size_t>(batch * dim * length));
    const auto place = [&](const std::vector<float>& rows, int64_t count, int64_t first) {
      for (int64_t i = 0; i < static_cast<int64_t>(rows.size()); ++i) {
        const int64_t d = i % dim, t = i / dim % count, b = i / dim / count;
        columns[(b * dim + d) * length + first + t] = rows[i];
      }
    };
    place(state, before, 0);
    place(dense(x), seqlen, before);
    const std::vector<float> w = dense(weight);
    void* graph = ggml_.conv({batch, seqlen, dim, before + 1, columns.data(), w.data()}, threads);
    const auto finish = [biases = dense(bias), activation](const float* result,
                                                           std::vector<float>& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        const float v = result[i] + (biases.empty() ? 0 : biases[i % biases.size()]);
        values[i] = activation == Activation::kSilu ? silu(v) : v;
      }
    };
    return GgmlPeer::create(ggml_, graph, threads, y, finish);
  }

  const GgmlContender& ggml_;
};

}  // namespace

Result<std::unique_ptr<Contender>> open_ggml(const std::string& folder) {
  const std::string path = folder + "/ggml/libhiss_bench_ggml.so";
  if (access(path.c_str(), R_OK) != 0)
    return NotFound("ggml: not here; `./run bench contenders` builds it");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Internal(std::string("ggml: ") + dlerror());
  const auto entry =
      reinterpret_cast<decltype(&hiss_bench_ggml)>(dlsym(library, "hiss_bench_ggml"));
  if (entry == nullptr) return Internal("ggml: " + path + " lacks hiss_bench_ggml");
  return std::unique_ptr<Contender>(new Ggml(*entry()));
}

}  // namespace hiss::bench
