#!/bin/sh
# gpu_bundle.sh BUILD OUT.tar.xz: what a machine with a GPU, and without packages or a compiler, needs to run the tests and the
# bench: our libraries with LLVM inside the plug-in, the base pack, the tests, the libraries those link, and kernels compiled ahead
# for KILN_GPU_TARGET (sm_90 when not set). BUILD was configured with -DKILN_STATIC_LLVM=ON. There: tar xf, then gpu-bundle/run.sh.
set -eu
build=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/gpu-bundle
mkdir -p "$bundle/lib/kiln" "$bundle/bin" "$bundle/tests" "$bundle/bench"

cp -P "$build"/lib/libkiln.so* "$build/lib/libmlxc.so" "$build/lib/libkiln-llvm.so" "$build/lib/libkiln-trust.so" "$bundle/lib"
cp "$build"/lib/kiln/base.kilnpack "$bundle/lib/kiln"
cp "$build"/bin/kiln-base-pack "$bundle/bin"
cp "$build"/tests/gpu/gpu_* "$bundle/tests"
cp "$build"/tests/gpu/decode_bench "$bundle/bin"
strip -S "$bundle"/lib/*.so* "$bundle"/tests/* "$bundle"/bin/*
cp -R bench/gpu include tools/test_gpu.sh src/mlxc/abi.tsv "$bundle"
mv "$bundle/gpu" "$bundle/bench/gpu"

# The libraries that tests and products need and a bare machine may not have.
copy_library()
{
    path=$(ldconfig -p | sed -n "s|.*$1 .*=> ||p" | head -n 1)
    [ -z "$path" ] || cp -L "$path" "$bundle/lib/$1"
}
for library in libcmocka.so.0 libopenblas.so.0 libgfortran.so.5 libquadmath.so.0; do copy_library "$library"; done

# The same programs run through where no GPU is: every kernel is stored, none is run, so their own checks fail.
mkdir -m 700 "$bundle/ahead"
KILN_MODE=compile-only KILN_GPU_TARGET=${KILN_GPU_TARGET:-sm_90} KILN_CACHE_DIR=$bundle/ahead \
    LD_LIBRARY_PATH=$bundle/lib "$bundle/tests/gpu_agree" >/dev/null 2>&1 || true
KILN_MODE=compile-only KILN_GPU_TARGET=${KILN_GPU_TARGET:-sm_90} KILN_CACHE_DIR=$bundle/ahead \
    LD_LIBRARY_PATH=$bundle/lib "$bundle/bin/decode_bench" >/dev/null # 5 GB of zeros, never touched

cat >"$bundle/run.sh" <<'END'
#!/bin/sh
# run.sh [tests|ahead|base|decode|bench]: the tests; those of agree.c with kernels compiled ahead and no compiler; all that the base
# pack is made from, with the pack and no compiler; whole programs (bench/gpu/decode.c) with kernels compiled ahead, in well under a
# minute; the bench, with these. All when not said.
cd "$(dirname "$0")" || exit 1
LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for cuda in /usr/local/cuda/targets/x86_64-linux/lib /usr/local/cuda/lib64; do LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$cuda; done
export LD_LIBRARY_PATH KILN_TEST_ABI="$PWD/abi.tsv"
what=${1:-all} status=0
if [ "$what" = ahead ] || [ "$what" = all ]; then
    KILN_BASE_PACK= KILN_PLUGIN=/none KILN_MODE=no-compile KILN_CACHE_DIR=$PWD/ahead tests/gpu_agree || [ $? = 77 ] || status=1
fi
if [ "$what" = base ] || [ "$what" = all ]; then
    KILN_PLUGIN=/none KILN_MODE=no-compile KILN_DEVICE=cuda:0 KILN_CACHE_DIR= bin/kiln-base-pack || status=1
fi
if [ "$what" = decode ]; then
    KILN_BASE_PACK= KILN_CACHE_PATH=$PWD/ahead KILN_CACHE_DIR=${KILN_CACHE_DIR:-$PWD/decode-cache} bin/decode_bench || [ $? = 77 ] || status=1
fi
if [ "$what" = tests ] || [ "$what" = all ]; then sh ./test_gpu.sh tests || status=1; fi
if [ "$what" = bench ] || [ "$what" = all ]; then KILN_LIB=$PWD/lib KILN_DECODE=$PWD/bin/decode_bench KILN_AHEAD=$PWD/ahead sh bench/gpu/run.sh || status=1; fi
exit $status
END
chmod +x "$bundle/run.sh"
tar -C "$work" -cf - gpu-bundle | xz -T0 -3 >"$out.new"
mv "$out.new" "$out"
echo "$out: $(du -h "$out" | cut -f 1)"
