#!/bin/sh
# A program whose files may not grow (ulimit -f): its results are right, the faults are counted, nothing is left behind.
. "$(dirname "$0")/lib.sh"

# limited BLOCKS: the program's results are in got, its complaints in said; pipes know no limit.
limited()
{
    { (ulimit -f "$1"; exec "$bin/quickstart" 2>&1) && echo fine || echo "failed with status $?"; } | cat >all
    grep -v '^kiln: \|^{' all >got || true
    grep '^{' all >stats || true
    cmp -s wanted got || fail "ulimit -f $1: $(cat all)"
}

{ "$bin/quickstart" && echo fine; } >wanted
rm -r cache
for blocks in 0 1 4; do
    KILN_STATS=1 limited $blocks
    [ $blocks = 4 ] || [ "$(counter stats cache_faults)" -gt 0 ] || fail "ulimit -f $blocks: no fault was counted"
    expect "left behind with ulimit -f $blocks" "$(find cache -type f | grep -v '\.kiln$\|/toolchain$\|/\.sizes$\|/\.hits$')" ""
    rm -r cache
done

# Files of statistics and of audits are full as well.
for name in KILN_STATS KILN_AUDIT; do
    head -c 1024 /dev/zero >full
    export $name="$work/full"
    limited 2
    unset $name
    expect "the size of a full file" "$(wc -c <full)" 1024
done
