#!/bin/sh
# kiln export and kiln import: a folder as one file, used where it lies, put into other folders, and refused when it is not
# what it was.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
nowhere=$work/nowhere.so # what KILN_PLUGIN names where there is no plug-in
other=12345              # a user who is not we
chmod 755 "$work"

"$bin/quickstart" >expected
"$bin/softmax" >/dev/null
stored=$(find cache -name '*.kiln' | wc -l)
exits 0 "$kiln" export all.kilnpack --json
is_json out
says out "\"exported_files\":$stored"
expect "mode of a pack" "$(stat -c %a all.kilnpack)" 600
exits 0 "$kiln" export all.kilnpack
says out "all.kilnpack: $stored artifacts"

# Used in place: nothing is compiled, with a compiler or without, and nothing goes to the own folder.
in_place()
{
    rm -f stats
    env KILN_CACHE_DIR="$work/own" KILN_CACHE_PATH="$work/all.kilnpack" KILN_STATS="$work/stats" "$@" "$bin/quickstart" >got
    cmp expected got
    expect "compiles with a pack ($*)" "$(counter stats compiles)" 0
    expect "faults with a pack ($*)" "$(counter stats cache_faults)" 0
    expect "damage with a pack ($*)" "$(counter stats corrupt)" 0
    [ "$(counter stats disk_hits)" -ge 1 ] || fail "nothing came from the pack ($*)"
    expect "files in the own folder ($*)" "$(find own -name '*.kiln' 2>/dev/null)" ""
}
in_place KILN_MODE=normal
in_place KILN_MODE=no-compile
in_place KILN_PLUGIN="$nowhere" KILN_MODE=no-compile
in_place KILN_CACHE_DIR=

# One that is not there is said, and the rest works.
exits 0 env KILN_CACHE_PATH="$work/absent.kilnpack:$work/all.kilnpack" KILN_CACHE_DIR= KILN_STATS="$work/stats" "$bin/quickstart"
cmp expected out
says err "absent.kilnpack is not used: can't use the pack"
expect "compiles behind a pack that is missing" "$(counter stats compiles)" 0

# Tools look into packs as into folders, and change nothing.
exits 0 "$kiln" ls --folder all.kilnpack
expect "rows of ls" "$(grep -c '  x86-64' out)" "$stored"
digest=$("$kiln" ls --json | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' | head -n 1)
exits 0 "$kiln" show "$digest" --folder all.kilnpack
says out "all.kilnpack"
exits 0 "$kiln" verify --folder all.kilnpack
says out "0 bad"
exits 0 "$kiln" stats --folder all.kilnpack
says out "entries $stored"
says out "toolchain "
exits 0 "$kiln" stats --folder all.kilnpack --json
is_json out
exits 1 "$kiln" prune --folder all.kilnpack
exits 1 "$kiln" clear --yes --folder all.kilnpack
[ -s all.kilnpack ] || fail "a pack was removed"

# Imported, it serves a machine without a compiler; the second time all is there.
exits 0 "$kiln" import all.kilnpack --folder imported --json
is_json out
says out "\"imported_files\":$stored"
exits 0 "$kiln" import all.kilnpack --folder imported
says out "imported 0 artifacts, 0 B; $stored were there"
cmp cache/toolchain imported/toolchain
exits 0 env KILN_PLUGIN="$nowhere" KILN_MODE=no-compile KILN_CACHE_DIR="$work/imported" "$bin/quickstart"
cmp expected out
for file in $(cd cache && find . -name '*.kiln'); do cmp "cache/$file" "imported/$file"; done

# Part of it.
exits 0 "$kiln" export part.kilnpack --function "softmax*"
says out "left out"
exits 0 "$kiln" ls --folder part.kilnpack
! sed 1d out | grep -v softmax || fail "the pack holds other functions"
find cache -name '*.kiln' -exec touch -d '3 days ago' {} +
exits 1 "$kiln" export none.kilnpack --used-since 2d
says err "nothing to export"
[ ! -e none.kilnpack ] || fail "a pack of nothing was written"
exits 0 "$kiln" export recent.kilnpack --used-since 4d
exits 1 "$kiln" export none.kilnpack --target sm_90
exits 0 "$kiln" export native.kilnpack --target native

# Damage: the program computes, counts it and compiles what it needs; import, ls and verify refuse it.
cp all.kilnpack damaged.kilnpack
size=$(stat -c %s damaged.kilnpack)
head -c "$size" /dev/zero | tr '\0' 'x' >noise
dd if=noise of=damaged.kilnpack bs=1 seek=6000 count=$((size - 6000)) conv=notrunc 2>/dev/null # behind the index
exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/damaged.kilnpack" KILN_STATS="$work/stats" "$bin/softmax"
exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/damaged.kilnpack" KILN_STATS="$work/more" "$bin/quickstart"
cmp expected out
[ "$(($(counter stats corrupt) + $(counter more corrupt)))" -ge 1 ] || fail "damage was not counted"
exits 1 "$kiln" verify --folder damaged.kilnpack
exits 1 "$kiln" import damaged.kilnpack --folder from-damaged
says err "nothing was imported"
[ ! -e from-damaged ] || fail "a damaged pack was imported"
dd if=noise of=damaged.kilnpack bs=1 seek=20 count=4 conv=notrunc 2>/dev/null
exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/damaged.kilnpack" KILN_STATS="$work/stats" "$bin/quickstart"
cmp expected out
[ "$(counter stats corrupt)" -ge 1 ] || fail "a damaged header was not counted"
exits 1 "$kiln" ls --folder damaged.kilnpack
says err "header is damaged"
exits 1 "$kiln" import expected
says err "not a pack"

# Wrong usage.
exits 2 "$kiln" export
exits 2 "$kiln" import
exits 1 "$kiln" export cache.tar
says err "ends in .kilnpack"
exits 2 "$kiln" export a.kilnpack --used-since soon
says err "30d"
exits 1 "$kiln" export nowhere/a.kilnpack
exits 1 "$kiln" import absent.kilnpack
says err "no such file"
for command in export import; do
    exits 0 "$kiln" "$command" --help
    says out "Exit code 1"
done

# Modes whoever exports and imports.
(umask 077 && "$kiln" export public.kilnpack --public >/dev/null)
expect "mode of a public pack" "$(stat -c %a public.kilnpack)" 644
(umask 0 && "$kiln" export private.kilnpack >/dev/null && "$kiln" import private.kilnpack --folder open >/dev/null)
expect "mode of a private pack" "$(stat -c %a private.kilnpack)" 600
expect "modes of imported files" "$(find open -type f -name '*.kiln' -exec stat -c %a {} + | sort -u)" 600
expect "mode of the folder" "$(stat -c %a open)" 700

# A pack that others may write, or that belongs to others, is believed entry by entry: nothing here is signed.
cp public.kilnpack foreign.kilnpack
chmod 666 foreign.kilnpack
exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/foreign.kilnpack" KILN_STATS="$work/stats" "$bin/quickstart"
cmp expected out
[ "$(counter stats compiles)" -ge 1 ] || fail "an unsigned pack that others may write was believed"
[ "$(counter stats refused_signatures)" -ge 1 ] || fail "it was not counted"
exits 1 "$kiln" import foreign.kilnpack --folder from-foreign
says err "not signed"

# The same, signed on the way.
exits 0 "$kiln" key new signer
exits 0 env KILN_SIGN_KEY="$work/signer" "$kiln" export signed.kilnpack --public
exits 0 "$kiln" stats --folder signed.kilnpack
says out "signer $stored"
chmod 666 signed.kilnpack
cp signer.pub trusted
exits 0 env KILN_TRUSTED_KEYS="$work/trusted" KILN_CACHE_DIR= KILN_CACHE_PATH="$work/signed.kilnpack" KILN_STATS="$work/stats" \
    "$bin/quickstart"
cmp expected out
expect "compiles with a signed pack" "$(counter stats compiles)" 0
expect "signatures that were refused" "$(counter stats refused_signatures)" 0
exits 0 env KILN_TRUSTED_KEYS="$work/trusted" "$kiln" import signed.kilnpack --folder from-signed
says out "imported $stored"
exits 1 "$kiln" import signed.kilnpack --folder from-unknown
exits 1 env KILN_SIGN_KEY="$work/absent" "$kiln" export unsigned.kilnpack
[ ! -e unsigned.kilnpack ] || fail "a pack was written without the signatures that were asked for"

# What root has exported for everybody serves another user, who could not have read the folder.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
    as_other()
    {
        setpriv --reuid $other --regid $other --clear-groups env HOME=/nowhere KILN_CACHE_DIR= KILN_STATS="$work/app/stats" "$@"
    }
    mkdir app
    chown $other app
    exits 0 as_other KILN_PLUGIN="$nowhere" KILN_MODE=no-compile KILN_CACHE_PATH="$work/public.kilnpack" "$bin/quickstart"
    cmp expected out
    expect "compiles of another user" "$(counter app/stats compiles)" 0
    exits 0 as_other KILN_CACHE_PATH="$work/private.kilnpack" "$bin/quickstart"
    [ "$(counter app/stats compiles)" -ge 1 ] || fail "another user read a private pack"
    chown $other public.kilnpack
    exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/public.kilnpack" KILN_STATS="$work/stats" "$bin/quickstart"
    [ "$(counter stats compiles)" -ge 1 ] || fail "an unsigned pack of another owner was believed"
fi
