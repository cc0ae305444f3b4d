#!/bin/sh
# kiln-bench --json is JSON, and a row that could not be measured says why.
. "$(dirname "$0")/lib.sh"
KILN_PLUGIN='/no "plug-in"' exits 1 "$bin/kiln-bench" --json --repeats 1 --only 'softmax, 4096 x 4096'
is_json out
says out '"missing":true,"why":"the function failed"'
exits 2 "$bin/kiln-bench" --json --repeats 1 --only 'no "such" row'
says err "no row's name holds 'no \"such\" row'"
