#!/bin/sh
# tools/torture.sh FOLDER: runs every program of tests/torture, TORTURE_SECONDS in all (600), seeds from TORTURE_SEED on (the time).
# A failure is printed with the command that repeats it. Fails when a round failed.
set -u
build=$(cd "$1" && pwd) || exit 1 # rounds go to other folders
programs=$(find "$build/tests/torture" -maxdepth 1 -name 'torture_*' -type f -perm -u+x | sort)
count=$(echo "$programs" | grep -c .)
[ "$count" -gt 0 ] || { echo "torture: no programs in $build/tests/torture" >&2; exit 1; }
each=$((${TORTURE_SECONDS:-600} / count))
seed=${TORTURE_SEED:-$(date +%s)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export KILN_BASE_PACK= KILN_CACHE_DIR="$folder" KILN_PLUGIN="$build/lib/libkiln-llvm.so"
failed=0
for program in $programs; do
    echo "== $(basename "$program"), $each s, seed $seed"
    "$program" --seconds "$each" --seed "$seed" || failed=$((failed + 1))
done
echo "torture: $((count - failed)) passed, $failed failed"
[ "$failed" = 0 ]
