// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/packed_product.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "models/nn/one_thread.h"

namespace hiss::models {
namespace {

using Memory = dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Memory::data_type type_of(Operands operands) {
  return operands == Operands::kBF16 ? Memory::data_type::bf16 : Memory::data_type::f32;
}

Status status_of(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory)
    return ResourceExhausted("no memory for a matrix product");
  return Internal(std::string("oneDNN refused a matrix product: ") + error.what());
}

dnnl::matmul::primitive_desc describe(const Memory::desc& a, const Memory::desc& b,
                                      const Memory::desc& c, Write write) {
  dnnl::primitive_attr attributes;
  // Otherwise threads would share what the library takes when a product is prepared.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (write == Write::kAdd) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), a, b, c, attributes};
#else
  return {{a, b, c}, attributes, engine()};
#endif
}

}  // namespace

Operands operands_for(Precision precision, const Machine& machine) {
  return precision == Precision::kFast && machine.avx512_bf16 ? Operands::kBF16 : Operands::kF32;
}

const char* product_name(Operands operands) {
  return operands == Operands::kBF16 ? "matrix_product/onednn.bf16" : "matrix_product/onednn.f32";
}

struct PackedWeight::Data {
  int64_t rows, cols;
  Operands operands;
  Memory memory;
};
int64_t PackedWeight::rows() const { return data_->rows; }
int64_t PackedWeight::cols() const { return data_->cols; }

Result<PackedWeight> PackedWeight::create(const ConstMatrix& weight, int64_t cols,
                                          Operands operands) {
  assert(cols >= weight.cols);
  const OneThread one_thread;
  try {
    std::vector<float> dense(static_cast<size_t>(weight.rows * cols));
    for (int64_t i = 0; i < weight.rows; ++i)
      std::copy_n(weight.data + i * weight.stride, weight.cols, dense.data() + i * cols);
    constexpr int64_t kTypicalRows = 64;  // the layout does not depend on them
    const Memory::desc a({kTypicalRows, weight.rows}, type_of(operands), Memory::format_tag::ab);
    const Memory::desc c({kTypicalRows, cols}, Memory::data_type::f32, Memory::format_tag::ab);
    const Memory::desc any({weight.rows, cols}, type_of(operands), Memory::format_tag::any);
    Memory packed(describe(a, any, c, Write::kReplace).weights_desc(), engine());
    Memory plain({{weight.rows, cols}, Memory::data_type::f32, Memory::format_tag::ab}, engine(),
                 dense.data());
    dnnl::stream stream(engine());
    dnnl::reorder(plain, packed).execute(stream, plain, packed);
    stream.wait();
    PackedWeight result;
    result.data_ = std::make_shared<const Data>(Data{weight.rows, cols, operands, packed});
    return result;
  } catch (const dnnl::error& error) {
    return status_of(error);
  }
}

struct PackedProduct::Prepared {
  // The library's handles of a call's memory. Making them takes as long as a small product.
  struct Handles {
    Memory a, c, scratch;
  };
  Handles borrow() {
    const std::lock_guard lock(mutex);
    if (idle.empty())
      return {Memory(a, engine(), nullptr), Memory(c, engine(), nullptr),
              Memory(scratch, engine())};
    Handles handles = std::move(idle.back());
    idle.pop_back();
    return handles;
  }
  void give_back(Handles handles) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(handles));
  }

  dnnl::matmul primitive;
  Memory::desc a, c, scratch;
  dnnl::stream stream;
  std::mutex mutex{};
  std::vector<Handles> idle{};  // as many as threads have run it at once
};

Result<PackedProduct> PackedProduct::create(int64_t m, const PackedWeight& weight, Write write) {
  const OneThread one_thread;
  try {
    const PackedWeight::Data& b = *weight.data_;
    const Memory::desc a({m, b.rows}, type_of(b.operands), Memory::format_tag::ab);
    const Memory::desc c({m, b.cols}, Memory::data_type::f32, Memory::format_tag::ab);
    const dnnl::matmul::primitive_desc described = describe(a, b.memory.get_desc(), c, write);
    PackedProduct result;
    result.prepared_.reset(new Prepared{dnnl::matmul(described), a, c, described.scratchpad_desc(),
                                        dnnl::stream(engine())});
    return result;
  } catch (const dnnl::error& error) {
    return status_of(error);
  }
}

Status PackedProduct::run(const void* a, const PackedWeight& weight, float* c) const {
  const OneThread one_thread;
  try {
    Prepared::Handles handles = prepared_->borrow();
    handles.a.set_data_handle(const_cast<void*>(a));  // only read
    handles.c.set_data_handle(c);
    const std::array<dnnl_exec_arg_t, 4> args = {{{DNNL_ARG_SRC, handles.a.get()},
                                                  {DNNL_ARG_WEIGHTS, weight.data_->memory.get()},
                                                  {DNNL_ARG_DST, handles.c.get()},
                                                  {DNNL_ARG_SCRATCHPAD, handles.scratch.get()}}};
    const dnnl_status_t status =
        dnnl_primitive_execute(prepared_->primitive.get(), prepared_->stream.get(),
                               static_cast<int>(args.size()), args.data());
    prepared_->give_back(std::move(handles));
    if (status != dnnl_success) throw dnnl::error(status, "execution");
    return {};
  } catch (const dnnl::error& error) {
    return status_of(error);
  }
}

}  // namespace hiss::models
