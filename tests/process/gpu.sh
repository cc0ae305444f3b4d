#!/bin/sh
# Processes that share GPU kernels, on the emulated driver: machine code is made once and kept, kernels compiled ahead on a
# machine without a GPU are complete for one that has it, and doctor says what it finds.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
emulated=$build/tests/emulated
program=$emulated/program
export KILN_STATS="$work/stats"
unset LD_LIBRARY_PATH

on_gpu()
{
    env LD_LIBRARY_PATH="$emulated" "$@"
}

# The first process compiles, and so does its driver; the next does neither, even where it must not.
exits 0 on_gpu "$program"
cp out first
kernels=$(counter stats compiles)
[ "$kernels" -ge 3 ] || fail "only $kernels kernels"
expect "compiles by the driver" "$(counter stats gpu_driver_compiles)" "$kernels"
[ "$(counter stats gpu_replays)" -ge 10 ] || fail "a loop of twenty calls was not replayed"
exits 0 on_gpu env KILN_MODE=no-compile "$program"
cmp first out
expect "compiles of the next process" "$(counter stats compiles)" 0
expect "its driver's compiles" "$(counter stats gpu_driver_compiles)" 0
exits 0 "$kiln" show layer --json
is_json out
says out '"cubin.sm_90"'
exits 0 "$kiln" verify

# A machine without a GPU compiles ahead. The one that has it needs no compiler; its driver makes machine code, once.
export KILN_CACHE_DIR="$work/ahead"
exits 0 env KILN_MODE=compile-only KILN_GPU_TARGET=sm_90 "$program" 2
says err "KILN_MODE=compile-only: kernels are compiled and stored, not run; results are zeros"
expect "compiles ahead" "$(counter stats compiles)" "$kernels"
exits 0 "$kiln" show layer --json
if grep -q cubin out; then fail "machine code without a driver"; fi
exits 0 on_gpu env KILN_MODE=no-compile "$program"
cmp first out
expect "compiles where the GPU is" "$(counter stats compiles)" 0
expect "compiles by its driver" "$(counter stats gpu_driver_compiles)" "$kernels"
exits 0 on_gpu env KILN_MODE=no-compile "$program"
cmp first out
expect "compiles by the driver of the next process" "$(counter stats gpu_driver_compiles)" 0

# So does compile-only where the GPU is, and its driver makes machine code at once.
exits 0 on_gpu env KILN_CACHE_DIR="$work/made_here" KILN_MODE=compile-only "$program" 2
expect "compiles where the GPU is, without a run" "$(counter stats compiles)" "$kernels"
expect "launches without a run" "$(counter stats gpu_launches)" 0
exits 0 on_gpu env KILN_CACHE_DIR="$work/made_here" KILN_MODE=no-compile "$program"
cmp first out
expect "compiles by the driver after compile-only" "$(counter stats gpu_driver_compiles)" 0

# What is signed ahead is another artifact once it has machine code: signed anew where there is a key, by nobody otherwise.
"$kiln" key new farm >/dev/null
"$kiln" key new here >/dev/null
farm=$(cut -c12-19 farm.pub) here=$(cut -c12-19 here.pub)
signers()
{
    "$kiln" ls --folder "$1" | sed -n "s/^[0-9a-f]\{12\}  [^ ]*  *sm_90 .*signed by \([0-9a-f]*\) .*/\1/p" | sort | uniq -c | awk '{ printf "%s of %s", $1, $2 }'
}
for folder in signed_here signed_by_nobody; do
    exits 0 env KILN_CACHE_DIR="$work/$folder" KILN_SIGN_KEY="$work/farm" KILN_MODE=compile-only KILN_GPU_TARGET=sm_90 "$program" 2
    expect "who signed what was compiled ahead" "$(signers $folder)" "$kernels of $farm"
done
KILN_CACHE_DIR=$work/signed_here KILN_SIGN_KEY=$work/here exits 0 on_gpu env KILN_MODE=no-compile "$program"
cmp first out
expect "who signed it with machine code" "$(signers signed_here)" "$kernels of $here"
KILN_CACHE_DIR=$work/signed_by_nobody exits 0 on_gpu env KILN_MODE=no-compile "$program"
expect "who signed it with machine code, without a key" "$(signers signed_by_nobody)" ""

# What docs/learn/gpus.md says, in its own words: the first command here, the second where a GPU is and no compiler.
sed -n '/^```sh$/,/^```$/p' "$source/docs/learn/gpus.md" | grep '^export\|^KILN_MODE' >commands
expect "commands in docs/learn/gpus.md" "$(grep -c . commands)" 3
sed "s|\./|$bin/|; s|=folder|=$work/page|; s|^KILN_MODE=no-compile|LD_LIBRARY_PATH=$emulated KILN_PLUGIN=/none &|" \
    commands >commands.sh
exits 0 sh commands.sh
expect "examples compiled only" "$(grep -c 'compiled only' out)" 3
expect "examples that ran from what was compiled ahead" "$(grep -c 'as in plain C' out)" 3
for example in swiglu transformer; do
    KILN_CACHE_DIR=$work/examples KILN_DEVICE=cuda:0 exits 0 on_gpu "$bin/$example"
    says out "as in plain C"
    [ "$(counter stats gpu_launches)" -gt 0 ] || fail "$example did not run on the GPU"
done

# Without a GPU its default stream is the CPU's.
exits 0 "$program"
cmp first out
if tail -n 1 stats | grep -q gpu_launches; then fail "a GPU was used"; fi

# doctor, in each case.
unset KILN_STATS
exits 0 "$kiln" doctor
says out "none: there is no NVIDIA driver: libcuda.so.1 can't be opened"
exits 0 on_gpu "$kiln" doctor
says out "cuda:0: Emulated GPU, sm_90, 4096 MiB, CUDA 12.9"
exits 0 on_gpu env KILN_TEST_CUDA_FAIL=init:1 "$kiln" doctor
says out "none: the NVIDIA driver does not start: CUDA_ERROR_UNKNOWN"
exits 0 on_gpu env KILN_TEST_CUDA_FAIL=context_retain:1 "$kiln" doctor
says out "this GPU can't be used: the NVIDIA driver says CUDA_ERROR_UNKNOWN (999): unknown error"

# Launches that do nothing leave the host's work alone.
exits 0 on_gpu env KILN_TEST_CUDA_IDLE=1 "$program" 100
