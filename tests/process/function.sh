#!/bin/sh
# A function that one process exports is compiled by the next one without compiling: it has the same kernels.
. "$(dirname "$0")/lib.sh"

KILN_STATS=$work/stats "$build/tests/exported" export "$work/function" >first
KILN_STATS=$work/stats "$build/tests/exported" import "$work/function" >second
cmp first second
[ "$(counter stats compiles 1)" -ge 1 ] || fail "the first process compiled nothing"
expect "compiles of the process that imports" "$(counter stats compiles 2)" 0
expect "traces of the process that imports" "$(counter stats traces 2)" 1

# Captured weights stand in the file once; a file that is cut off is refused, and the error says where.
[ "$(wc -c <function)" -lt 20000 ] || fail "the file is too large for 16,384 bytes of weights"
head -c 9000 function >cut
exits 255 "$build/tests/exported" import cut
says out "[import_function] at byte 16 the file should have"
