#!/bin/sh
# Checks the names of our sources: a name stands in one folder of src only, the shims of the ABI are abi_FAMILY.c, and a
# macro that returns from its caller says so.
cd "$(dirname "$0")/.." || exit 1
failed=0

repeated=$(find src -name '*.[ch]' | sed 's/\.[ch]$//' | sort -u | sed 's,.*/,,' | sort | uniq -d)
for name in $repeated; do
    echo "$name is the name of files in several folders; a name stands for one thing:"
    find src -name "$name.[ch]" | sed 's/^/    /'
    failed=1
done

for file in src/mlxc/*.c; do
    case $file in src/mlxc/abi_*.c | src/mlxc/box.c) continue ;; esac
    echo "$file: a shim of the ABI is called abi_FAMILY.c"
    failed=1
done

# A folder shows what a newcomer needs in it. src/mlxc has a file for each family of the ABI.
for folder in $(find src -type d ! -path src ! -path src/mlxc); do
    count=$(find "$folder" -maxdepth 1 -type f | wc -l)
    if [ "$count" -gt 36 ]; then
        echo "$folder has $count files; about 30 are enough for one folder"
        failed=1
    fi
done

# A macro that is a statement (and not a whole function) and contains `return` has RETURN in its name.
hidden=$(find src cli bench examples -name '*.[ch]' -exec awk '
    !inside && /^#define/ { inside = 1; name = $2; sub(/\(.*/, "", name); text = "" }
    inside {
        text = text " " $0
        if (/\\$/) next
        inside = 0
        sub(/^ #define +[A-Za-z_0-9]+(\([^)]*\))?[ \\]*/, "", text)
        if (text ~ /^(do|if|return|for|while)[^A-Za-z_]/ && text ~ /[^A-Za-z_]return[^A-Za-z_]/ && name !~ /RETURN/)
            print FILENAME ":" FNR ": " name
    }' {} +)
if [ -n "$hidden" ]; then
    echo "macros that return from their caller, which only a name with RETURN may do:"
    echo "$hidden"
    failed=1
fi
exit $failed
