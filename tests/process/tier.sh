#!/bin/sh
# KILN_TIER: a first process whose operations are at hand does not wait for the compiler, and does not load it either when it
# ends soon; with a folder that has the operations' kernels alone.
. "$(dirname "$0")/lib.sh"
program=$bin/quickstart # x*x + y*y
maker=$bin/kiln-base-pack

exits 0 env KILN_MODE=compile-only KILN_CACHE_DIR="$work/operations" "$maker" --short elementwise

# first STATUS [VARIABLE=VALUE]...: in an empty folder.
first()
{
    status=$1
    shift
    rm -rf own stats
    exits "$status" env KILN_CACHE_DIR="$work/own" KILN_STATS="$work/stats" "$@" "$program"
    [ "$status" != 0 ] || says out "array([25, 41], dtype=float32)"
}

# counts COMPILES CALLS SWAPS
counts()
{
    expect "compiles tier_calls tier_swaps" \
        "$(counter stats compiles) $(counter stats tier_calls) $(counter stats tier_swaps)" "$1 $2 $3"
}

for tier in 1 ''; do # the default
    first 0 KILN_TIER=$tier KILN_CACHE_PATH="$work/operations"
    counts 0 1 0
done
first 0 KILN_TIER=0 KILN_CACHE_PATH="$work/operations"
counts 1 0 0
first 0 KILN_TIER=1
counts 1 0 0

# Without a compiler an unfused plan serves for good; where it has no kernels either, the call fails.
first 0 KILN_TIER=1 KILN_CACHE_PATH="$work/operations" KILN_MODE=no-compile KILN_PLUGIN="$work/nowhere.so"
counts 0 1 0
first 255 KILN_TIER=1 KILN_MODE=no-compile
says out no-compile
first 255 KILN_TIER=0 KILN_CACHE_PATH="$work/operations" KILN_MODE=no-compile

# Who fills a folder gets the fused kernel, and now.
rm -rf own stats
exits 0 env KILN_CACHE_DIR="$work/own" KILN_STATS="$work/stats" KILN_TIER=1 KILN_CACHE_PATH="$work/operations" KILN_MODE=compile-only \
    "$program"
counts 1 0 0

# Other bits are allowed under KILN_FAST_MATH, so nothing is swapped there.
first 0 KILN_TIER=1 KILN_CACHE_PATH="$work/operations" KILN_FAST_MATH=1
counts 1 0 0
