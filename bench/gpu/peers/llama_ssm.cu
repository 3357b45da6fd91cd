// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// llama.cpp's CUDA operators SSM_SCAN and SSM_CONV behind two C functions, for timing beside ours.
// The two sources are included from an unpacked llama.cpp (never part of this repository); what
// they need of the rest of its CUDA backend, a device record and a memory pool, is below.
// Built by build_peers.py as a shared library whose callers own all tensors and the stream.

#include <cstdarg>
#include <map>

#include "ssm-conv.cu"
#include "ssm-scan.cu"

namespace {

// Blocks are kept for reuse, so that nothing is allocated while a stream is being captured.
class Pool : public ggml_cuda_pool {
 public:
  void* alloc(size_t size, size_t* actual_size) override {
    auto found = free_.lower_bound(size);
    if (found != free_.end()) {
      void* block = found->second;
      *actual_size = found->first;
      free_.erase(found);
      return block;
    }
    void* block = nullptr;
    CUDA_CHECK(cudaMalloc(&block, size));
    *actual_size = size;
    return block;
  }
  void free(void* block, size_t size) override { free_.emplace(size, block); }

 private:
  std::multimap<size_t, void*> free_;
};

ggml_backend_cuda_context& context_on(cudaStream_t stream) {
  static auto* context = new ggml_backend_cuda_context(0);
  const bool changed = context->streams[0][0] != stream;
  context->streams[0][0] = stream;
  if (changed) {
    CUBLAS_CHECK(cublasSetStream(context->cublas_handle(), stream));  // forgets the workspace
    CUBLAS_CHECK(cublasSetWorkspace(context->cublas_handle(), context->cublas_workspaces[0][0],
                                    context->cublas_workspace_sizes[0]));
  }
  return *context;
}

// A dense F32 (or I32) tensor, the fastest axis first.
ggml_tensor tensor(const void* data, ggml_type type, int64_t n0, int64_t n1 = 1, int64_t n2 = 1,
                   int64_t n3 = 1) {
  ggml_tensor t = {};
  t.type = type;
  t.ne[0] = n0, t.ne[1] = n1, t.ne[2] = n2, t.ne[3] = n3;
  t.nb[0] = 4;
  for (int i = 1; i < 4; ++i) t.nb[i] = t.nb[i - 1] * static_cast<size_t>(t.ne[i - 1]);
  t.data = const_cast<void*>(data);
  return t;
}

}  // namespace

// What the sources need of ggml and of its CUDA backend.
[[noreturn]] void ggml_cuda_error(const char* stmt, const char* func, const char* file, int line,
                                  const char* msg) {
  std::fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, func, stmt, msg);
  std::abort();
}
extern "C" [[noreturn]] void ggml_abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list args;
  va_start(args, format);
  std::vfprintf(stderr, format, args);
  std::abort();
}
extern "C" int64_t ggml_nelements(const ggml_tensor* t) {
  return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}
extern "C" bool ggml_is_contiguous(const ggml_tensor*) { return true; }
extern "C" int64_t ggml_time_us() { return 0; }
const ggml_cuda_device_info& ggml_cuda_info() {
  static const ggml_cuda_device_info info = [] {
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    ggml_cuda_device_info result = {};
    result.device_count = result.physical_device_count = 1;
    auto& device = result.devices[0];
    device.cc = 100 * properties.major + 10 * properties.minor;
    device.nsm = properties.multiProcessorCount;
    device.smpb = properties.sharedMemPerBlock;
    device.smpbo = properties.sharedMemPerBlockOptin;
    device.warp_size = 32;
    return result;
  }();
  return info;
}
void ggml_cuda_set_device(int) {}
int ggml_cuda_get_device() { return 0; }
std::unique_ptr<ggml_cuda_pool> ggml_backend_cuda_context::new_pool_for_device(int, int) {
  return std::make_unique<Pool>();
}
ggml_backend_cuda_context::~ggml_backend_cuda_context() = default;

// state (sequences, heads, headdim, dstate), x (sequences, tokens, heads, headdim), dt (sequences,
// tokens, heads), A (heads, a_width) with a_width 1 or dstate, B and C (sequences, tokens, groups,
// dstate), ids (sequences); y: x's elements, then the final states. Softplus is inside; D, the gate
// and the bias of dt are not.
extern "C" void hiss_llama_ssm_scan(const float* state, const float* x, const float* dt,
                                    const float* A, const float* B, const float* C,
                                    const int32_t* ids, float* y, int64_t sequences, int64_t tokens,
                                    int64_t heads, int64_t headdim, int64_t dstate, int64_t groups,
                                    int64_t a_width, cudaStream_t stream) {
  ggml_tensor src[7] = {tensor(state, GGML_TYPE_F32, dstate, headdim, heads, sequences),
                        tensor(x, GGML_TYPE_F32, headdim, heads, tokens, sequences),
                        tensor(dt, GGML_TYPE_F32, heads, tokens, sequences),
                        tensor(A, GGML_TYPE_F32, a_width, heads),
                        tensor(B, GGML_TYPE_F32, dstate, groups, tokens, sequences),
                        tensor(C, GGML_TYPE_F32, dstate, groups, tokens, sequences),
                        tensor(ids, GGML_TYPE_I32, sequences)};
  ggml_tensor dst = tensor(y, GGML_TYPE_F32, ggml_nelements(&src[0]) + ggml_nelements(&src[1]));
  for (int i = 0; i < 7; ++i) dst.src[i] = &src[i];
  ggml_cuda_op_ssm_scan(context_on(stream), &dst);
}

// x (sequences, dim, width - 1 + tokens), weight (dim, width), bias (dim); y (sequences, tokens,
// dim) with the bias and SiLU fused.
extern "C" void hiss_llama_ssm_conv(const float* x, const float* weight, const float* bias,
                                    float* y, int64_t sequences, int64_t tokens, int64_t dim,
                                    int64_t width, cudaStream_t stream) {
  ggml_tensor src[2] = {tensor(x, GGML_TYPE_F32, width - 1 + tokens, dim, sequences),
                        tensor(weight, GGML_TYPE_F32, width, dim)};
  ggml_tensor conv = tensor(y, GGML_TYPE_F32, dim, tokens, sequences), out = conv;
  ggml_tensor bias_tensor = tensor(bias, GGML_TYPE_F32, dim), add = conv;
  conv.src[0] = &src[0], conv.src[1] = &src[1];
  add.src[0] = &conv, add.src[1] = &bias_tensor;
  ggml_cuda_op_ssm_conv(context_on(stream), &conv, &add, &out);
}
