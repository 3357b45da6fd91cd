// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "field_text.h"
#include "hiss/ops/all.h"
#include "io/safetensors.h"
#include "ops/fields.h"

// Operator cases stored in safetensors files, as docs/hiss-op.md describes them.
namespace hiss::app {

// The tensors and options under one "op/case/" prefix, not interpreted yet.
struct StoredCase {
  std::string op;    // as written: "scan" or "selective_scan"
  std::string name;  // "op/case"
  std::map<std::string, ConstTensorView, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> options;
};

// kDataLoss: a key that is not op/case/tensor, or an operator that there is not.
Result<std::vector<StoredCase>> stored_cases(const io::Safetensors& file);

// The full name of an operator from either spelling; empty: there is none.
std::string_view full_operator_name(std::string_view op);

// A case as the arguments of its operator, with memory for the outputs. The file must outlive it.
template <class Op>
class OperatorCase {
 public:
  // kInvalidArgument names a tensor or option that the operator does not have, or says what
  // check() says.
  static Result<OperatorCase> load(const StoredCase& stored, Precision precision);

  const typename Op::Args& args() const { return args_; }

  struct Output {
    std::string_view tensor;   // of the operator: "state"
    std::string stored_name;   // in files: "state_after"
    TensorView got;            // what a run leaves here
    ConstTensorView expected;  // absent when the file has none
  };
  // In the shapes of the file.
  const std::vector<Output>& outputs() const { return outputs_; }

 private:
  Status take_options(const StoredCase& stored);
  Status take_tensors(const StoredCase& stored);
  Status add_outputs(const StoredCase& stored);
  Status add_output(std::string_view tensor, TensorView& view, DType dtype,
                    const std::vector<int64_t>& sizes, const StoredCase& stored);

  typename Op::Args args_;
  bool without_batch_ = false;  // the file leaves out a batch axis of 1
  std::vector<Output> outputs_;
  std::vector<std::shared_ptr<std::byte[]>> memory_;
};

}  // namespace hiss::app
