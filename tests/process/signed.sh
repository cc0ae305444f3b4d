#!/bin/sh
# Artifacts of others: folders that others may write or own, with the real command and libraries; the steps of docs/trust.md;
# modes of what is stored, and a folder that root fills for another user.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
trusting=$build/tests/trusting
umask 022
chmod 755 "$work"
unset KILN_SIGN_KEY KILN_TRUSTED_KEYS KILN_CACHE_UMASK

# fills FOLDER [VARIABLE...]: stores one kernel, and the run-time library that it needs.
fills()
{
    where=$1
    shift
    exits 0 env KILN_CACHE_DIR="$where" "$@" "$trusting"
    expect "the result" "$(cat out)" 42
}

# reads FOLDER HITS COMPILES REFUSED [VARIABLE or COMMAND...]: a process that has only that folder. Who compiles looks for the run-time
# library too, so where all is refused, two are.
reads()
{
    where=$1 hits=$2 compiles=$3 refused=$4
    shift 4
    rm -f "$work/stats"
    exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$where" KILN_STATS=1 "$@" "$trusting"
    expect "the result" "$(cat out)" 42
    expect "disk_hits of $where" "$(counter err disk_hits)" "$hits"
    expect "compiles with $where" "$(counter err compiles)" "$compiles"
    expect "refused_signatures of $where" "$(counter err refused_signatures)" "$refused"
}

entry_of()
{
    "$kiln" ls --json --folder "$1" | sed -n 's/.*"digest":"\([0-9a-f]*\)","function":"answer".*/\1/p'
}

# ---- a folder that others may write ------------------------------------------------------------------------------------------

"$kiln" key new farm --comment "build farm" >/dev/null
"$kiln" key new other >/dev/null
fills "$work/shared" KILN_SIGN_KEY="$work/farm"
fills "$work/plain"
farm=$(cut -d' ' -f3 farm.pub)
short=$(echo "$farm" | cut -c1-8)
chmod 777 shared plain
entry=shared/$(entry_of shared | cut -c1-2)/$(entry_of shared).kiln
[ -s "$entry" ] || fail "nothing is stored for answer"

reads "$work/shared" 0 1 0
says err "or what is in it must be signed: no key is trusted"
says err "kiln key trust PATH.pub"
exits 0 "$kiln" show "$(entry_of shared)" --folder shared
says out "signed by $short (signed by $farm, which is not trusted here)"

exits 0 "$kiln" key trust farm.pub
exits 0 "$kiln" key trust other.pub
reads "$work/shared" 1 0 0
reads "$work/plain" 0 1 2
says err "an artifact in it is not used: not signed"
exits 0 "$kiln" ls --folder shared
says out "signed by $short build farm"
exits 0 "$kiln" show "$(entry_of shared)" --folder shared
grep -qx "signed by $short build farm" out || fail "show does not say who signed"
exits 0 "$kiln" show "$(entry_of shared)" --folder shared --json
is_json out
says out "\"signer\":\"$farm\",\"signer_comment\":\"build farm\",\"signature\":\"accepted\""
exits 0 "$kiln" ls --folder plain
! grep -q "signed by" out || fail "ls says that somebody signed what nobody has"

exits 0 "$kiln" show answer --folder shared
says out "signed by $short build farm"

# Where no compiler is: the folder of others names the tool chain.
reads "$work/shared" 1 0 0 KILN_PLUGIN=/none KILN_MODE=no-compile

# Changed by one byte, cut short, signed by another, revoked, signed by nobody known.
cp "$entry" kept
flip()
{
    chmod u+w "$entry"
    printf "\\$(printf %o $(($(od -An -tu1 -j"$1" -N1 "$entry") ^ 1)))" | dd of="$entry" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
size=$(wc -c <"$entry")
flip $((size - 1))
reads "$work/shared" 0 1 1
says err "wrongly signed: the signature is not of this content and key"
cp kept "$entry"
flip $((size - 70)) # in the signer
reads "$work/shared" 0 1 1
cp kept "$entry"
flip 200
reads "$work/shared" 0 1 0
expect "corrupt" "$(counter err corrupt)" 1
cp kept "$entry"
reads "$work/shared" 1 0 0
exits 0 "$kiln" key revoke "$short"
reads "$work/shared" 0 1 2
says err "signed by $short, which $XDG_CONFIG_HOME/kiln/trusted_keys:4 revokes"
sed -i '/^revoked/d' "$XDG_CONFIG_HOME/kiln/trusted_keys"
reads "$work/shared" 1 0 0
reads "$work/shared" 0 1 2 KILN_TRUSTED_KEYS="$work/other.pub"
reads "$work/shared" 1 0 0 KILN_TRUSTED_KEYS="$work/farm.pub"
reads "$work/shared" 1 0 0 KILN_TRUSTED_KEYS="$work/other.pub" KILN_SIGN_KEY="$work/farm"

# A list with a wrong line, or that others may write: nobody is believed, and everything goes on.
cp farm.pub list
echo "kiln-key 1 $farm and more" >>list
echo "revoke $farm" >>list
reads "$work/shared" 0 1 0 KILN_TRUSTED_KEYS="$work/list"
says err "$work/list:3: a line is"
chmod 666 list
reads "$work/shared" 0 1 0 KILN_TRUSTED_KEYS="$work/list"
says err "run: chmod go-w $work/list"
# A key that others can read signs nothing, and stops nothing.
cp other loose
chmod 640 loose
fills "$work/loose_folder" KILN_SIGN_KEY="$work/loose"
says err "run: chmod 600 $work/loose"
exits 0 "$kiln" ls --folder loose_folder
! grep -q "signed by" out || fail "a key that others can read has signed"

# A key that is revoked takes what it has signed out of our own folder too; what is compiled in its place stays.
fills "$work/own" KILN_SIGN_KEY="$work/other"
printf 'revoked %s\n' "$(cut -d' ' -f3 other.pub)" >revoking
owns()
{
    exits 0 env KILN_CACHE_DIR="$work/own" KILN_STATS=1 KILN_TRUSTED_KEYS="$work/revoking" "$trusting"
    expect "the result" "$(cat out)" 42
    expect "disk_hits, compiles, refused_signatures" \
        "$(counter err disk_hits) $(counter err compiles) $(counter err refused_signatures)" "$1"
}
exits 0 "$kiln" verify --folder own
exits 1 env KILN_TRUSTED_KEYS="$work/revoking" "$kiln" verify --folder own
says out "which $work/revoking:1 revokes"
says out "0 sound, 2 bad"
owns "0 1 2"
owns "1 0 0"
exits 0 env KILN_TRUSTED_KEYS="$work/revoking" "$kiln" verify --folder own
rm -r own
fills "$work/own" KILN_SIGN_KEY="$work/other"

# ---- the library that checks -------------------------------------------------------------------------------------------------

# It is opened where there is something to check, from beside libkiln.so and nowhere else.
mkdir -p lib elsewhere
cp "$build/lib/libkiln.so.0" lib
ln -s "$build/lib/libkiln-llvm.so" lib
cp "$build/tests/foreign.so" elsewhere/libkiln-trust.so
cp "$build/tests/foreign.so" libkiln-trust.so
reads "$work/shared" 0 1 2 LD_LIBRARY_PATH="$work/lib:$work/elsewhere"
says err "$work/lib/libkiln-trust.so is not there; it is installed beside libkiln.so"
! grep -h "foreign code" out err || fail "a foreign library was loaded"
cp "$build/tests/foreign.so" lib/libkiln-trust.so
reads "$work/plain" 0 1 2 LD_LIBRARY_PATH="$work/lib"
! grep -h "foreign code" out err || fail "the library was opened though nothing is signed"
fills "$work/unsigned" LD_LIBRARY_PATH="$work/lib"
! grep -h "foreign code" out err || fail "the library was opened though nothing is signed"
exits 0 env KILN_CACHE_DIR="$work/own" KILN_SIGN_KEY="$work/farm" LD_LIBRARY_PATH="$work/lib" "$trusting"
! grep -h "foreign code" out err || fail "the library was opened though nothing is stored or from elsewhere"
rm lib/libkiln-trust.so
cp "$build/lib/libkiln-trust.so" lib
reads "$work/shared" 1 0 0 LD_LIBRARY_PATH="$work/lib:$work/elsewhere"

# ---- modes -------------------------------------------------------------------------------------------------------------------

modes()
{
    find "$1" \( -name '*.kiln' -o -name toolchain -o -name CACHEDIR.TAG -o -type d \) -printf '%m\n' | sort -u | tr '\n' ' '
}
fills "$work/private/cache"
expect "modes by default" "$(modes private)" "600 700 "
(umask 077 && fills "$work/image/cache" KILN_CACHE_UMASK=022)
expect "modes with 022" "$(modes image)" "644 755 "
(umask 0 && fills "$work/group/cache" KILN_CACHE_UMASK=027)
expect "modes with 027" "$(modes group)" "640 750 "
for mask in 002 020 0 1022 abc 0722; do
    rm -rf refused
    fills "$work/refused/cache" KILN_CACHE_UMASK=$mask
    says err "KILN_CACHE_UMASK=$mask is not a mask such as 022, 027 or 077: nobody else may write what is stored"
    expect "modes with $mask" "$(modes refused)" "600 700 "
done

# ---- the steps of docs/trust.md ----------------------------------------------------------------------------------------------

awk '/^```sh/ { machine = $2; file = sprintf("step-%02d-%s", ++count, machine); next } /^```/ { file = "" } file { print > file }' \
    "$source/docs/trust.md"
mkdir -p build/shared user root
as()
{
    machine=$1
    shift
    (cd "$machine" && env -u XDG_CONFIG_HOME HOME="$work/$machine" PATH="$bin:$PATH" "$@")
}
step()
{
    [ -s "$1" ] || fail "docs/trust.md has no $1; there are $(echo step-*)"
    as "${1##*-}" sh -eu "$work/$1" >out 2>err || { cat out err >&2; fail "$1 of docs/trust.md fails"; }
}
farm_signs()
{
    (unset XDG_CONFIG_HOME && export HOME="$work/build" && fills "$work/build/shared" KILN_SIGN_KEY="$work/build/.config/kiln/$1")
    chmod 777 build/shared
}
user_reads()
{
    (unset XDG_CONFIG_HOME && export HOME="$work/user" && reads "$work/build/shared" "$@")
}
step step-01-build
farm_signs farm-1
user_reads 0 1 0
cp build/.config/kiln/farm-1.pub user
step step-02-user
says out "build farm, first key"
user_reads 1 0 0
step step-03-build
cp build/.config/kiln/farm-2.pub user
step step-04-user
user_reads 1 0 0
step step-05-user
user_reads 0 1 2
chmod 700 build/shared
step step-06-build
expect "what is left in the place" "$(find build/shared -name '*.kiln')" ""
farm_signs farm-2
user_reads 1 0 0
chmod 700 build/shared
as build kiln clear --yes --folder "$work/build/shared" >out
farm_signs farm-1
user_reads 0 1 2
step step-07-user
user_reads 1 0 0

# ---- other users -------------------------------------------------------------------------------------------------------------

may_change_user()
{
    [ "$(id -u)" = 0 ] || { echo "signed: not root: other users are not tried" && return 1; }
    command -v setpriv >/dev/null || { echo "signed: there is no setpriv: other users are not tried" && return 1; }
    $app test -r "$build/lib/libkiln.so.0" || { echo "signed: others can't read $build: other users are not tried" && return 1; }
}
app="setpriv --reuid 12345 --regid 12345 --clear-groups"
if may_change_user; then
    # What root has put into an image serves the application, and without the mask it does not.
    reads "$work/image/cache" 1 0 0 $app
    reads "$work/private/cache" 0 1 0 $app
    sed "s,/opt/kernels,$work/opt/kernels,; s,./fill,$trusting," step-08-root >step-08
    sh -eu step-08 >out
    reads "$work/opt/kernels" 1 0 0 $app
    # A folder of a third user: entry by entry, for the application and for root.
    chmod 755 shared
    chmod -R go+rX shared plain
    chown -R 54321 shared plain
    chmod 755 plain
    install -m 644 farm.pub keys
    for who in "$app" env; do
        reads "$work/shared" 0 1 0 XDG_CONFIG_HOME="$work/none" $who
        says err "has owner 54321"
        reads "$work/shared" 1 0 0 KILN_TRUSTED_KEYS="$work/keys" $who
        reads "$work/plain" 0 1 2 KILN_TRUSTED_KEYS="$work/keys" $who
    done
    cat farm.pub other.pub >both
    # A list of a third user is nobody's word.
    chown 54321 keys
    reads "$work/shared" 0 1 0 KILN_TRUSTED_KEYS="$work/keys" $app
    says err "$work/keys belongs to user 54321"
    # The system's list, in a name space that has an /etc of its own: it counts beside the user's, and what it revokes is revoked.
    if unshare -m true 2>/dev/null; then
        cat >with_etc <<'END'
mount -t tmpfs none /etc && mkdir /etc/kiln && install -m 644 "$SYSTEM_LIST" /etc/kiln/trusted_keys && exec "$@"
END
        printf 'revoked %s\n' "$farm" >revoking
        for who in "$app" env; do
            reads "$work/shared" 1 0 0 SYSTEM_LIST="$work/farm.pub" XDG_CONFIG_HOME="$work/none" unshare -m sh with_etc $who
            reads "$work/shared" 0 1 2 SYSTEM_LIST="$work/revoking" KILN_TRUSTED_KEYS="$work/both" unshare -m sh with_etc $who
        done
        says err "which /etc/kiln/trusted_keys:1 revokes"
    else
        echo "signed: mount name spaces are not allowed here: /etc/kiln/trusted_keys is not tried"
    fi
    # A secret key that the user can't read.
    exits 1 $app env KILN_SIGN_KEY="$work/other" "$kiln" key ls
    says err "can't open $work/other: Permission denied"
fi
