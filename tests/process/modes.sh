#!/bin/sh
# KILN_MODE with whole programs: compile-only fills a folder and says that it does not run; no-compile runs from that folder.
. "$(dirname "$0")/lib.sh"

exits 255 env KILN_MODE=compile-only KILN_STATS="$work/stats" "$bin/quickstart"
says out "KILN_MODE=compile-only: compiled and stored, not linked"
expect "compiles" "$(counter stats compiles)" 1
expect "links" "$(counter stats links)" 0
exits 0 env KILN_MODE=no-compile KILN_STATS="$work/stats" "$bin/quickstart"
says out "array([25, 41], dtype=float32)"
expect "compiles of the second" "$(counter stats compiles)" 0
exits 255 env KILN_MODE=no-compile KILN_CACHE_DIR="$work/empty" "$bin/quickstart"
says out "KILN_MODE=no-compile and nothing stored fits; content key "
exits 0 env KILN_MODE=off KILN_CACHE_DIR="$work/unused" "$bin/quickstart"
[ ! -e "$work/unused" ] || fail "KILN_MODE=off made a folder"
