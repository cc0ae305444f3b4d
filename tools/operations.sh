#!/bin/sh
# Compares docs/operations.md with what the tables and tests/walk say: operations.sh BUILD [--write]
# With --write it is replaced.
build=$1 write=$2
cd "$(dirname "$0")/.." || exit 1
file=docs/operations.md
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
facts=$(realpath "$build")/tests/walk_mlxc_facts
(cd "$folder" && "$facts" >facts.tsv 2>errors) || { cat "$folder/facts.tsv" "$folder/errors"; exit 1; }
cat tools/operations_intro.md >"$folder/new" || exit 1
"${AWK:-awk}" -f tools/operations.awk src/graph/ops.def src/transform/grad/gradients.def docs/reference.md \
    tests/walk/good_mlxc.tsv "$folder/facts.tsv" src/mlxc/abi.tsv >>"$folder/new" || exit 1
cmp -s "$folder/new" $file && exit 0
if [ "$write" = --write ]; then
    cat "$folder/new" >$file
    exit 0
fi
echo "$file is not what tools/operations.sh $build --write writes:"
diff $file "$folder/new" | head -40
exit 1
