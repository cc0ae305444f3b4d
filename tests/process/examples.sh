#!/bin/sh
# The examples compute what plain C does, say what the cache did, and compile nothing in a second process. Their kernels
# are in the folder under the names of their functions.
. "$(dirname "$0")/lib.sh"

# The number after WORD in what an example printed last.
printed()
{
    sed -n "s/^calls.* $2 \([0-9]*\).*/\1/p" "$1"
}

# run_twice EXAMPLE TRACES
run_twice()
{
    KILN_STATS=$work/stats-$1 "$bin/$1" >"$1.first"
    KILN_STATS=$work/stats-$1 "$bin/$1" >"$1.second"
    cat "$1.first"
    expect "$1: results" "$(grep -v '^calls' "$1.second")" "$(grep -v '^calls' "$1.first")"
    expect "$1: results that are wrong" "$(grep -c WRONG "$1.first" || true)" 0
    [ "$(printed "$1.first" compiles)" -ge 1 ] || fail "$1: the first process compiled nothing"
    expect "$1: compiles of the second process" "$(printed "$1.second" compiles)" 0
    expect "$1: compiles by its statistics" "$(counter "stats-$1" compiles 2)" 0
    expect "$1: traces" "$(printed "$1.first" traces)" "$2"
    expect "$1: traces of the second process" "$(printed "$1.second" traces)" "$2"
}

run_twice swiglu 1
run_twice softmax 2
run_twice transformer 1
for example in swiglu softmax; do expect "kernels of $example" "$(printed $example.first compiles)" 1; done
"$bin/kiln" ls >list
for kernel in swiglu softmax transformer; do grep -q " $kernel" list || { cat list >&2; fail "no kernel is called $kernel"; }; done
KILN_CACHE_DIR=$work/other KILN_LOG=miss "$bin/softmax" >out 2>log
says log "miss softmax: first call"
says log "compile softmax for "

# An autotuner: measured once, by one of the processes that start together, and never again.
for process in 1 2 3; do KILN_CACHE_DIR=$work/tuned "$bin/autotune" >tuned.$process & done
wait
cat tuned.1 tuned.2 tuned.3
expect "processes that measured" "$(cat tuned.1 tuned.2 tuned.3 | grep -c 'measured 2 variants')" 1
expect "choices" "$(grep -h '^transpose' tuned.1 tuned.2 tuned.3 | sort -u | wc -l)" 1
exits 0 env KILN_STATS=$work/stats-autotune KILN_CACHE_DIR=$work/tuned "$bin/autotune"
says out "measured 0 variants"
says out ", 0 numbers wrong"
expect "its choice" "$(grep '^transpose' out)" "$(grep '^transpose' tuned.1)"
expect "what was found" "$(counter stats-autotune disk_hits)" 1
expect "what was compiled" "$(counter stats-autotune compiles)" 0
