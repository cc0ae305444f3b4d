#!/bin/sh
# The bench of remotes runs, with few keys: rows for every server that is here, and no entry was lost. Nothing is timed.
. "$(dirname "$0")/lib.sh"
[ -n "$is_long" ] && keys=200 || keys=20
"$source/bench/fleet/run.sh" "$build" 2 $keys 1 >rows || { status=$? && cat rows && exit $status; }
cat rows
for server in nginx:http redis-server:redis versitygw:s3; do
    fleet_program "${server%:*}" >/dev/null 2>&1 || continue
    says rows "${server#*:} get"
    says rows "${server#*:} put"
done
