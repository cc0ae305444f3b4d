#!/bin/sh
# kiln stats over a folder: what processes got from it, summed up beside the artifacts.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

exits 1 "$kiln" stats
"$bin/swiglu" >/dev/null
exits 0 "$kiln" stats
says out "used by       1 processes, 3 calls"
says out "0 found here, 0 at remotes, 1 compiled"
for i in 1 2 3; do "$bin/swiglu" >/dev/null; done
exits 0 "$kiln" stats --json
is_json out
says out '"usage":{"processes":4,"calls":12,"hits":'
says out '"compiles":1,"disk_hits":3'
exits 0 "$kiln" stats
says out "75.00% found"

# Processes at once; a file that has grown long is replaced by its sum; what is no file of ours begins anew.
for i in 1 2 3 4 5 6 7 8; do "$bin/swiglu" >/dev/null & done
wait
exits 0 "$kiln" stats
says out "used by       12 processes, 36 calls"
for i in 1 2 3 4 5 6; do cat cache/.hits cache/.hits >more && cp more cache/.hits; done
while [ "$(stat -c %s cache/.hits)" -lt 65536 ]; do cat cache/.hits cache/.hits >more && cp more cache/.hits; done
"$bin/swiglu" >/dev/null
expect "bytes of a sum" "$(stat -c %s cache/.hits)" 64
echo "something else" >cache/.hits
exits 0 "$kiln" stats
"$bin/swiglu" >/dev/null
exits 0 "$kiln" stats
says out "used by       1 processes, 3 calls"

# A folder that is filled to be shipped, a folder that may not be written, a link: nothing is told, nothing fails.
KILN_CACHE_DIR=$work/shipped KILN_MODE=compile-only "$bin/swiglu" >/dev/null 2>&1 || true
[ ! -e shipped/.hits ] || fail "compile-only counts as a use"
rm cache/.hits
ln -s "$work/elsewhere" cache/.hits
exits 0 "$bin/swiglu"
[ ! -e elsewhere ] || fail "a link was followed"
rm cache/.hits
exits 0 "$kiln" verify
exits 0 "$kiln" clear --yes
