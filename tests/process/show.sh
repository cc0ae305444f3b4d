#!/bin/sh
# A compiled function's name in KILN_LOG, ls, show and why; its plan, with what each kernel fused and moves.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

KILN_LOG=miss "$bin/swiglu" >/dev/null 2>log
says log "miss swiglu: first call"
says log "compile swiglu for"
exits 0 "$kiln" ls
says out "  swiglu  "

# Its one kernel: three operations over two operands of 2 x 3 floats, as traced.
exits 0 "$kiln" show swiglu
says out "plan of swiglu: 1 step, reads 48 bytes, writes 24"
says out "  takes           float32 (2,3), float32 (2,3)"
says out "]: sigmoid, multiply, multiply, reads 48 bytes, writes 24"
says out "float32 (2,3), packed"
says out "float32 sigmoid(a0)"
says out "float32 multiply(a0, v0)"
says out "define void @kiln_sigmoid_mul_mul_f32_"
exits 0 "$kiln" show swiglu --json
is_json out
says out '{"function":"swiglu","artifacts":['
says out '{"name":"reads","value":"48 bytes"}'
exits 0 "$kiln" show swiglu --section object
expect "an object's first bytes" "$(head -c 4 out | tail -c 3)" ELF

# The same facts under its digest, and nothing that makes two folders differ but times.
digest=$("$kiln" show swiglu --json | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p')
exits 0 "$kiln" show "$digest"
says out "first compiled for"
says out "1 step, reads 48 bytes, writes 24"
exits 0 "$kiln" verify

# A second kernel of the same function: why, by name.
KILN_OPT_LEVEL=3 "$bin/swiglu" >/dev/null
exits 0 "$kiln" why swiglu
says out "swiglu"
says out "option opt_level was"
exits 1 "$kiln" show swiglu --section object
says err "has 2 artifacts"

# A plan of many steps, and all kernels that they run.
"$bin/transformer" >/dev/null
exits 0 "$kiln" show transformer
says out "plan of transformer: "
says out "matmul, reads"
says out ", a view"
says out "kernel transformer_2 ["
steps=$(grep -c '^  step ' out)
[ "$steps" -gt 10 ] || fail "only $steps steps"
for mark in $(grep -o '\[[0-9a-f]*\]: ' out | tr -d '[]: ' | sort -u); do
    grep -q "^kernel [a-z_0-9]* \[$mark\]  " out || fail "a step runs [$mark], which is not among the kernels"
done

# What the function takes and gives, kernels and other steps in order, each with its bytes and shapes; a plan's kernels follow it.
export KILN_CACHE_DIR="$work/layers"
"$build/tests/shown"
exits 0 "$kiln" show layer
says out "plan of layer: 4 steps, reads 31744 bytes, writes 20480"
says out "  takes           float32 (20,48), float32 (48,64), float32 (1,64)"
says out "  gives           float32 (20,64)"
says out "  step 1          matmul, reads 16128 bytes, writes 5120, gives float32 (20,64)"
says out "]: max, subtract, exp, sum, divide, reads 5120 bytes, writes 5120, gives float32 (20,64)"
says out "  step 3          sort, reads 5120 bytes, writes 5120, gives float32 (20,64)"
says out "]: multiply, tanh, reads 5376 bytes, writes 5120, gives float32 (20,64)"
expect "kernels" "$(grep -c '^kernel layer' out)" 2
expect "texts" "$(grep -c '^define void @kiln_' out)" 2
if grep -q shapeless out; then fail "it is not shapeless"; fi

# A shapeless function, called with two sizes: one plan, that of its first call.
export KILN_CACHE_DIR="$work/shapeless"
"$build/tests/shown" shapeless
exits 0 "$kiln" show layer
says out "  takes           float32 (20,48), float32 (48,64), float32 (1,64)"
says out "  shapeless       one trace serves other sizes too"
expect "plans" "$(grep -c '^plan of layer' out)" 1

# For a GPU that is not here: the same plan, and the text of kernels for that target.
export KILN_CACHE_DIR="$work/gpu"
exits 0 env KILN_MODE=compile-only KILN_GPU_TARGET=sm_90 "$build/tests/shown" gpu
exits 0 "$kiln" show layer
says out "  step 1          matmul, reads 16128 bytes, writes 5120, gives float32 (20,64)"
says out "  for sm_90, compiled"
expect "kernels for the GPU" "$(grep -c '^define ptx_kernel void @kiln_' out)" 2

# Operations on their own, and what is not there.
export KILN_CACHE_DIR="$work/layers"
exits 0 "$kiln" show add
says out "float32 add(a0, a1)"
exits 1 "$kiln" show nothing
says err "begins with 'nothing' or was first compiled for a function of that name"

# Nothing of it is left when the artifacts have gone.
export KILN_CACHE_DIR="$work/cache"
exits 0 "$kiln" clear --yes
exits 1 "$kiln" show swiglu
