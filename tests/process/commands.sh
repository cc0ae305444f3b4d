#!/bin/sh
# The commands of `kiln`: what they print, and their exit codes, with good and bad usage.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

# Usage.
exits 2 "$kiln"
says err "usage: kiln COMMAND"
exits 0 "$kiln" --help
for command in demo stats ls show verify prune clear warm key config doctor; do
    says out "$command"
    exits 0 "$kiln" $command --help
    says out "usage: kiln $command"
    exits 0 "$kiln" --help
done
exits 0 "$kiln" --version
says out "kiln 0."
exits 2 "$kiln" frobnicate
says err "there is no command 'frobnicate'. Commands: demo run why report stats ls show verify prune clear warm export import audit key config doctor"
exits 2 "$kiln" ls --colour
says err "there is no option '--colour'; there are --function --since --sort --limit --folder --json and --help"
exits 2 "$kiln" ls --folder
says err "--folder needs a value"
exits 2 "$kiln" ls one
says err "one word too many"
exits 2 "$kiln" show
says err "which artifact?"
exits 2 "$kiln" stats --folder here there
says err "not both"

# No folder yet.
exits 1 "$kiln" ls
says err "No such file or directory"
mkdir -m 700 empty
exits 0 "$kiln" ls --folder empty
says out "no artifacts"
exits 0 "$kiln" ls --folder=empty --json
expect "an empty list" "$(cat out)" "[]"
exits 1 "$kiln" show abc --folder empty
says err "no artifact in empty begins with abc; none was first compiled for a function of that name"
exits 1 "$kiln" show xyz --folder empty
says err "or was first compiled for a function of that name"

# A folder with something in it.
KILN_STATS=$work/stats "$bin/quickstart" >/dev/null
KILN_STATS=$work/stats "$bin/quickstart" >/dev/null
exits 0 "$kiln" ls
says out "digest"
files=$(find cache -name '*.kiln' | wc -l)
expect "lines of ls" "$(($(wc -l <out) - 1))" "$files"
exits 0 "$kiln" ls --json
is_json out
digest=$(grep -o '"digest":"[0-9a-f]*","function":"[^"]*","target":"[^"]*","entry":"kiln_[^"]*"' out | head -n 1 | cut -d'"' -f4)
[ ${#digest} = 64 ] || fail "ls --json lists no kernel"
exits 0 "$kiln" show "$(echo "$digest" | cut -c1-16)"
says out "digest    $digest"
says out "compiler"
says out "define void @kiln_"
exits 0 "$kiln" show "$digest" --json
is_json out
exits 0 "$kiln" show "$digest" --section object
expect "an object's first bytes" "$(head -c 4 out | tail -c 3)" ELF
exits 1 "$kiln" show "$digest" --section nothing
says err "there is no section 'nothing'; there are"
exits 0 "$kiln" stats
says out "artifacts     $files"
exits 0 "$kiln" stats --json
is_json out

# A file of KILN_STATS.
exits 0 "$kiln" stats stats
says out "processes     2"
exits 0 "$kiln" stats stats --json
is_json out
expect "sum of compiles" "$(counter out compiles)" "$(($(counter stats compiles 1) + $(counter stats compiles 2)))"
echo '{ "new \"field\"" : {"a":[1,"}"]}, "compiles" : 5, "text":"\u00e9" }' >more
exits 0 "$kiln" stats more --json
expect "a counter among fields that are not known" "$(counter out compiles)" 5
echo 'not json' >>stats
echo '{"compiles":1' >>stats
exits 1 "$kiln" stats stats
says out "bad lines     2"
exits 1 "$kiln" stats nowhere
says err "No such file"

# Damage is told, not hidden; nothing is repaired by looking.
file=$(find cache -name "$digest.kiln")
chmod u+w "$file"
printf X | dd of="$file" bs=1 seek=100 conv=notrunc 2>/dev/null
exits 1 "$kiln" ls
says out "damaged:"
exits 1 "$kiln" ls --json
is_json out
exits 1 "$kiln" stats
says out "damaged       1"
exits 1 "$kiln" show "$digest"
[ -e "$file" ] || fail "looking at a damaged file removed it"

# Doctor.
exits 0 "$kiln" doctor
says out "ok    target"
says out "ok    folder"
says out "LLVM 19."
exits 0 "$kiln" doctor --json
is_json out
mkdir -m 777 open
chmod 777 open
exits 1 env KILN_CACHE_DIR="$work/open" "$kiln" doctor
says out "neither group nor others may write it"
exits 1 env KILN_PLUGIN=/nowhere.so KILN_CACHE_DIR="$work/empty" "$kiln" doctor
says out "fail  compiler"
says out "Nothing can be compiled, and no folder was filled where one is"
exits 0 env KILN_PLUGIN=/nowhere.so "$kiln" doctor
says out "warn  compiler"
says out "Kernels stored in $work/cache can be used, nothing can be compiled"
exits 0 env KILN_PLUGIN=/nowhere.so KILN_CACHE_DIR="$work/empty" KILN_CACHE_PATH="$work/nowhere:$work/cache" "$kiln" doctor
says out "Kernels stored in $work/cache can be used, nothing can be compiled"
exits 1 env KILN_PLUGIN=/nowhere.so KILN_MODE=off "$kiln" doctor
exits 0 env KILN_MODE=sometimes KILN_COLOUR=1 "$kiln" doctor
says out "KILN_MODE=sometimes is not one of normal, off, no-compile, compile-only; not used"
says out "there is no setting KILN_COLOUR"
exits 1 env KILN_TARGET=pdp11 "$kiln" doctor
says out "fail  target"
