#!/bin/sh
# The next process compiles nothing and never loads LLVM.
. "$(dirname "$0")/lib.sh"

KILN_STATS=$work/stats "$bin/quickstart" >first
KILN_STATS=$work/stats "$bin/quickstart" >second
cat first
cmp first second
expect "lines of statistics" "$(wc -l <stats)" 2
[ "$(counter stats compiles 1)" -ge 1 ] || fail "the first process compiled nothing"
expect "compiles of the second process" "$(counter stats compiles 2)" 0
expect "traces of the second process" "$(counter stats traces 2)" 1
[ "$(counter stats disk_hits 2)" -ge 1 ] || fail "the second process took nothing from disk"
[ "$(counter stats saved_ns 2)" -gt 0 ] || fail "the second process saved nothing"
expect "damage" "$(counter stats corrupt 2)" 0

# What is mapped when the work is done: the first kind of process has LLVM, the second has not.
"$build/tests/maps" >cold
"$build/tests/maps" >warm
KILN_CACHE_DIR=$work/fresh "$build/tests/maps" >other
expect "libLLVM in a process that compiles" "$(grep -c libLLVM other | sed 's/[1-9][0-9]*/some/')" some
expect "libLLVM in a process that does not" "$(grep -c libLLVM warm || true)" 0
expect "writable and executable memory" "$(grep -c ' rwx' warm cold other | cut -d: -f2 | sort -u)" 0
