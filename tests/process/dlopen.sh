#!/bin/sh
# Programs that open the library at run time, in C and in Python: they find every name of the table, compile a callback
# of theirs and get an error, and print the same.
. "$(dirname "$0")/lib.sh"
library=$build/lib/libmlxc.so
table=$source/src/mlxc/abi.tsv
cat >expected <<END
$(($(wc -l <"$table") - 1)) names
20 and 92 from 1 call of the callback
81 from 1 call of square
code 1: expected a non-empty mlx_array for a of mlx_add
closed
END

# What the C library keeps for the thread-local state of libraries that are opened late is little.
for file in "$library" "$build/lib/libkiln.so"; do
    size=$(readelf -lW "$file" | awk '$1 == "TLS" { print $6 }')
    [ $((size)) -le 600 ] || fail "$file has $((size)) bytes of thread-local state; opened late it has room for 600"
done
"$build/tests/dlopen" "$library" "$table" >c
diff -u expected c >&2 || fail "the C program prints something else"

if nm -D "$library" | grep -q ' U __[at]san_init'; then
    echo "dlopen: a library with a sanitizer cannot be opened from python3: its program is skipped"
elif command -v python3 >/dev/null 2>&1; then
    python3 "$source/tests/process/dlopen.py" "$library" "$table" >python
    diff -u expected python >&2 || fail "the Python program prints something else"
else
    echo "dlopen: there is no python3: its program is skipped"
fi
