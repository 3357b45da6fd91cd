// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "node.h"

#include <algorithm>
#include <array>

#include "hiss/context.h"
#include "hiss/ops/all.h"

namespace hiss::ggml {
namespace {

constexpr int64_t kF32Bytes = 4;
constexpr int64_t kDecodeTokens = 2;  // so many at most are decoding steps, not a scan
int64_t step(size_t bytes) { return static_cast<int64_t>(bytes) / kF32Bytes; }

float* floats(const Tensor* t) { return static_cast<float*>(t->data); }

// The view of a tensor whose axes are named from the slowest, ggml's order turned round.
TensorView view(const Tensor* t, std::initializer_list<int> axes) {
  TensorView v;
  v.data = t->data;
  v.rank = 0;
  for (const int axis : axes) {
    v.shape[v.rank] = t->ne[axis];
    v.stride[v.rank++] = step(t->nb[axis]);
  }
  return v;
}

// Rows [first, first + count) of the slowest axis.
TensorView rows(TensorView v, int64_t first, int64_t count) {
  if (v.data != nullptr) v.data = v.as<float>() + first * v.stride[0];
  v.shape[0] = count;
  return v;
}

enum class Data : uint8_t { kPresent, kNotYet };

struct ScanNode {
  ScanNode(const Tensor* n, Data data)
      : node(n),
        start_rows(data == Data::kPresent ? static_cast<const int32_t*>(n->src[6]->data)
                                          : nullptr) {}
  const Tensor* const node;
  const int32_t* const start_rows;  // nullptr: not known yet
  const Tensor *s = node->src[0], *x = node->src[1], *A = node->src[3];
  const int64_t dstate = s->ne[0], headdim = x->ne[0], nheads = x->ne[1], tokens = x->ne[2],
                sequences = x->ne[3], slots = std::max(node->op_params[0], 1);
  bool scalar_decay() const { return A->ne[0] == 1; }

  TensorView y() const {
    return TensorView(node->data, DType::kF32, {sequences, tokens, nheads, headdim});
  }
  // (slots, sequences, nheads, headdim, dstate), behind y.
  TensorView states() const {
    TensorView v(nullptr, DType::kF32, {slots, sequences, nheads, headdim, dstate});
    if (node->data != nullptr) v.data = floats(node) + headdim * nheads * tokens * sequences;
    return v;
  }
  // The one run of rows of s that sequences [first, first + count) start from; false: none.
  bool starts_are_a_run(int64_t first, int64_t count) const {
    for (int64_t i = 1; i < count; ++i)
      if (start_rows[first + i] != start_rows[first] + i) return false;
    return true;
  }
  TensorView starts(int64_t first, int64_t count) const {
    return rows(view(s, {3, 2, 1, 0}), start_rows == nullptr ? 0 : start_rows[first], count);
  }
};

// The last slots - 1 tokens before the end, as the checkpoints of a scan: the oldest first.
struct Rollback {
  Rollback(const ScanNode& scan, int64_t first, int64_t count) {
    const auto [first_token, n] = rollback_tokens(scan.node);
    if (n <= 0) return;
    for (int64_t i = 0; i < n; ++i) token[static_cast<size_t>(i)] = first_token + i;
    tokens = ConstTensorView(token.data(), DType::kI64, {n});
    const TensorView slots = scan.states();
    states =
        TensorView(nullptr, DType::kF32, {count, n, slots.shape[2], slots.shape[3], slots.shape[4]},
                   {slots.stride[1], -slots.stride[0], slots.stride[2], slots.stride[3], 1});
    if (slots.data != nullptr)
      states.data = slots.as<float>() + n * slots.stride[0] + first * slots.stride[1];
  }
  static constexpr int64_t kMost = 64;
  std::array<int64_t, kMost> token{};
  ConstTensorView tokens;
  TensorView states;
};

// Sequences [first, first + count) of a node with one decay a head.
template <class F>
Status call_mamba2(const ScanNode& scan, int64_t first, int64_t count, Precision precision, F&& f) {
  const Tensor* n = scan.node;
  const Rollback rollback(scan, first, count);
  const TensorView states = scan.states();
  SsdChunkScan::Args a;
  a.x = rows(view(n->src[1], {3, 2, 1, 0}), first, count);
  a.dt = rows(view(n->src[2], {2, 1, 0}), first, count);
  a.A = view(n->src[3], {1});
  a.B = rows(view(n->src[4], {3, 2, 1, 0}), first, count);
  a.C = rows(view(n->src[5], {3, 2, 1, 0}), first, count);
  a.initial_states = scan.starts(first, count);
  a.final_states = TensorView(states.data, DType::kF32,
                              {count, states.shape[2], states.shape[3], states.shape[4]});
  if (states.data != nullptr) a.final_states.data = states.as<float>() + first * states.stride[1];
  a.checkpoint_tokens = rollback.tokens, a.checkpoint_states = rollback.states;
  a.y = rows(scan.y(), first, count);
  a.dt_softplus = true, a.precision = precision;
  return f(a);
}

// Row p of every head of sequences [first, first + count) of a node with one decay a state: dt, A,
// B and C are the head's, so with more than one row a head no single view holds its channels.
template <class F>
Status call_mamba1(const ScanNode& scan, int64_t p, int64_t first, int64_t count,
                   Precision precision, F&& f) {
  const Tensor* n = scan.node;
  const auto row = [p](TensorView v, int axis) {
    if (v.data != nullptr) v.data = v.as<float>() + p * v.stride[axis];
    for (int i = axis; i + 1 < v.rank; ++i)
      v.shape[i] = v.shape[i + 1], v.stride[i] = v.stride[i + 1];
    --v.rank;
    return v;
  };
  const TensorView states = scan.states();
  SelectiveScan::Args a;
  a.u = row(rows(view(n->src[1], {3, 2, 1, 0}), first, count), 3);
  a.dt = rows(view(n->src[2], {2, 1, 0}), first, count);
  a.A = view(n->src[3], {1, 0});
  a.B = rows(view(n->src[4], {3, 2, 1, 0}), first, count);
  a.C = rows(view(n->src[5], {3, 2, 1, 0}), first, count);
  a.initial_state = row(scan.starts(first, count), 2);
  TensorView final_state(states.data, DType::kF32,
                         {count, states.shape[2], states.shape[3], states.shape[4]});
  if (states.data != nullptr) final_state.data = states.as<float>() + first * states.stride[1];
  a.final_state = row(final_state, 2);
  a.y = row(rows(scan.y(), first, count), 3);
  a.dt_softplus = true, a.precision = precision;
  return f(a);
}

// A few tokens of sequences [first, first + count): as decoding steps, whose state passes through
// memory once. With one decay a state and one row a head, the heads of a group are the rows of one.
template <class F>
Status call_update(const ScanNode& scan, int64_t first, int64_t count, Precision precision, F&& f) {
  const Tensor* n = scan.node;
  const TensorView x = rows(view(n->src[1], {3, 2, 1, 0}), first, count);
  const TensorView dt = rows(view(n->src[2], {2, 1, 0}), first, count);
  const TensorView A = view(n->src[3], {1, 0}), starts = scan.starts(first, count);
  const TensorView y = rows(scan.y(), first, count);
  TensorView ends = scan.states();  // slot 0
  if (ends.data != nullptr) ends.data = ends.as<float>() + first * ends.stride[1];
  const int64_t groups = n->src[4]->ne[1];
  const bool as_one = scan.headdim == 1 && !scan.scalar_decay();
  const int64_t heads = as_one ? groups : scan.nheads;
  const int64_t rows_a_head = as_one ? scan.nheads / groups : scan.headdim;
  // Axes axis and axis + 1 become heads and their rows, as they are counted here.
  const auto split = [&](const TensorView& v, int axis, int64_t step_between_heads,
                         int64_t step_between_rows) {
    TensorView r = v;
    r.shape[axis] = heads, r.shape[axis + 1] = rows_a_head;
    r.stride[axis] = step_between_heads, r.stride[axis + 1] = step_between_rows;
    return r;
  };
  const auto regroup = [&](const TensorView& v, int axis) {
    return as_one ? split(v, axis, v.stride[axis] * rows_a_head, v.stride[axis]) : v;
  };
  SelectiveStateUpdate::Args a;
  a.x = regroup(x, 2);
  TensorView steps = dt;  // (sequence, token, head), the same for all rows of a head
  steps.rank = 4, steps.shape[3] = 1;
  a.dt = as_one ? split(steps, 2, dt.stride[2] * rows_a_head, dt.stride[2])
                : split(steps, 2, dt.stride[2], 0);
  TensorView decay = A;
  decay.rank = 3, decay.shape[2] = scan.dstate,
  decay.stride[2] = scan.scalar_decay() ? 0 : A.stride[1];
  a.A = as_one ? split(decay, 0, A.stride[0] * rows_a_head, A.stride[0])
               : split(decay, 0, A.stride[0], 0);
  a.B = rows(view(n->src[4], {3, 2, 1, 0}), first, count);
  a.C = rows(view(n->src[5], {3, 2, 1, 0}), first, count);
  a.initial_states = regroup(starts, 1);
  TensorView states(ends.data, DType::kF32, {count, scan.nheads, scan.headdim, scan.dstate});
  a.state = regroup(states, 1);
  a.y = regroup(y, 2);
  a.dt_softplus = true, a.precision = precision;
  return f(a);
}

template <class F>
Status call_scan(const ScanNode& scan, int64_t first, int64_t count, Precision precision, F&& f) {
  if (scan.tokens <= kDecodeTokens && scan.slots == 1)
    return call_update(scan, first, count, precision, f);
  if (scan.scalar_decay()) return call_mamba2(scan, first, count, precision, f);
  for (int64_t p = 0; p < scan.headdim; ++p)
    HISS_RETURN_IF_ERROR(call_mamba1(scan, p, first, count, precision, f));
  return {};
}

template <class F>
Status call_conv(const Tensor* node, Precision precision, F&& f) {
  const Tensor *sx = node->src[0], *weight = node->src[1];
  const int64_t before = weight->ne[0] - 1;  // columns of the previous call
  CausalConv1d::Args a;
  TensorView x = view(sx, {2, 0, 1});
  a.initial_state = x, a.initial_state.shape[1] = before;
  if (x.data != nullptr) x.data = x.as<float>() + before * x.stride[1];
  x.shape[1] -= before;
  a.x = x, a.weight = view(weight, {1, 0}), a.y = view(node, {2, 1, 0});
  a.precision = precision;
  return f(a);
}

const Machine& machine_of(const Place& place) {
  return place.machine == nullptr ? this_machine() : *place.machine;
}

// The arguments as they are at a place, where they are not as on the CPU.
template <class Args>
Args placed(Args a, const Place& place) {
  a.device = place.device;
  if (place.device == hiss::Device::kCpu) return a;
  if constexpr (requires { a.checkpoint_tokens; }) {
    if (a.checkpoint_tokens.rank > 0) a.checkpoint_tokens.data = place.rollback_tokens;
  }
  if constexpr (requires { a.state; }) a.initial_states = {};  // they are in the slots
  return a;
}

// The operator that arguments are of.
template <class Args>
struct OperatorOf;
template <>
struct OperatorOf<CausalConv1d::Args> {
  using Type = CausalConv1d;
};
template <>
struct OperatorOf<SelectiveScan::Args> {
  using Type = SelectiveScan;
};
template <>
struct OperatorOf<SelectiveStateUpdate::Args> {
  using Type = SelectiveStateUpdate;
};
template <>
struct OperatorOf<SsdChunkScan::Args> {
  using Type = SsdChunkScan;
};

// Asks nothing of the data: some of what check() wants may not be there yet.
template <class Args>
auto kernel_for(const Args& args, const Place& place) {
  using Op = typename OperatorOf<Args>::Type;
  return select<Op>(Op::describe(args), machine_of(place));
}

bool is(const Tensor* t, int type) { return t != nullptr && t->type == type; }

bool is_long_enough(const Options& options, int64_t tokens, bool decay_of_each_state) {
  if (options.min_tokens > 0) return tokens >= options.min_tokens;
  return decay_of_each_state || tokens > 1;
}

// Calls f with the arguments of each problem that the node becomes, wherever its tensors are.
template <class F>
Status for_each_problem(const Host& host, const Options& options, const Tensor* node, Data data,
                        const Place& place, F&& f) {
  const auto call = [&](const auto& args) { return f(placed(args, place)); };
  if (node->op == host.op_ssm_conv) return call_conv(node, options.precision, call);
  const ScanNode scan(node, place.device == hiss::Device::kCpu ? data : Data::kNotYet);
  if (scan.start_rows == nullptr || scan.starts_are_a_run(0, scan.sequences))
    return call_scan(scan, 0, scan.sequences, options.precision, call);
  for (int64_t i = 0; i < scan.sequences; ++i)
    HISS_RETURN_IF_ERROR(call_scan(scan, i, 1, options.precision, call));
  return {};
}

}  // namespace

TokenRange rollback_tokens(const Tensor* scan) {
  const int64_t tokens = scan->src[1]->ne[2], slots = std::max(scan->op_params[0], 1);
  const int64_t count = std::max<int64_t>(std::min(slots, tokens) - 1, 0);
  return {tokens - 1 - count, count};
}

Status supported(const Host& host, const Options& options, const Tensor* node, const Place& place) {
  return for_each_problem(host, options, node, Data::kNotYet, place,
                          [&](const auto& args) { return kernel_for(args, place).error(); });
}

bool takes(const Host& host, const Options& options, const Tensor* node) {
  if (node->op == host.op_ssm_conv) {
    return is(node->src[0], kTypeF32) && is(node->src[1], kTypeF32) &&
           is_long_enough(options, node->ne[1], false);
  }
  if (node->op != host.op_ssm_scan) return false;
  for (int i = 0; i < 6; ++i)
    if (!is(node->src[i], kTypeF32)) return false;
  if (!is(node->src[6], kTypeI32)) return false;
  const ScanNode scan(node, Data::kNotYet);
  return is_long_enough(options, scan.tokens, !scan.scalar_decay()) &&
         scan.slots <= Rollback::kMost && (scan.slots == 1 || scan.scalar_decay());
}

size_t workspace_bytes(const Host& host, const Options& options, const Tensor* node,
                       const Place& place) {
  size_t most = 0;
  const auto ask = [&]<class Args>(const Args& args) -> Status {
    using Op = typename OperatorOf<Args>::Type;
    const Args at = placed(args, place);
    HISS_ASSIGN_OR_RETURN(const Kernel<Op>* kernel, kernel_for(at, place));
    if (kernel->workspace_bytes != nullptr)
      most = std::max(most, kernel->workspace_bytes(Op::describe(at), machine_of(place)));
    return {};
  };
  if (node->op == host.op_ssm_conv) {
    (void)call_conv(node, options.precision, ask);
  } else {  // in one call, or one for each sequence: that depends on ids
    const ScanNode scan(node, Data::kNotYet);
    (void)call_scan(scan, 0, scan.sequences, options.precision, ask);
    (void)call_scan(scan, 0, std::min<int64_t>(scan.sequences, 1), options.precision, ask);
  }
  return most;
}

Status compute(const Host& host, const Options& options, const Tensor* node, const Launch& launch,
               const Place& place) {
  return for_each_problem(
      host, options, node, Data::kPresent, place, [&]<class Args>(const Args& args) -> Status {
        using Op = typename OperatorOf<Args>::Type;
        HISS_RETURN_IF_ERROR(Op::check(args));
        HISS_ASSIGN_OR_RETURN(const Kernel<Op>* kernel, kernel_for(args, place));
        return kernel->run(args, launch);
      });
}

std::string describe_choice(const Host& host, const Options& options, const Tensor* node,
                            const Place& place) {
  std::string text, kernel;
  const auto name = [&](const auto& args) -> Status {
    HISS_ASSIGN_OR_RETURN(const auto* chosen, kernel_for(placed(args, place), place));
    kernel = chosen->name;
    return {};
  };
  const auto add = [&text](const char* letter, int64_t value) {
    text += std::string(" ") + letter + std::to_string(value);
  };
  Status status;
  if (node->op == host.op_ssm_conv) {
    text = "SSM_CONV";
    add("W", node->src[1]->ne[0]), add("C", node->ne[0]), add("T", node->ne[1]),
        add("S", node->ne[2]);
    status = call_conv(node, options.precision, name);
  } else {
    const ScanNode scan(node, place.device == hiss::Device::kCpu ? Data::kPresent : Data::kNotYet);
    text = "SSM_SCAN";
    add("N", scan.dstate), add("P", scan.headdim), add("H", scan.nheads);
    add("G", node->src[4]->ne[1]), add("T", scan.tokens), add("S", scan.sequences);
    add("K", scan.slots);
    status = call_scan(scan, 0, scan.sequences, options.precision, name);
  }
  return text + ": " + (status.ok() ? kernel : status.message());
}

}  // namespace hiss::ggml
