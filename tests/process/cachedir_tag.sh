#!/bin/sh
# A cache folder has a CACHEDIR.TAG, so that backups pass it over; a folder in which somebody keeps other things gets none.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
printf 'define i64 @kernel() {\n  ret i64 1\n}\n' >k.ll

exits 0 "$kiln" warm k.ll --folder cache
expect "the signature" "$(head -n 1 cache/CACHEDIR.TAG)" "Signature: 8a477f597d28d172789f06886806bc55"
tar -cf all.tar --exclude-caches cache
expect "artifacts in a backup" "$(tar -tf all.tar | grep -c '\.kiln$' || true)" 0
exits 0 "$kiln" verify --folder cache
exits 0 "$kiln" clear --folder cache --yes
expect "what clear leaves" "$(ls -A cache)" ""

mkdir -m 700 home
echo mine >home/letter
exits 0 "$kiln" warm k.ll --folder home
[ -e home/CACHEDIR.TAG ] && fail "a folder with other files in it was tagged as a cache"
exit 0
