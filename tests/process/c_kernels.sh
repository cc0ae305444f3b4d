#!/bin/sh
# A foreign compiler through kiln.h alone: two kernels compiled by the first run, none by the second.
. "$(dirname "$0")/lib.sh"

KILN_STATS=$work/stats "$bin/c_kernels" >first
KILN_STATS=$work/stats "$bin/c_kernels" >second
cat first
cmp first second
expect "compiles of the first run" "$(counter stats compiles 1)" 2
expect "disk hits of the first run" "$(counter stats disk_hits 1)" 0
expect "calls of the first run" "$(counter stats calls 1)" 6
expect "compiles of the second run" "$(counter stats compiles 2)" 0
expect "disk hits of the second run" "$(counter stats disk_hits 2)" 2
expect "artifacts" "$(find cache -name '*.kiln' | wc -l)" 2

# The same text gives the same bytes: keys and payload do not depend on the process that compiled.
KILN_CACHE_DIR=$work/again "$bin/c_kernels" >/dev/null
for file in cache/*/*.kiln; do
    digest=$(basename "$file" .kiln)
    "$bin/kiln" show "$digest" --section shared-object --folder cache >one
    "$bin/kiln" show "$digest" --section shared-object --folder again >two
    cmp one two
done

# Another compiler is another key; an unusable one is an error with its text, not a crash.
CC=clang-19 KILN_STATS=$work/stats "$bin/c_kernels" >third
expect "compiles with another compiler" "$(counter stats compiles 3)" 2
exits 1 env CC=/nowhere/cc "$bin/c_kernels"
says err "no C compiler"
