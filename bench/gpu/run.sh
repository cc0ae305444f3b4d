#!/bin/sh
# Kiln on an NVIDIA GPU, beside kernels written by hand, JAX, PyTorch and Triton: JSON lines, then one table.
#
#   bench/gpu/run.sh [PART-OF-A-NAME]   rows of ours whose name has it; the other libraries run only without it
#
# KILN_LIB is the folder of libmlxc.so and libkiln.so.0 (build/lib), KILN_DECODE the program made of decode.c; NVCC, PYTHON and CUDA_ARCH say which compiler,
# Python and architecture (native) to use; KILN_BENCH_JSON is a file that keeps the JSON lines. Without a GPU or nvcc it
# says so and is done.
set -u
cd "$(dirname "$0")/../.." || exit 1
libraries=$(cd "${KILN_LIB:-build/lib}" 2>/dev/null && pwd) || libraries=
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
python=${PYTHON:-python3}
arch=${CUDA_ARCH:-native}

if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ! nvidia-smi -L >/dev/null 2>&1; then
    echo "bench-gpu: there is no GPU; nothing to measure"
    exit 0
fi
if ! command -v "$nvcc" >/dev/null 2>&1; then
    echo "bench-gpu: there is no nvcc (NVCC=$nvcc); the kernels by hand need it"
    exit 0
fi
if [ ! -e "$libraries/libmlxc.so" ]; then
    echo "bench-gpu: no libmlxc.so in ${KILN_LIB:-build/lib}; run make, or set KILN_LIB" >&2
    exit 1
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export KILN_BASE_PACK= KILN_CACHE_DIR="$work/cache" PYTHONDONTWRITEBYTECODE=1

build() {
    "$nvcc" -O3 -std=c++17 -arch="$1" -Iinclude bench/gpu/bench.cu -o "$work/bench" "$libraries/libmlxc.so" \
        -Xlinker "$libraries/libkiln.so.0" -Xlinker -rpath -Xlinker "$libraries" -ldl
}
build "$arch" || build sm_90 || exit 1

"$work/bench" "$@" | tee "$work/ours"
if [ ! -s "$work/ours" ]; then
    echo "bench-gpu: the bench measured nothing" >&2
    exit 1
fi
# Whole programs: a program of its own, which needs no nvcc. KILN_AHEAD: a folder with its kernels.
decode=${KILN_DECODE:-$libraries/../tests/gpu/decode_bench}
if [ -x "$decode" ]; then KILN_CACHE_PATH="${KILN_AHEAD:-}" "$decode" "$@" | tee -a "$work/ours"; fi
: >"$work/others"
if [ $# -eq 0 ] && command -v "$python" >/dev/null 2>&1; then
    for library in jax:40 triton:25 torch:80; do # the seconds each may take; what it printed by then counts
        timeout "${library#*:}" "$python" bench/gpu/others.py "${library%:*}" 2>"$work/errors" | tee -a "$work/others"
        grep -q "\"${library%:*}\"" "$work/others" || tail -n 3 "$work/errors" >&2
    done
fi
[ -n "${KILN_BENCH_JSON:-}" ] && cat "$work/ours" "$work/others" >"$KILN_BENCH_JSON"
if command -v "$python" >/dev/null 2>&1; then
    echo
    "$python" bench/gpu/table.py "$work/ours" "$work/others"
fi
exit 0
