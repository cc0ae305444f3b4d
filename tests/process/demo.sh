#!/bin/sh
# `kiln demo` does the main job; its second process compiles nothing. It leaves no folder behind and no file in the user's.
. "$(dirname "$0")/lib.sh"
mkdir tmp
export TMPDIR="$work/tmp"

exits 0 "$bin/kiln" demo
cat out
says out "from disk, next process"
says out "the next process compiled 0 kernels"
says out "no row for the base pack: KILN_BASE_PACK says that none is wanted. \`make base-pack\` builds it."
says out "refused (strict: demo: scale was 1, is 2)"
expect "wrong results" "$(grep -c WRONG out || true)" 0
exits 0 "$bin/kiln" demo --json
is_json out
says out '"fine":true'
expect "what is left" "$(ls -A tmp)" ""
[ ! -e cache ] || fail "the demo used the user's folder"
exits 1 env TMPDIR=/nowhere "$bin/kiln" demo
says err "TMPDIR"
