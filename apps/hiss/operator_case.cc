// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "operator_case.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/element.h"

namespace hiss::app {
namespace {

struct ShortName {
  std::string_view name, full;
};
constexpr ShortName kShortNames[] = {
    {"conv", CausalConv1d::kName}, {"scan", SelectiveScan::kName}, {"ssd", SsdChunkScan::kName}};

// "op", "case", "tensor"; false unless there are just two slashes with something between.
bool split(std::string_view key, std::array<std::string_view, 3>& parts) {
  const size_t first = key.find('/'), second = key.find('/', first + 1);
  if (first == key.npos || second == key.npos || key.find('/', second + 1) != key.npos)
    return false;
  parts = {key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1)};
  return !parts[0].empty() && !parts[1].empty() && !parts[2].empty();
}

template <class View>
constexpr bool kIsOutput = std::is_same_v<std::remove_cvref_t<View>, TensorView>;

// Tensors whose axis 0 is the batch and that a file may store without it when it is 1.
bool has_batch_axis(std::string_view tensor) {
  constexpr std::string_view kNames[] = {
      "x", "u", "dt", "z", "B", "C", "y", "snapshots", "checkpoint_states"};
  return std::find(std::begin(kNames), std::end(kNames), tensor) != std::end(kNames);
}

ConstTensorView with_batch_axis(const ConstTensorView& view) {
  if (view.rank == kMaxRank) return view;
  ConstTensorView lifted = view;
  lifted.rank = view.rank + 1;
  for (int axis = 0; axis < view.rank; ++axis) {
    lifted.shape[axis + 1] = view.shape[axis];
    lifted.stride[axis + 1] = view.stride[axis];
  }
  lifted.shape[0] = 1;
  lifted.stride[0] = view.elements();
  return lifted;
}

TensorView without_batch_axis(const TensorView& view) {
  TensorView lowered = view;
  lowered.rank = view.rank - 1;
  for (int axis = 0; axis < lowered.rank; ++axis) {
    lowered.shape[axis] = view.shape[axis + 1];
    lowered.stride[axis] = view.stride[axis + 1];
  }
  return lowered;
}

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

std::string_view full_operator_name(std::string_view op) {
  for (const ShortName& known : kShortNames)
    if (op == known.name) return known.full;
  std::string_view full;
  for_each_operator([&]<class Op>() {
    if (op == Op::kName) full = Op::kName;
  });
  return full;
}

Result<std::vector<StoredCase>> stored_cases(const io::Safetensors& file) {
  std::map<std::string, StoredCase> cases;
  const auto find = [&](const std::array<std::string_view, 3>& parts) -> StoredCase& {
    const std::string name = std::string(parts[0]) + "/" + std::string(parts[1]);
    StoredCase& stored = cases[name];
    stored.op = parts[0];
    stored.name = name;
    return stored;
  };
  std::array<std::string_view, 3> parts;
  for (const auto& [key, view] : file.tensors()) {
    if (!split(key, parts))
      return DataLoss("tensor " + key + ": want a name of the form operator/case/tensor");
    if (full_operator_name(parts[0]).empty())
      return DataLoss("tensor " + key + ": there is no operator " + std::string(parts[0]));
    find(parts).tensors.emplace(parts[2], view);
  }
  for (const auto& [key, value] : file.metadata())
    if (split(key, parts) && !full_operator_name(parts[0]).empty())
      find(parts).options.emplace(parts[2], value);
  std::vector<StoredCase> list;
  for (auto& [name, stored] : cases) list.push_back(std::move(stored));
  return list;
}

template <class Op>
Result<OperatorCase<Op>> OperatorCase<Op>::load(const StoredCase& stored, Precision precision) {
  OperatorCase loaded;
  loaded.args_.precision = precision;
  HISS_RETURN_IF_ERROR(loaded.take_options(stored));
  HISS_RETURN_IF_ERROR(loaded.take_tensors(stored));
  HISS_RETURN_IF_ERROR(loaded.add_outputs(stored));
  HISS_RETURN_IF_ERROR(Op::check(loaded.args_));
  return loaded;
}

// The short names are those of files whose options are understood: softplus, and SiLU where the
// case says so.
template <class Op>
Status OperatorCase<Op>::take_options(const StoredCase& stored) {
  if (stored.op != Op::kName) {
    if constexpr (requires { args_.dt_softplus; }) args_.dt_softplus = true;
    if constexpr (requires { args_.activation; })
      if (stored.name.starts_with(stored.op + "/silu")) args_.activation = Activation::kSilu;
  }
  std::vector<std::string> known;
  Status status;
  ops::Fields<Op>::options(args_, [&](std::string_view name, auto& value) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>, float>) {
      known.emplace_back(name);
      const auto text = stored.options.find(name);
      if (text == stored.options.end() || !status.ok()) return;
      if (Status parsed = parse(text->second, value); !parsed.ok())
        status = InvalidArgument(std::string(name) + ": " + parsed.message());
    }
  });
  HISS_RETURN_IF_ERROR(status);
  for (const auto& [name, value] : stored.options)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return InvalidArgument("option " + name + ": " + std::string(Op::kName) + " has " +
                             joined(known));
  return {};
}

template <class Op>
Status OperatorCase<Op>::take_tensors(const StoredCase& stored) {
  constexpr bool kHeads = requires { args_.x; }
  &&!requires { args_.weight; };
  const int full_rank = kHeads ? 4 : 3;
  std::vector<std::string> known;
  const auto& tensors = stored.tensors;
  ops::Fields<Op>::tensors(args_, [&](std::string_view name, auto& view) {
    known.emplace_back(name);
    const auto found = tensors.find(name);
    if constexpr (!kIsOutput<decltype(view)>)
      if (found != tensors.end()) view = found->second;
  });
  if constexpr (requires { args_.dt_min; }) {
    known.emplace_back("dt_limit");
    if (const auto limit = tensors.find("dt_limit"); limit != tensors.end()) {
      const ConstTensorView& view = limit->second;
      if (view.rank != 1 || view.shape[0] != 2)
        return InvalidArgument("dt_limit: got " + to_string(view) + ", want F32 [2]");
      args_.dt_min = static_cast<float>(load_element(view, 0));
      args_.dt_max = static_cast<float>(load_element(view, view.stride[0]));
    }
  }
  if constexpr (requires { args_.state; }) known.emplace_back("state_after");
  for (const auto& [name, view] : tensors)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return InvalidArgument("tensor " + name + ": " + std::string(Op::kName) + " has " +
                             joined(known));

  const auto sequence = tensors.find(kHeads || requires { args_.weight; } ? "x" : "u");
  without_batch_ = sequence != tensors.end() && sequence->second.rank == full_rank - 1;
  if (!without_batch_) return {};
  ops::Fields<Op>::tensors(args_, [&](std::string_view name, auto& view) {
    if constexpr (!kIsOutput<decltype(view)>)
      if (view.present() && has_batch_axis(name)) view = with_batch_axis(view);
  });
  return {};
}

template <class Op>
Status OperatorCase<Op>::add_output(std::string_view tensor, TensorView& view, DType dtype,
                                    const std::vector<int64_t>& sizes, const StoredCase& stored) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size > 0 && elements > kMost / size)
      return ResourceExhausted(std::string(tensor) + ": more than 2^40 elements");
    elements *= std::max<int64_t>(size, 0);
  }
  memory_.push_back(std::make_shared<std::byte[]>(elements * size_of(dtype) + 1));
  view = TensorView(memory_.back().get(), dtype, {});
  view.rank = static_cast<int>(sizes.size());
  int64_t step = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.shape[axis] = std::max<int64_t>(sizes[axis], 0);
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  Output output{tensor, std::string(tensor), view, {}};
  if (tensor == "state") output.stored_name = "state_after";
  if (without_batch_ && has_batch_axis(tensor)) output.got = without_batch_axis(view);
  if (const auto found = stored.tensors.find(output.stored_name); found != stored.tensors.end())
    output.expected = found->second;
  outputs_.push_back(std::move(output));
  return {};
}

// Shapes from inputs that have not been checked yet: wrong ones give shapes that check() refuses.
template <class Op>
Status OperatorCase<Op>::add_outputs(const StoredCase& stored) {
  auto& a = args_;
  const auto sizes = [](const ConstTensorView& view) {
    return std::vector<int64_t>(view.shape.begin(), view.shape.begin() + std::max(view.rank, 0));
  };
  const auto add = [&](std::string_view name, TensorView& view, DType dtype,
                       const std::vector<int64_t>& shape) {
    return add_output(name, view, dtype, shape, stored);
  };
  const auto stored_type = [&](std::string_view name, DType otherwise) {
    const auto found = stored.tensors.find(name);
    return found != stored.tensors.end() && is_float(found->second.dtype) ? found->second.dtype
                                                                          : otherwise;
  };
  if constexpr (requires { a.state; }) {
    const auto before = stored.tensors.find("state");
    if (before == stored.tensors.end()) return InvalidArgument("state: got absent, want a tensor");
    HISS_RETURN_IF_ERROR(add("state", a.state, before->second.dtype, sizes(before->second)));
    copy_elements(before->second, a.state);
    std::vector<int64_t> shape = sizes(a.state);
    if (stored.tensors.contains("snapshots") && !shape.empty() && a.state.rank < kMaxRank) {
      shape.insert(shape.begin() + 1, a.x.shape[1]);
      shape[0] = a.x.shape[0];
      HISS_RETURN_IF_ERROR(add("snapshots", a.snapshots, a.state.dtype, shape));
    }
    return add("y", a.y, a.x.dtype, sizes(a.x));
  } else {
    const ConstTensorView& x = [&]() -> const ConstTensorView& {
      if constexpr (requires { a.u; })
        return a.u;
      else
        return a.x;
    }();
    const int64_t nseq = a.cu_seqlens.present() ? a.cu_seqlens.shape[0] - 1 : x.shape[0];
    std::vector<int64_t> state{nseq};
    DType type = DType::kF32;
    if constexpr (requires { a.weight; })
      state.insert(state.end(), {a.weight.shape[1] - 1, x.shape[2]});
    else if constexpr (requires { a.u; })
      state.insert(state.end(), {x.shape[2], a.A.shape[1]});
    else
      state.insert(state.end(), {x.shape[2], x.shape[3], a.B.shape[3]});
    if constexpr (requires { a.final_states; }) {
      type =
          a.initial_states.present() ? a.initial_states.dtype : stored_type("final_states", type);
      HISS_RETURN_IF_ERROR(add("final_states", a.final_states, type, state));
    } else {
      HISS_RETURN_IF_ERROR(add("final_state", a.final_state, type, state));
    }
    if constexpr (requires { a.checkpoint_states; }) {
      if (a.checkpoint_tokens.present()) {
        state.insert(state.begin() + 1, a.checkpoint_tokens.shape[0]);
        state[0] = x.shape[0];
        HISS_RETURN_IF_ERROR(add("checkpoint_states", a.checkpoint_states, type, state));
      }
    }
    return add("y", a.y, x.dtype, sizes(x));
  }
}

template class OperatorCase<CausalConv1d>;
template class OperatorCase<CausalConv1dUpdate>;
template class OperatorCase<SelectiveScan>;
template class OperatorCase<SsdChunkScan>;
template class OperatorCase<SelectiveStateUpdate>;

}  // namespace hiss::app
