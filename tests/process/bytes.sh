#!/bin/sh
# What a program stores itself, as the command sees it: its kind, name, size, signer and what was said about it; verified,
# exported, imported, pruned and cleared as any artifact.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

exits 0 "$kiln" key new "$work/key" --comment "build farm"
export KILN_SIGN_KEY="$work/key"
exits 0 "$bin/autotune"
says out "measured 2 variants"

exits 0 "$kiln" ls
says out "  examples/transpose  "
says out "  bytes  "
says out "signed by "
exits 0 "$kiln" ls --json
is_json out
says out '"function":"examples/transpose","target":"","entry":""'
says out '"kind":"bytes"'

exits 0 "$kiln" show examples/transpose
says out "kind      bytes"
says out "name      examples/transpose"
says out "signed by "
says out "build farm"
says out "about"
says out "by rows             "
says out "by blocks           "
says out "  format              bytes 1"
says out "  bytes               "
says out "transpose 1, 1500 x 1500 of float32"
if grep -q '^target\|^entry' out; then fail "bytes are for no target and have no entry"; fi
exits 0 "$kiln" show examples/transpose --json
is_json out
exits 0 "$kiln" show examples/transpose --section bytes
grep -qx 'by rows\|by blocks' out || fail "the value is '$(cat out)'"
exits 0 "$kiln" verify
says out "1 sound, 0 bad"
exits 0 "$kiln" stats
says out "artifacts     1"

# In a pack, also in one for another target, and from there into a folder.
exits 0 "$kiln" export tuned.kilnpack --target sm_90
exits 0 "$kiln" ls --folder tuned.kilnpack
says out "  examples/transpose  "
exits 0 env KILN_CACHE_DIR=$work/other KILN_CACHE_PATH=$work/tuned.kilnpack "$bin/autotune"
says out "measured 0 variants"
exits 0 "$kiln" stats --folder tuned.kilnpack
says out "function 1 examples/transpose"
if grep -q '^target' out; then fail "the pack has no target"; fi
exits 0 "$kiln" import tuned.kilnpack --folder imported
exits 0 env KILN_CACHE_DIR=$work/imported "$bin/autotune"
says out "measured 0 variants"

# Damaged: counted, put aside, measured again.
file=$(find "$KILN_CACHE_DIR" -name '*.kiln')
printf x | dd of="$file" bs=1 seek=120 conv=notrunc 2>/dev/null
exits 1 "$kiln" verify
exits 0 env KILN_STATS=$work/stats "$bin/autotune"
says out "measured 2 variants"
expect "damaged" "$(counter stats corrupt)" 1
expect "compiles" "$(counter stats compiles)" 0

exits 0 "$kiln" prune --size 1K
exits 0 env KILN_CACHE_DIR=$work/cache "$bin/autotune"
says out "measured 0 variants"
exits 0 "$kiln" prune --size 1
exits 0 "$bin/autotune"
says out "measured 2 variants"
exits 0 "$kiln" clear --yes
exits 0 "$bin/autotune"
says out "measured 2 variants"
