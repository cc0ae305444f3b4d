#!/bin/sh
# Kernels in CUDA C++ on the emulated driver and its NVRTC: the next process compiles nothing, neither does its driver;
# another NVRTC compiles anew; `kiln show` has source and PTX.
. "$(dirname "$0")/lib.sh"
emulated=$build/tests/emulated
program=$build/tests/gpu/gpu_cuda_source
export KILN_STATS="$work/stats"
unset LD_LIBRARY_PATH

on_gpu()
{
    exits 0 env LD_LIBRARY_PATH="$emulated" "$@"
    if grep -q "left out" out; then cat out >&2; fail "nothing was tried"; fi
}

on_gpu "$program" outputs
expect "compiles of the first process" "$(counter stats compiles)" 2 # with template arguments and without
on_gpu env KILN_MODE=no-compile "$program" outputs
expect "compiles of the next process" "$(counter stats compiles)" 0
expect "its driver's compiles" "$(counter stats gpu_driver_compiles)" 0
on_gpu env KILN_TEST_NVRTC=9 "$program" outputs
expect "compiles with another NVRTC" "$(counter stats compiles)" 2

digest=$("$bin/kiln" ls | awk '$2 == "two" { print $1; exit }')
"$bin/kiln" show "$digest" >shown
says shown "__global__ void two(const float *__restrict__ a, long long kiln_strides0_0"
says shown "nvrtc 12."
"$bin/kiln" show "$digest" --section ptx >ptx
says ptx ".entry two("

# Without NVRTC, and without a GPU.
mkdir alone
cp -P "$emulated"/libcuda.so* alone/
exits 0 env LD_LIBRARY_PATH="$work/alone" "$program"
says out "left out: [cuda_kernel] kernels in CUDA C++ need NVIDIA's compiler NVRTC"
exits 0 "$program"
says out "left out: [cuda_kernel] a kernel in CUDA C++ runs on an NVIDIA GPU: there is no NVIDIA driver"
