#!/bin/sh
# What docs/architecture.md shows of one function is what `kiln show` prints, line by line; files it names exist.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
page=$source/docs/architecture.md

KILN_CACHE_DIR=cpu KILN_TARGET=x86-64-v2 "$build/tests/weights"
KILN_CACHE_DIR=gpu KILN_MODE=compile-only KILN_GPU_TARGET=sm_90 "$build/tests/weights" gpu 2>/dev/null
"$kiln" show weights --folder cpu >printed
"$kiln" show weights --folder gpu >>printed
"$kiln" show weights --folder gpu --section ptx >>printed

sed -n '/^## One function/,/^## How to add an operation/p' "$page" |
    awk '/^```/ { inside = !inside; next } inside' >wanted
[ "$(wc -l <wanted)" -gt 20 ] || fail "the page shows next to nothing"
while IFS= read -r line; do
    grep -qxF -- "$line" printed || fail "docs/architecture.md shows a line that kiln show does not print: $line"
done <wanted

# Paths in the documents: src/..., tests/..., docs, or below src.
cat "$source"/docs/*.md "$source/README.md" | grep -oE '\b(src|tests|docs|tools|include|bench|examples|packaging)/[a-z0-9_/.]+\.(cmake|def|sh|md|tsv|c|h)\b' | sort -u >paths
while IFS= read -r path; do
    [ -e "$source/$path" ] || fail "the documents name $path, which does not exist"
done <paths
cat "$source"/docs/*.md "$source/README.md" | grep -oE '\b(base|device|key|store|link|cache|array|graph|ops|trace|codegen|compiler|run|mlxc|runtime)/[a-z0-9_/]+\.(def|c|h)\b' | sort -u >paths
while IFS= read -r path; do
    [ -e "$source/src/$path" ] || [ -e "$source/src/codegen/$path" ] || [ -e "$source/src/run/$path" ] ||
        fail "the documents name $path, which does not exist below src"
done <paths
