#!/bin/sh
# kiln warm: a folder that is filled once and then shipped, read-only, for which nobody compiles.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

# The texts of a program's kernels, as `kiln show` prints them.
"$bin/quickstart" >expected
kernels=$("$kiln" ls --json | sed -n 's/.*"digest":"\([0-9a-f]*\)".*"entry":"kiln_.*/\1/p')
[ -n "$kernels" ] || fail "the program compiled no kernel"
mkdir texts
for digest in $kernels; do "$kiln" show "$digest" --section text >"texts/$digest.ll"; done
rm -r cache

# Warmed from those texts alone, then shipped as a copy that nobody can write.
exits 0 "$kiln" warm texts/*.ll --folder filled --json
is_json out
expect "outcomes" "$(grep -o '"outcome":"compiled"' out | wc -l)" "$(ls texts | wc -l)"
exits 0 "$kiln" warm texts/*.ll --folder filled
expect "the second time" "$(grep -c '^there' out)" "$(ls texts | wc -l)"
cp -r filled shipped
find shipped -type f -exec chmod 444 {} +
find shipped -type d -exec chmod 555 {} +
trap 'status=$?; chmod -R u+w "$work"; [ $status = 0 ] && rm -rf "$work"; exit $status' EXIT
KILN_CACHE_PATH=$work/shipped KILN_STATS=$work/stats "$bin/quickstart" >got
cmp expected got
expect "compiles with a warmed folder" "$(counter stats compiles)" 0
expect "artifacts from it" "$(counter stats disk_hits)" "$(ls texts | wc -l)"
expect "faults" "$(counter stats cache_faults)" 0
expect "written to the program's own folder" "$(find cache -name '*.kiln' 2>/dev/null)" ""
KILN_CACHE_PATH=$work/shipped KILN_MODE=no-compile "$bin/quickstart" >got
cmp expected got

# Other options and targets are other kernels.
KILN_CACHE_PATH=$work/shipped KILN_OPT_LEVEL=1 KILN_STATS=$work/stats "$bin/quickstart" >/dev/null
[ "$(counter stats compiles)" -ge 1 ] || fail "another opt level found what was warmed for this one"
first=$(ls texts/*.ll | head -n 1)
exits 0 "$kiln" warm "$first" --target x86-64-v2 --target x86-64-v4 --target=graniterapids --folder many
expect "targets" "$(grep -c '^compiled' out)" 3
exits 0 "$kiln" warm "$first" --target x86-64-v2 --target x86-64-v4 --target=graniterapids --folder many
expect "targets the second time" "$(grep -c '^there' out)" 3
exits 0 "$kiln" verify --folder many
says out "0 bad"

# What is in a read-only folder already goes into the folder all the same.
KILN_CACHE_PATH=$work/filled exits 0 "$kiln" warm "$first" --folder again
[ -n "$(find again -name '*.kiln')" ] || fail "warm left out what a read-only folder has"
exits 0 "$kiln" warm - --folder again <"$first"
says out "there"

# What can't be done.
exits 2 "$kiln" warm
says err "which kernels?"
exits 1 "$kiln" warm nowhere.ll --folder filled
says err "No such file"
: >empty.ll
exits 1 "$kiln" warm empty.ll --folder filled
says err "is empty"
echo 'not IR' >bad.ll
exits 1 "$kiln" warm bad.ll "$first" --folder filled
says err "bad.ll for native"
says out "there"
exits 1 "$kiln" warm bad.ll --folder filled --json
is_json out
says out '"outcome":"failed"'
exits 1 "$kiln" warm "$first" --target pdp11 --folder filled
says err 'unknown target "pdp11"'
echo file >file
exits 1 "$kiln" warm "$first" --folder file
says err "is not a folder"
KILN_MODE=off exits 1 "$kiln" warm "$first" --folder filled
says err "no folder that can be written"
