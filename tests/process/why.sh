#!/bin/sh
# `kiln why` from files alone, and `kiln audit`: what they say and their exit codes.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

"$bin/c_kernels" >/dev/null
KILN_OPT_LEVEL=3 "$bin/c_kernels" >/dev/null
"$kiln" ls --json >list
digests=$(grep -o '"digest":"[0-9a-f]*","function":"[^"]*","target":"[^"]*","entry":"[^"]' list | cut -d'"' -f4)
first=$(echo "$digests" | head -n 1)
exits 0 "$kiln" why "$first"
says out "option opt_level was"
exits 0 "$kiln" why "$first" --json
is_json out
exits 0 "$kiln" why "$first" "$first"
says out "nothing differs"
exits 2 "$kiln" why
says err "which artifact?"
exits 1 "$kiln" why ffffffffffffffff
says err "begins with"

exits 2 "$kiln" audit
says err "which program?"
exits 0 "$kiln" audit "$bin/quickstart"
says err "hits were looked at again; 0 give something else now"
exits 1 "$kiln" audit ./nothing
exits 1 "$kiln" audit --json sh -c 'exit 3'
says out '"exit_code":3'
exits 1 "$kiln" audit "$build/tests/forgetful"
says err "forgetful: line 1 was \"scale 1\", is \"scale 2\""
exits 0 "$kiln" audit -- "$build/tests/forgetful" watched
says err "; 0 give something else now"

# The first compile of a process is told beside what is stored.
export KILN_CACHE_DIR="$work/nearest"
KILN_LOG=miss "$bin/swiglu" 2>log >/dev/null
says log "nearest stored to swiglu: none, the folder has no other artifact of it"
KILN_OPT_LEVEL=3 KILN_LOG=miss "$bin/swiglu" 2>log >/dev/null
says log "option opt_level was 2, is 3"
expect "lines of the nearest" "$(grep -c 'nearest stored' log)" 1
KILN_OPT_LEVEL=1 "$bin/swiglu" 2>log >/dev/null
expect "what is said unasked" "$(cat log)" ""
