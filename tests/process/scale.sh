#!/bin/sh
# docs/scale.md prints what its program computes, and documents point to files that exist.
. "$(dirname "$0")/lib.sh"
block() # LANGUAGE
{
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/docs/scale.md" | sed '1d;$d'
}
block awk >program
block text >expected
[ -s program ] && [ -s expected ] || fail "docs/scale.md has no program, or not what it prints"
LC_ALL=C awk -f program >got
diff expected got || fail "docs/scale.md does not print what its program computes"

for document in "$source"/*.md "$source"/docs/*.md "$source"/docs/formats/*.md "$source"/examples/*/README.md; do
    for path in $(grep -o '](\([^)#h][^)#]*\)' "$document" | sed 's/](//'); do
        [ -e "$(dirname "$document")/$path" ] || fail "$document points to $path, which is not there"
    done
done
