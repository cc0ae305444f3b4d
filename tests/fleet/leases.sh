#!/bin/sh
# Leases of Redis: who waits, waits for a host that lives, and no longer. Hosts that died with leases on everything cost the others
# some seconds, and nothing else.
. "$(dirname "$0")/lib.sh"
start_redis || skip "no server"
make_key ci
export KILN_SIGN_KEY="$work/ci.key"

# The names of all.
run names
names=$(find "$work/names/.cache" -name '*.kiln' | sed 's,.*/,,; s,\.kiln$,,')
expect "names" "$(echo "$names" | wc -l)" $stored

# Somebody holds a lease on each and will never put: they run out after two seconds.
for name in $names; do
    redis_cli set "kiln:lease:$name" somebody PX 2000 >/dev/null
done
run patient KILN_REMOTE="$redis_url"
counters patient compiles=$kernels remote_hits=0 remote_faults=0
[ "$(counter patient.stats remote_waits)" -ge 1 ] || fail "it did not wait for the lease"

# A host that can't sign has nothing to give, so it takes no lease and waits for none.
redis_cli flushall >/dev/null
for name in $names; do
    redis_cli set "kiln:lease:$name" somebody >/dev/null # forever
done
run reader KILN_REMOTE="$redis_url" KILN_SIGN_KEY= KILN_TRUSTED_KEYS="$work/ci.key.pub"
counters reader compiles=$kernels remote_waits=0 remote_faults=0

# Killed in the middle, ten times: the next one is served what was put and compiles the rest.
redis_cli flushall >/dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do
    on killed-$try KILN_REMOTE="$redis_url" timeout -s KILL "0.0$try" "$bin/fleet_kernels" >/dev/null 2>&1 || true
done
run after KILN_REMOTE="$redis_url"
counters after compiles=$((kernels - $(counter after.stats remote_hits))) remote_faults=0 refused_signatures=0

# Nothing is left behind that others would wait for.
until [ -z "$(redis_cli keys 'kiln:lease:*')" ]; do
    tries=$((${tries:-0} + 1))
    [ $tries -lt 200 ] || fail "leases are left: $(redis_cli keys 'kiln:lease:*')"
    sleep 0.05
done
