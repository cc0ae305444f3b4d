#!/bin/sh
# verify, prune and clear: what they find, remove and leave alone.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

# Four kernels of one size, and the run-time library they needed.
for i in 1 2 3 4; do printf 'define i64 @kernel() {\n  ret i64 %s\n}\n' $i >k$i.ll; done
exits 0 "$kiln" warm k1.ll k2.ll k3.ll k4.ll --folder cache
expect "compiled" "$(grep -c '^compiled' out)" 4
exits 0 "$kiln" verify
says out "5 sound, 0 bad"
exits 0 "$kiln" verify --json
is_json out
says out '"sound":5,"foreign":0,"passed_over":0,"bad":0'
exits 1 "$kiln" verify --folder nowhere
says err "No such file"

digest_of()
{
    "$kiln" ls --json | sed -n "s/.*\"digest\":\"\([0-9a-f]*\)\",\"function\":\"$1\".*/\1/p"
}
file_of()
{
    find cache -name "$(digest_of "$1").kiln"
}

# A flipped byte, a cut file, a file under another's name, one that others may write.
one=$(file_of k1) two=$(file_of k2) three=$(file_of k3) four=$(file_of k4)
chmod u+w "$one" "$two" "$three"
size=$(wc -c <"$one")
printf X | dd of="$one" bs=1 seek=200 conv=notrunc 2>/dev/null
head -c 100 "$two" >cut && cat cut >"$two"
cat "$four" >"$three"
chmod 666 "$four"
exits 1 "$kiln" verify
expect "bad files" "$(grep -c ' bad: ' out)" 4
says out "checksum"
says out "misplaced"
says out "others own the file or may write it"
says out "1 sound, 4 bad"
[ -e "$one" ] || fail "verify without --repair changed something"
chmod 600 "$four"
exits 0 "$kiln" verify --repair --json
is_json out
says out '"sound":2,"foreign":0,"passed_over":0,"bad":3,"repaired":3'
expect "put aside" "$(find cache -name '*.bad' | wc -l)" 3
exits 0 "$kiln" verify
says out "2 sound, 0 bad"
exits 0 "$kiln" warm k1.ll k2.ll k3.ll k4.ll --folder cache
expect "compiled again" "$(grep -c '^compiled' out)" 3
find cache -name '*.bad' -delete

# An artifact of the first format, in its place: passed over, not bad, not put aside, and removed as any other.
early=2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683 # SHA-256 of its key, "key"
mkdir -p cache/2c
cp "$source/tests/corpus/artifact/version1.kiln" cache/2c/$early.kiln
exits 0 "$kiln" verify --repair
says out "2c70e12b7a06  passed over: an earlier format, not used"
says out "5 sound, 1 of another format, 0 bad"
exits 0 "$kiln" verify --json
is_json out
says out '"sound":5,"foreign":0,"passed_over":1,"bad":0'
exits 0 "$kiln" ls
says out "2c70e12b7a06  unused: an earlier format, not used"
exits 0 "$kiln" ls --json
is_json out
says out '"unused":"an earlier format, not used"'
exits 0 "$kiln" stats
says out "other format  1, not used"
exits 1 "$kiln" show 2c70
says err "an earlier format, not used"
touch -d '10 days ago' cache/2c/$early.kiln
exits 0 "$kiln" prune --files 5
says out "removed 1 files"
[ ! -e cache/2c/$early.kiln ] || fail "prune left the oldest, of the first format"

# Prune: oldest first, to the very bound; other names stay.
exits 2 "$kiln" prune --size little
says err "right would be 500M"
exits 2 "$kiln" prune --files 0
exits 2 "$kiln" prune --older soon
exits 2 "$kiln" prune --older 5x
exits 1 "$kiln" prune --folder nowhere
exits 0 "$kiln" prune
says out "removed 0 files, 0 B; kept 5 files"
now=$(date +%s)
age()
{
    touch -d "@$((now - $2))" "$(file_of "$1")"
}
age k1 400000
age k2 300000
age k3 200000
age k4 100000
mine=$(dirname "$(file_of k1)")/mine.kiln
echo mine >"$mine"
echo mine >cache/note.bad
exits 0 "$kiln" prune --files 4 --dry-run
says out "would remove 1 files"
exits 0 "$kiln" prune --files 4 --json
is_json out
says out '"removed_files":1'
expect "the oldest" "$(digest_of k1)" ""
[ -n "$(digest_of k2)" ] || fail "prune removed more than was asked for"
exits 0 "$kiln" prune --older 3d
says out "removed 1 files"
expect "older than three days" "$(digest_of k2)" ""
bytes=$(cat "$(file_of k4)" "$(find cache -name '*.kiln' -size +8k)" | wc -c)
exits 0 "$kiln" prune --size "$bytes"
expect "over the size" "$(digest_of k3)" ""
[ -n "$(digest_of k4)" ] || fail "prune --size removed more than was asked for"
[ -e "$mine" ] && [ -e cache/note.bad ] || fail "prune removed a file that is not Kiln's"

# Clear: never without a yes, never what is not a cache.
exits 1 "$kiln" clear --yes
says err "is not a cache folder: Kiln would not have made 'note.bad' in it"
mkdir -p home/documents home/ab
echo letter >home/documents/letter
exits 1 "$kiln" clear --yes --folder home
says err "is not a cache folder"
[ -e home/documents/letter ] && [ -d home/ab ] || fail "clear touched a folder that is no cache"
for link in aa bb cc dd ee; do [ -e cache/$link ] || break; done # names of folders, of which a few may be there
ln -s ../home cache/$link
rm cache/note.bad
exits 1 "$kiln" clear --yes
says err "would not have made '$link'"
rm cache/$link
exits 2 "$kiln" clear </dev/null
says err "--yes removes 2 files"
exits 0 "$kiln" clear --yes --json
is_json out
says out '"removed_files":2'
[ -e "$mine" ] || fail "clear removed a file that is not Kiln's"
rm "$mine"
exits 0 "$kiln" clear --yes
[ -d cache ] || fail "clear removed the folder itself"
expect "what is left" "$(find cache -mindepth 1)" ""
exits 1 "$kiln" clear --yes --folder nowhere

# On a terminal it asks; and a line about progress is for terminals only.
if command -v script >/dev/null 2>&1; then
    "$kiln" warm k1.ll --folder cache >/dev/null
    answer()
    {
        (sleep 0.2; echo "$1") | script -qec "'$kiln' clear" /dev/null >out 2>&1 || true
    }
    answer n
    says out "Remove 2 files"
    says out "nothing was removed"
    [ -n "$(find cache -name '*.kiln')" ] || fail "clear did not take no for an answer"
    answer y
    says out "removed 2 files"
    expect "left after yes" "$(find cache -name '*.kiln')" ""
fi
