// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// CUDA rows on invented machines, in builds with and without CUDA, on computers without a device.

#include <gtest/gtest.h>

#include <string>

#include "support/case.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

// Where no host memory is: reading through it ends the test.
void* device_pointer() { return reinterpret_cast<void*>(uintptr_t{256}); }

Machine with_device(int sm) {
  Machine machine;
  machine.sse4 = machine.avx2 = machine.avx512 = machine.neon = true;
  machine.cuda_sm = sm;
  machine.num_sms = 132;
  machine.shared_bytes_per_sm = 228 << 10;
  return machine;
}

bool is_cuda(std::string_view kernel) { return kernel.find("/cuda.") != kernel.npos; }

template <class Op>
typename Op::Problem base_problem(Device device) {
  TensorSet set(1);
  typename Op::Args args = cases<Op>().front().make(set);
  args.device = device;
  return Op::describe(args);
}

TEST(CudaTable, OnlyABuildWithCudaHasItsRows) {
  bool any = false;
  for_each_operator([&]<class Op>() {
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      any = any || is_cuda(kernel->name);
      EXPECT_EQ(is_cuda(kernel->name), kernel->device == Device::kCuda) << kernel->name;
    }
  });
  EXPECT_EQ(any, HISS_EXPECT_CUDA == 1);
}

TEST(CudaTable, RowsOfAnotherDeviceDeclineByName) {
  for_each_operator([]<class Op>() {
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      const Device other = kernel->device == Device::kCpu ? Device::kCuda : Device::kCpu;
      for (const int sm : {0, 80, 90})
        EXPECT_EQ(kernel->declines(base_problem<Op>(other), with_device(sm)), why::kDevice)
            << kernel->name;
    }
  });
}

TEST(CudaTable, WithoutADeviceOfTheArchitectureEveryRowDeclinesByName) {
  for_each_operator([]<class Op>() {
    const typename Op::Problem problem = base_problem<Op>(Device::kCuda);
    for (const int sm : {0, 70, 75}) {
      const Explanation e = explain<Op>(problem, with_device(sm));
      EXPECT_EQ(e.chosen, "");
      for (const Explanation::Row& row : e.rows)
        EXPECT_EQ(row.declined, why::kDevice) << row.kernel << " on sm_" << sm;
      const auto chosen = select<Op>(problem, with_device(sm));
      ASSERT_FALSE(chosen);
      EXPECT_EQ(chosen.error().code(), StatusCode::kUnsupported);
      EXPECT_EQ(chosen.error().message(),
                std::string(Op::kName) + ": no kernel accepts this problem");
    }
  });
}

TEST(CudaTable, CodeForOneChipIsNotChosenOnAnother) {
  for_each_operator([]<class Op>() {
    const typename Op::Problem problem = base_problem<Op>(Device::kCuda);
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->name.find("/cuda.sm90.") == std::string_view::npos) continue;
      for (const int sm : {80, 89, 100, 120})
        EXPECT_EQ(kernel->declines(problem, with_device(sm)), why::kDevice) << kernel->name;
    }
  });
}

// A convolution whose tensors are said to lie on the device.
CausalConv1d::Args device_args() {
  CausalConv1d::Args args;
  args.device = Device::kCuda;
  args.x = ConstTensorView(device_pointer(), DType::kF32, {1, 8, 4});
  args.weight = ConstTensorView(device_pointer(), DType::kF32, {4, 4});
  args.cu_seqlens = ConstTensorView(device_pointer(), DType::kI32, {3});
  args.y = TensorView(static_cast<std::byte*>(device_pointer()) + 4096, DType::kF32, {1, 8, 4});
  return args;
}

TEST(DeviceTensors, CheckReadsNoneOfTheirValues) {
  EXPECT_TRUE(ok(CausalConv1d::check(device_args())));
  CausalConv1dUpdate::Args update;
  update.device = Device::kCuda;
  update.x = ConstTensorView(device_pointer(), DType::kF32, {2, 1, 4});
  update.weight = ConstTensorView(device_pointer(), DType::kF32, {4, 4});
  update.state_indices = ConstTensorView(device_pointer(), DType::kI32, {2});
  auto* outputs = static_cast<std::byte*>(device_pointer()) + 4096;
  update.state = TensorView(outputs, DType::kF32, {5, 3, 4});
  update.y = TensorView(outputs + 4096, DType::kF32, {2, 1, 4});
  EXPECT_TRUE(ok(CausalConv1dUpdate::check(update)));
}

TEST(DeviceTensors, TheirShapesAreCheckedAsEver) {
  CausalConv1d::Args args = device_args();
  args.weight = ConstTensorView(device_pointer(), DType::kF32, {5, 4});
  const Status status = CausalConv1d::check(args);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "weight: got F32 [5, 4], want F32 [dim=4, width]");
  args = device_args();
  args.y.data = const_cast<void*>(args.x.data);
  EXPECT_EQ(CausalConv1d::check(args).message(),
            "y: got memory that overlaps x, want memory of its own");
}

TEST(DeviceTensors, AreUnsupportedWithoutADevice) {
  if (this_machine().cuda_sm != 0) GTEST_SKIP() << "there is a device";
  auto context = Context::create({.threads = 1});
  ASSERT_TRUE(context);
  const Status status = causal_conv1d(*context, device_args());
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(), "causal_conv1d: no kernel accepts this problem");
  EXPECT_FALSE(context->scratch(64, Device::kCuda));
}

TEST(DeviceTensors, AForcedRowSaysThatThereIsNoDevice) {
  if (HISS_EXPECT_CUDA == 0) GTEST_SKIP() << "no CUDA rows in this build";
  const std::string name = "causal_conv1d/cuda.sm80.any_view";
  const auto forced = select<CausalConv1d>(CausalConv1d::describe(device_args()), Machine(), name);
  ASSERT_FALSE(forced);
  EXPECT_EQ(forced.error().code(), StatusCode::kUnsupported);
  EXPECT_EQ(forced.error().message(), name + " declines: no device of this architecture");
}

}  // namespace
}  // namespace hiss::testing_support
