#!/bin/sh
# Runs every fuzz target of a build for FUZZ_SECONDS, starting from tests/corpus/<name>. New inputs stay in the build.
set -eu
cd "$(dirname "$0")/.."
build=$1
found=0
for program in "$build"/fuzz/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    found=1
    name=$(basename "$program")
    name=${name#fuzz_}
    inputs=$build/inputs/$name
    mkdir -p "$inputs" "$build/crashes"
    seeds=
    [ -d "tests/corpus/$name" ] && seeds=tests/corpus/$name
    echo "fuzz: $name, ${FUZZ_SECONDS:-30} s"
    if ! "$program" -max_total_time="${FUZZ_SECONDS:-30}" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/crashes/$name-" "$inputs" $seeds >"$build/$name.log" 2>&1; then
        cat "$build/$name.log" >&2
        exit 1
    fi
    grep -E '^stat::(number_of_executed_units|new_units_added)' "$build/$name.log" || true
done
[ "$found" = 1 ] || { echo "fuzz: no target in $build/fuzz" >&2; exit 1; }
