#!/bin/sh
# Every loss that examples/train prints is that of a reference in float64 with a backward pass written by hand. Counters: one
# trace, and no compile after the first step; a second process compiles nothing.
. "$(dirname "$0")/lib.sh"

# same MODEL STEPS
same()
{
    "$build/tests/train_reference" "$1" "$2" >wanted
    KILN_STATS="$work/$1.stats" "$bin/train" "$1" "$2" >got
    expect "$1: losses" "$(wc -l <got)" "$2"
    paste -d' ' got wanted | awk '{ error = ($2 - $4) / $4; if (error < 0) error = -error; if (!(error < 1e-4)) print $1, $2, $4 }' >wrong
    [ ! -s wrong ] || { cat wrong >&2; fail "$1: losses differ from the reference"; }
    expect "$1: traces" "$(counter "$1.stats" traces)" 1
    expect "$1: compiles after the first step" "$(counter "$1.stats" compiles)" "$(counter "$1.stats" compiles 1)"
    [ "$(counter "$1.stats" compiles)" -gt 0 ] || fail "$1: nothing was compiled"
    KILN_STATS="$work/$1.again" "$bin/train" "$1" 2 >again
    expect "$1: compiles of a second process" "$(counter "$1.again" compiles)" 0
    expect "$1: losses of a second process" "$(cat again)" "$(head -n 2 got)"
}

same mlp 50
same decoder 50

# It learns: the last loss is well below that of guessing.
awk 'END { exit !($2 < 1.5) }' got || fail "decoder: the loss stays at $(tail -n 1 got)"
exits 2 "$bin/train" nothing
exits 2 "$bin/train" mlp 0
