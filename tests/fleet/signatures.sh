#!/bin/sh
# What a server holds runs only if somebody who is trusted here has signed it: unsigned, signed by a stranger, signed by a revoked key,
# with a signature of another entry, changed after it was signed: refused, counted, compiled.
. "$(dirname "$0")/lib.sh"
start_http || skip "no server"
make_key ci
make_key next
make_key stranger
fill "$http_url"
root=$http_root/kiln

# refused HOST COUNT: so many kernels were refused for their signatures and compiled, with the run-time library that this needs.
refused()
{
    counters "$1" refused_signatures=$(($2 > 0 ? $2 + 1 : 0)) compiles="$2" remote_hits=$((kernels - $2)) remote_faults=0 corrupt=0 \
        cache_faults=0
}

# Nobody is trusted: the remote is not used, and the line says what to run.
run nobody KILN_REMOTE="$http_url"
counters nobody compiles=$kernels remote_hits=0 refused_signatures=0
says nobody.err "kiln key trust"
[ "$(grep -c "kiln key trust" nobody.err)" = 1 ] || fail "that was said more than once"

# Signed by a stranger; trusted together with another key; revoked.
trusts strange stranger
run strange KILN_REMOTE="$http_url"
refused strange $kernels
trusts both stranger ci
run both KILN_REMOTE="$http_url"
refused both 0
on both "$bin/kiln" key revoke "$work/ci.key.pub" >/dev/null
rm -rf "$work/both/.cache"
run both KILN_REMOTE="$http_url"
refused both $kernels
says both.err "revokes"

# A list by name counts, whatever the home says.
run named KILN_REMOTE="$http_url" KILN_TRUSTED_KEYS="$work/ci.key.pub"
refused named 0
run named-strange KILN_REMOTE="$http_url" KILN_TRUSTED_KEYS="$work/stranger.key.pub"
refused named-strange $kernels

# Unsigned: what a host without a key has in its folder, under the same names. Then one that is signed among them.
run plain
for file in $(find "$work/plain/.cache" -name '*.kiln'); do
    digest=$(basename "$file" .kiln)
    mkdir -p "$http_root/plain/${digest%"${digest#??}"}"
    cp "$file" "$http_root/plain/${digest%"${digest#??}"}/$digest"
done
expect "unsigned entries" "$(entries "$http_root/plain" | wc -l)" $stored
trusts unsigned ci
run unsigned KILN_REMOTE="${http_url%/kiln}/plain"
refused unsigned $kernels
says unsigned.err "signed"
one=$(entries "$http_root/plain" | xargs ls -S | tail -1) # a kernel: the run-time library is the largest
cp "$root/${one#"$http_root/plain/"}" "$one"
trusts mixed ci
run mixed KILN_REMOTE="${http_url%/kiln}/plain"
refused mixed $((kernels - 1))

# A host that is told to sign puts its own in place of what it refused, so the next one is served.
run replace KILN_REMOTE="${http_url%/kiln}/plain" KILN_SIGN_KEY="$work/next.key" KILN_TRUSTED_KEYS="$work/ci.key.pub"
refused replace $((kernels - 1))
[ "$(counter replace.stats remote_puts)" -ge 1 ] || fail "nothing was put in place of what was refused"
trusts rotated ci next
run rotated KILN_REMOTE="${http_url%/kiln}/plain"
[ "$(counter rotated.stats compiles)" -lt $((kernels - 1)) ] || fail "what replaced it was not used"

# A host without a key puts nothing, and compiles what it needs.
run silent KILN_REMOTE="${http_url%/kiln}/nothing" KILN_TRUSTED_KEYS="$work/ci.key.pub"
counters silent compiles=$kernels remote_puts=0 remote_misses=$stored remote_faults=0
expect "lines that say so" "$(grep -c "nothing is put to remotes" silent.err)" 1
[ ! -e "$http_root/nothing" ] || fail "an unsigned entry was put"
