#!/bin/sh
# The whole base pack, as it is installed: every operation that it is made from, on each CPU target that this machine can run,
# without a compiler; and kernels for the GPUs. Minutes: part of `make check` and `make soak`.
. "$(dirname "$0")/lib.sh"
cmake --build "$build" --target base-pack >log 2>&1 || { cat log >&2; fail "no pack was made"; }
pack=$build/lib/kiln/base.kilnpack
exits 0 "$bin/kiln" verify --folder "$pack"
says out "0 bad"
"$bin/kiln" ls --folder "$pack" >listed
for target in x86-64-v3 x86-64-v4 sm_80 sm_90; do
    count=$(grep -c " $target " listed || true)
    [ "$count" -ge 1500 ] || fail "the pack has $count kernels for $target"
done
# One of each GPU target is PTX for it.
for target in sm_80 sm_90; do
    digest=$(sed -n "s/^\([0-9a-f]*\) .* $target .*/\1/p" listed | head -n 1)
    exits 0 "$bin/kiln" show "$digest" --folder "$pack" --section ptx
    says out ".target $target"
done
for target in x86-64-v3 x86-64-v4; do
    KILN_TARGET=$target "$bin/kiln" doctor | grep -q "^ok *target *$target," || { echo "$target: not on this machine"; continue; }
    rm -rf own stats
    exits 0 env KILN_TARGET=$target KILN_BASE_PACK="$pack" KILN_CACHE_DIR="$work/own" KILN_PLUGIN="$work/nowhere.so" \
        KILN_STATS="$work/stats" "$bin/kiln-base-pack"
    says out " 0 failed"
    expect "compiles for $target" "$(counter stats compiles)" 0
    expect "damage for $target" "$(counter stats corrupt)" 0
    [ "$(counter stats disk_hits)" -ge 1500 ] || fail "$(counter stats disk_hits) hits for $target"
done
