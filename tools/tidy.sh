#!/bin/sh
# clang-tidy's bugprone checks over our libraries and the command; .clang-tidy says which are left out, and why.
#
#   tools/tidy.sh BUILD
cd "$(dirname "$0")/.." || exit 1
find src cli -name '*.c' ! -path 'src/codegen/runtime/*' -print0 |
    xargs -0 -n 8 -P "$(nproc)" clang-tidy-19 --quiet -p "$1" 2>/dev/null >"$1/tidy.txt"
if grep -E '(warning|error):' "$1/tidy.txt"; then
    echo "tidy: the lines above; $1/tidy.txt has them with their source" >&2
    exit 1
fi
echo "tidy: nothing found"
