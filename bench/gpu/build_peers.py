#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Gets and builds the peers: `build_peers.py fetch` downloads and unpacks their sources with pip,
`build_peers.py build` compiles what they have in CUDA for the GPU of this machine, against the
PyTorch of the Python that runs this; `build_peers.py backend-ops` builds llama.cpp's CUDA backend
and its test-backend-ops with cmake, an hour of processor time. They may run on different machines."""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCES = {
    "mamba_ssm-2.3.2.post1": "104cc47e9101e5401a675fa2b784f2952b9b037f3b1dd83b5ac544394e95d028",
    "causal_conv1d-1.7.0": "3202758494eaa7b597ce1c282dfa188889506bfcb92cad3c407d26736bfcd32b",
    "llama_cpp_python-0.3.36": "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
}
NVCC_FLAGS = [  # those of the two packages' own setup.py
    "-O3",
    "-U__CUDA_NO_HALF_OPERATORS__",
    "-U__CUDA_NO_HALF_CONVERSIONS__",
    "-U__CUDA_NO_BFLOAT16_OPERATORS__",
    "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-U__CUDA_NO_BFLOAT162_OPERATORS__",
    "-U__CUDA_NO_BFLOAT162_CONVERSIONS__",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "--use_fast_math",
]
# pip prepares the metadata of a source before it keeps it, and these sources import torch for that.
FAKE_TORCH = {
    "torch/__init__.py":
        "__version__ = '2.11.0'\nclass version: cuda, hip = '13.0', None\n",
    "torch/utils/__init__.py":
        "",
    "torch/utils/cpp_extension.py":
        "BuildExtension = CppExtension = CUDAExtension = CUDA_HOME = HIP_HOME = None\n",
}


def fetch(peers):
  peers.mkdir(parents=True, exist_ok=True)
  for source, want in SOURCES.items():
    archive = peers / f"{source}.tar.gz"
    if not archive.exists():
      package, version = source.split("-", 1)
      with tempfile.TemporaryDirectory() as fake:
        for path, text in FAKE_TORCH.items():
          file = pathlib.Path(fake, path)
          file.parent.mkdir(parents=True, exist_ok=True)
          file.write_text(text)
        isolated = [] if package.startswith("llama") else ["--no-build-isolation"]
        environment = dict(os.environ,
                           MAMBA_SKIP_CUDA_BUILD="TRUE",
                           CAUSAL_CONV1D_SKIP_CUDA_BUILD="TRUE")
        if isolated:
          environment["PYTHONPATH"] = fake
        subprocess.run([
            sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", *isolated,
            "-d",
            str(peers), f"{package}=={version}"
        ],
                       check=True,
                       env=environment)
    got = hashlib.sha256(archive.read_bytes()).hexdigest()
    if got != want:
      raise SystemExit(f"{archive}: sha256 is {got}, should be {want}")
    if not (peers / source).is_dir():
      with tarfile.open(archive) as tar:
        tar.extractall(peers, filter="data")


def without(source, pattern, target):
  """A copy of a source that lacks the instantiations of types that are not measured."""
  lines = source.read_text().splitlines(keepends=True)
  target.write_text("".join(
      x for x in lines if not (x.startswith("template void") and re.search(pattern, x))))
  return str(target)


def build_extension(name, sources, include, library):
  """Forward only: what the rest of the binding would call is not there, and is never called, so
    the library is bound lazily."""
  from torch.utils import cpp_extension
  work = library / f"build_{name}"
  work.mkdir(exist_ok=True)
  sys.setdlopenflags(os.RTLD_LAZY)
  cpp_extension.load(name,
                     sources(work),
                     extra_include_paths=[str(include)],
                     extra_cuda_cflags=NVCC_FLAGS,
                     extra_ldflags=["-Wl,-z,lazy"],
                     build_directory=str(work))
  (work / f"{name}.so").replace(library / f"{name}.so")


def build(peers):
  import torch
  major, minor = torch.cuda.get_device_capability()
  os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"
  library = peers / "lib"
  library.mkdir(exist_ok=True)
  scan = peers / "mamba_ssm-2.3.2.post1" / "csrc" / "selective_scan"
  conv = peers / "causal_conv1d-1.7.0" / "csrc"
  mixed = "at::Half|<float, at::BFloat16>|<at::BFloat16, float>"
  build_extension(
      "selective_scan_cuda", lambda work: [str(scan / "selective_scan.cpp")] + [
          without(scan / f"selective_scan_fwd_{t}.cu", "complex_t", work / f"scan_{t}.cu")
          for t in ("fp32", "fp16", "bf16")
      ], scan, library)
  build_extension(
      "causal_conv1d_cuda", lambda work: [str(conv / "causal_conv1d.cpp")] + [
          without(conv / f"causal_conv1d_{part}.cu", mixed, work / f"conv_{part}.cu")
          for part in ("fwd", "update")
      ], conv, library)

  ggml = peers / "llama_cpp_python-0.3.36" / "vendor" / "llama.cpp" / "ggml"
  here = pathlib.Path(__file__).resolve().parent
  blas = pathlib.Path(
      torch.__file__).parent.parent / "nvidia" / f"cu{torch.version.cuda[:2]}" / "lib"
  subprocess.run(
      [
          "nvcc",
          "-std=c++17",
          "-O3",
          "--use_fast_math",
          "-extended-lambda",
          "-w",
          "-shared",
          "-Xcompiler",
          "-fPIC",
          f"-arch=sm_{major}{minor}",
          "-cudart",
          "shared",
          "-DGGML_CUDA_PEER_MAX_BATCH_SIZE=128",  # as its own build sets it
          *(f"-I{d}" for d in (ggml / "src" / "ggml-cuda", ggml / "src", ggml / "include")),
          "-o",
          str(library / "libllama_ssm.so"),
          str(here / "peers" / "llama_ssm.cu"),
          "-Xlinker",
          "--allow-shlib-undefined",
          str(blas / "libcublas.so.13")
      ],
      check=True)


def build_backend_ops(peers, architecture):
  work = peers / "llama_build"
  source = peers / "llama_cpp_python-0.3.36" / "vendor" / "llama.cpp"
  options = dict(CMAKE_BUILD_TYPE="Release",
                 GGML_CUDA="ON",
                 GGML_CUDA_FA="OFF",
                 GGML_NATIVE="OFF",
                 CMAKE_CUDA_ARCHITECTURES=architecture,
                 LLAMA_CURL="OFF",
                 LLAMA_OPENSSL="OFF",
                 LLAMA_BUILD_SERVER="OFF",
                 LLAMA_BUILD_TOOLS="OFF",
                 LLAMA_BUILD_EXAMPLES="OFF",
                 LLAMA_BUILD_TESTS="ON")
  subprocess.run([
      "cmake", "-S",
      str(source), "-B",
      str(work), "-G", "Ninja", *(f"-D{name}={value}" for name, value in options.items())
  ],
                 check=True)
  subprocess.run(["ninja", "-C", str(work), "test-backend-ops"], check=True)
  target = peers / "lib" / "llama"
  target.mkdir(parents=True, exist_ok=True)
  for file in work.glob("bin/*"):
    if file.name == "test-backend-ops" or ".so" in file.name:
      shutil.copy(file, target / file.name)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("step", choices=("fetch", "build", "backend-ops"))
  parser.add_argument("--peers", type=pathlib.Path, default=pathlib.Path("build/peers"))
  parser.add_argument("--architecture", default="90-real", help="that backend-ops is built for")
  options = parser.parse_args()
  if options.step == "backend-ops":
    build_backend_ops(options.peers, options.architecture)
  else:
    {"fetch": fetch, "build": build}[options.step](options.peers)


if __name__ == "__main__":
  main()
