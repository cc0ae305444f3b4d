#!/bin/sh
# README tells the truth: its example is examples/quickstart.c and prints what it says, its commands and files exist.
. "$(dirname "$0")/lib.sh"
readme=$source/README.md

sed -n '/^```c$/,/^```$/p' "$readme" | sed '1d;$d' >example.c
cmp example.c "$source/examples/quickstart.c" || fail "the example in README.md is not examples/quickstart.c"
"$bin/quickstart" >out
expect "what the example prints" "$(cat out)" "$(sed -n 's/.*puts.*\/\* \(.*\) \*\/$/\1/p' example.c)"
[ "$(wc -l <example.c)" -le 25 ] || fail "the example has grown: $(wc -l <example.c) lines"

for target in $(grep -o '`make[a-z ]*`' "$readme" | tr -d '`' | sed 's/^make *//'); do
    grep -q "^$target:" "$source/Makefile" || fail "README.md says make $target, the Makefile has no such target"
done
for path in $(grep -o '](\([^)h][^)]*\))' "$readme" | sed 's/](\(.*\))/\1/'); do
    [ -e "$source/$path" ] || fail "README.md points to $path, which is not there"
done
for command in $(grep -o '`kiln [a-z]*`' "$readme" | tr -d '`' | cut -d' ' -f2); do
    exits 0 "$bin/kiln" "$command" --help
done
