#!/bin/sh
# test_gpu.sh FOLDER: runs every program in FOLDER (build/tests/gpu) on the GPU, and again from the cache with
# KILN_MODE=no-compile, where nothing may be compiled, not even by the driver. Skips with a line when there is no GPU.
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KILN_TIER=0 KILN_BASE_PACK= KILN_CACHE_DIR="${KILN_CACHE_DIR:-$work/cache}"
mkdir -p -m 700 "$KILN_CACHE_DIR"
passed=0 failed=0

run()
{
    what=$1
    shift
    KILN_STATS="$work/stats" "$@" >"$work/log" 2>&1
    status=$?
    if [ $status = 77 ]; then
        grep skipped "$work/log" || echo "skipped: there is no GPU"
        exit 0
    fi
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        echo "ok    $what"
    else
        failed=$((failed + 1))
        echo "FAIL  $what (status $status)"
        grep -E "FAIL|FAILED|error|Error|LineNumber|assert| != " "$work/log" | head -${TEST_GPU_LINES:-12}
    fi
}

run agree "$folder/gpu_agree"
rm -f "$work/stats"
run "agree, next process" env KILN_MODE=no-compile "$folder/gpu_agree"
if grep -q '"gpu_driver_compiles":[1-9]' "$work/stats"; then
    failed=$((failed + 1))
    echo "FAIL  the driver compiled again"
fi
for program in "$folder"/gpu_*; do
    [ "${program##*/}" = gpu_agree ] || run "${program##*/}" timeout 300 "$program"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
