#!/bin/sh
# KILN_MODE with whole programs: compile-only fills a folder, also for a GPU that is not here, and says that it computes nothing;
# no-compile runs from that folder.
. "$(dirname "$0")/lib.sh"

exits 0 env KILN_MODE=compile-only KILN_STATS="$work/stats" "$bin/quickstart"
says err "KILN_MODE=compile-only: kernels are compiled and stored, not run; results are zeros"
says out "array([0, 0], dtype=float32)"
expect "compiles" "$(counter stats compiles)" 1
expect "links" "$(counter stats links)" 0
exits 0 env KILN_MODE=no-compile KILN_STATS="$work/stats" "$bin/quickstart"
says out "array([25, 41], dtype=float32)"
expect "compiles of the second" "$(counter stats compiles)" 0
exits 255 env KILN_MODE=no-compile KILN_CACHE_DIR="$work/empty" "$bin/quickstart"
says out "KILN_MODE=no-compile and nothing stored fits; content key "
exits 0 env KILN_MODE=off KILN_CACHE_DIR="$work/unused" "$bin/quickstart"
[ ! -e "$work/unused" ] || fail "KILN_MODE=off made a folder"

# compile-only is for other machines too. No CPU can run both of these.
refused=
for target in znver4 sapphirerapids; do
    KILN_TARGET=$target "$bin/quickstart" >out 2>&1 && continue
    says out "can't run code for \"$target\""
    refused=$target
    exits 0 env KILN_MODE=compile-only KILN_TARGET=$target KILN_CACHE_DIR="$work/$target" KILN_STATS="$work/stats" "$bin/quickstart"
    expect "compiles for $target" "$(counter stats compiles)" 1
    exits 0 "$bin/kiln" ls --folder "$work/$target"
    says out " $target "
    exits 0 "$bin/kiln" verify --folder "$work/$target"
done
[ -n "$refused" ] || fail "this machine runs code for every CPU"
