#!/bin/sh
# Compares every header of include/mlx/c with what tools/abi_headers.awk makes of it: abi_check.sh AWK ROOT [--write]
# With --write the headers are replaced.
awk=$1 root=$2 write=$3 failed=0
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT
for header in $(cut -f2 "$root/src/mlxc/abi.tsv" | tail -n +2 | sort -u); do
    file=$root/include/mlx/c/$header
    "$awk" -v header="$header" -f "$root/tools/abi_headers.awk" "$root/src/mlxc/abi.tsv" "$file" > "$new" || exit 1
    cmp -s "$new" "$file" && continue
    if [ "$write" = --write ]; then
        cat "$new" > "$file"
    else
        echo "$file does not agree with src/mlxc/abi.tsv:"
        diff "$file" "$new"
        failed=1
    fi
done
exit $failed
