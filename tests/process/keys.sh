#!/bin/sh
# `kiln key`: files and their modes, lists, rotation, revocation, and what it says to what is wrong.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
export XDG_CONFIG_HOME="$work/settings"
unset KILN_SIGN_KEY KILN_TRUSTED_KEYS
umask 022
list=$work/settings/kiln/trusted_keys

# ---- usage -----------------------------------------------------------------------------------------------------------------

exits 2 "$kiln" key
says err "what to do? one of new, trust, ls and revoke"
exits 2 "$kiln" key make
exits 2 "$kiln" key new
says err "new needs a path for the key"
exits 2 "$kiln" key trust
exits 2 "$kiln" key revoke
exits 2 "$kiln" key ls all
says err "'all' is one word too many"
exits 2 "$kiln" key ls --comment x
exits 0 "$kiln" key --help
says out "usage: kiln key new PATH"
exits 0 "$kiln" key ls
says out "no key is trusted; 'kiln key trust PATH.pub' adds one"
exits 0 "$kiln" key ls --json
expect "no keys" "$(cat out)" "[]"

# ---- new -------------------------------------------------------------------------------------------------------------------

exits 0 "$kiln" key new ci --comment "build farm"
says out "KILN_SIGN_KEY=ci"
says out "kiln key trust ci.pub"
expect "modes" "$(stat -c %a ci ci.pub | tr '\n' ' ')" "600 644 "
grep -qxE 'kiln-secret-key 1 [0-9a-f]{64} build farm' ci || fail "ci is not a secret key: $(cat ci)"
grep -qxE 'kiln-key 1 [0-9a-f]{64} build farm' ci.pub || fail "ci.pub is not a public key"
expect "lines" "$(cat ci ci.pub | wc -l)" 2
ci=$(cut -d' ' -f3 ci.pub)
(umask 0 && "$kiln" key new open >/dev/null)
expect "modes whatever the umask" "$(stat -c %a open open.pub | tr '\n' ' ')" "600 644 "
exits 0 "$kiln" key new second --json
is_json out
second=$(sed 's/.*"key":"\([0-9a-f]*\)".*/\1/' out)
expect "the public half" "$second" "$(cut -d' ' -f3 second.pub)"
says out '"secret_file":"second","public_file":"second.pub"'
[ "$ci" != "$second" ] || fail "two keys are the same"

# Nothing is written over, and nothing is left behind.
cp ci kept
exits 1 "$kiln" key new ci
says err "ci is there already; a key is never written over"
cmp -s ci kept || fail "a key was written over"
mkdir here
echo mine >here/key.pub
exits 1 "$kiln" key new here/key
says err "here/key.pub is there already"
expect "what is left" "$(ls here)" key.pub
expect "the file that was there" "$(cat here/key.pub)" mine
exits 1 "$kiln" key new nowhere/key
says err "No such file or directory"
exits 1 "$kiln" key new other --comment "$(printf 'two\nlines')"
says err "can be printed on one line"
[ ! -e other ] && [ ! -e other.pub ] || fail "a key with a wrong comment was made"

# ---- trust -----------------------------------------------------------------------------------------------------------------

exits 1 "$kiln" key trust nothing.pub
says err "nothing.pub is not there"
exits 1 "$kiln" key trust ci
says err "ci:1: this is a secret key, which stays where it was made"
[ ! -e "$list" ] || fail "a list was made for a file that is none"
exits 0 "$kiln" key trust ci.pub
says out "$list: 1 trusted"
expect "mode of the list" "$(stat -c %a "$list")" 644
exits 0 "$kiln" key trust ci.pub
says out "$list: 0 trusted, 1 trusted before"
expect "lines with the key" "$(grep -c "$ci" "$list")" 1
printf '# mine' >>"$list" # a line without an end
exits 0 "$kiln" key trust second.pub --json
is_json out
says out '"added":1,"before":0'
expect "keys in the list" "$(grep -c '^kiln-key' "$list")" 2
says "$list" "# mine"
exits 0 "$kiln" key ls
says out "trusted  $ci  build farm  ($list:2)"
says out "trusted  $second  -  ($list:4)"
exits 0 "$kiln" key ls --json
is_json out
says out "\"key\":\"$ci\",\"state\":\"trusted\",\"comment\":\"build farm\",\"where\":\"$list:2\""

# At once, none is lost.
mkdir many
for i in 1 2 3 4 5 6 7 8; do "$kiln" key new many/$i >/dev/null; done
for i in 1 2 3 4 5 6 7 8; do "$kiln" key trust many/$i.pub >/dev/null & done
wait
expect "keys after eight at once" "$(grep -c '^kiln-key' "$list")" 10

# A list behind a link stays behind it.
mkdir dotfiles
mv "$list" dotfiles/list
ln -s "$work/dotfiles/list" "$list"
exits 0 "$kiln" key trust open.pub
[ -h "$list" ] || fail "the link was replaced by a file"
expect "keys behind a link" "$(grep -c '^kiln-key' dotfiles/list)" 11

# The named list, which is made.
export KILN_TRUSTED_KEYS="$work/named/keys"
exits 1 "$kiln" key ls
says err "$work/named/keys, which KILN_TRUSTED_KEYS names, is not there"
exits 0 "$kiln" key trust second.pub
says out "$work/named/keys: 1 trusted"
exits 0 "$kiln" key ls
expect "keys of the named list alone" "$(grep -c ^trusted out)" 1
unset KILN_TRUSTED_KEYS

# ---- revoke ----------------------------------------------------------------------------------------------------------------

exits 1 "$kiln" key revoke 00000000
says err "0 of the keys that are known here begin with 00000000; give all 64 digits, or a file"
exits 1 "$kiln" key revoke 0000
says err "0000 is not there"
exits 0 "$kiln" key revoke "$(echo "$ci" | cut -c1-8)"
says out "1 revoked"
says "$list" "revoked $ci build farm"
exits 0 "$kiln" key revoke ci.pub
says out "0 revoked, 1 revoked before"
exits 0 "$kiln" key ls
says out "revoked  $ci  build farm  ($list:"
exits 1 "$kiln" key trust ci.pub
says err "is revoked by $list:"
unknown=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
exits 0 "$kiln" key revoke $unknown
says "$list" "revoked $unknown"
# What the user's list revokes, the named list can't bring back.
export KILN_TRUSTED_KEYS="$work/named/keys"
exits 1 "$kiln" key trust ci.pub
unset KILN_TRUSTED_KEYS

# doctor says the same.
exits 0 env XDG_CONFIG_HOME="$work/nowhere" "$kiln" doctor
says out "ok    keys         none is trusted: only what this user and root have stored is used"
exits 0 env KILN_SIGN_KEY="$work/second" "$kiln" doctor
says out "ok    keys         10 trusted; $(echo "$second" | cut -c1-8) signs"
exits 1 env KILN_SIGN_KEY="$work/nothing" "$kiln" doctor
says out "fail  keys         $work/nothing, which KILN_SIGN_KEY names, is not there; nothing is signed"
exits 1 env KILN_TRUSTED_KEYS="$work/nothing" "$kiln" doctor
says out "fail  keys         $work/nothing, which KILN_TRUSTED_KEYS names, is not there; nothing from elsewhere is used"

# The key that signs is trusted, unless it is revoked.
exits 0 env KILN_SIGN_KEY="$work/second" "$kiln" key ls
says out "signs    $second"
exits 1 env KILN_SIGN_KEY="$work/ci" "$kiln" key ls
says out "revoked  $ci"
says err "the key of $work/ci is revoked by $list:"
chmod 644 second
exits 1 env KILN_SIGN_KEY="$work/second" "$kiln" key ls
says err "$work/second has mode 644, so others can read this secret key; run: chmod 600 $work/second"
chmod 600 second
exits 0 env KILN_SIGN_KEY="$work/second" "$kiln" key ls

# ---- lists that can't be used ------------------------------------------------------------------------------------------------

chmod 664 dotfiles/list
exits 1 "$kiln" key ls
says err "has mode 664, so others can say who is trusted; run: chmod go-w $list"
cp dotfiles/list before
exits 1 "$kiln" key trust open.pub
cmp -s before dotfiles/list || fail "a list that others may write was written"
chmod 644 dotfiles/list
echo "kiln-key 1 abc" >>dotfiles/list
exits 1 "$kiln" key ls
says err "$list:$(wc -l <dotfiles/list): a key is 64 of the digits 0-9 and a-f"
exits 1 "$kiln" key revoke second.pub
says err "a key is 64 of the digits"
exits 1 env XDG_CONFIG_HOME= HOME= "$kiln" key trust open.pub
says err "none of KILN_TRUSTED_KEYS, XDG_CONFIG_HOME and HOME is set"

# A full disk leaves the list as it was.
printf 'kiln-key 1 %s\n' "$ci" >dotfiles/list
(ulimit -f 0 && "$kiln" key trust open.pub) 2>&1 | cat >out
says out "File too large"
expect "the list after a failed write" "$(cat dotfiles/list)" "kiln-key 1 $ci"
expect "what a failed write left" "$(find dotfiles -type f)" dotfiles/list
