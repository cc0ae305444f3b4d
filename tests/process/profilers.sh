#!/bin/sh
# KILN_PERF and KILN_LINES: gdb and perf know kernels by their names, gdb also by the lines of their texts, and walks
# through them to main(). What is not installed, or not allowed here, is left out.
. "$(dirname "$0")/lib.sh"
weights=$build/tests/weights

# Lines are another artifact; without them keys are what they were.
exits 0 "$weights"
exits 0 env KILN_LINES=0 KILN_STATS=stats "$weights"
expect "compiles with KILN_LINES=0" "$(counter stats compiles)" 0
exits 0 env KILN_LINES=1 KILN_STATS=stats KILN_LOG=miss "$weights"
[ "$(counter stats compiles)" -gt 0 ] || fail "KILN_LINES=1 compiled nothing"
says err "option lines"
exits 0 env KILN_LINES=1 KILN_STATS=stats "$weights"
expect "compiles with KILN_LINES=1 again" "$(counter stats compiles)" 0

kernel=$("$bin/kiln" ls | grep -o 'kiln_mul_max_sub_exp_sum_div[a-z0-9_]*' | sort -u | head -n 1)
[ -n "$kernel" ] || fail "there is no kernel"

if ! command -v gdb >/dev/null 2>&1; then
    echo "profilers: gdb is not installed; not tried"
elif ! gdb -nx -batch -ex 'set startup-with-shell off' -ex run /bin/true 2>&1 | grep -q 'exited normally'; then
    echo "profilers: gdb can't run programs here; not tried"
else
    # The line that gdb shows is one of the kernel in its text.
    cat >commands <<END
set pagination off
set breakpoint pending on
set debuginfod enabled off
set startup-with-shell off
handle SIGSEGV nostop noprint pass
break $kernel
run
backtrace
continue
END
    exits 0 env KILN_PERF=gdb KILN_LINES=1 gdb -nx -batch -x commands "$weights"
    says out "#0  $kernel"
    line=$(sed -n "s/^#0 .* at $kernel\.ll:\([0-9]*\).*/\1/p" out)
    [ -n "$line" ] || { cat out >&2; fail "gdb shows no line of $kernel.ll"; }
    grep -qE '^#[0-9]+ .*\bmain \(' out || { cat out >&2; fail "gdb does not reach main()"; }
    says out "exited normally"
    digest=$(KILN_LOG= "$bin/kiln" ls | sed -n "s/^\([0-9a-f]*\) .*$kernel.*/\1/p" | head -n 1)
    "$bin/kiln" show "$digest" --section text >text 2>/dev/null || true
    first=$(grep -n "^define .*@$kernel(" text | cut -d: -f1)
    last=$(awk -v first="$first" 'NR > first && /^}/ { print NR; exit }' text)
    [ "$line" -gt "$first" ] && [ "$line" -lt "$last" ] || fail "line $line is not one of $kernel, $first to $last"

    # Without lines it has the name alone; unasked not even that.
    exits 0 env KILN_PERF=gdb gdb -nx -batch -x commands "$weights"
    says out "$kernel"
    KILN_LINES=1 gdb -nx -batch -x commands "$weights" >out 2>&1 || true
    says out "exited normally"
    if grep -q "^#0" out; then cat out >&2; fail "gdb knows a kernel that it was not told of"; fi
fi

if ! command -v perf >/dev/null 2>&1; then
    echo "profilers: perf is not installed; not tried"
elif ! perf record -q -e cpu-clock -o try.data -- /bin/true >/dev/null 2>&1; then
    echo "profilers: perf may not record here; not tried"
else
    KILN_PERF=map perf record -q -e cpu-clock -F 2000 -o perf.data -- "$weights" 300000 >/dev/null 2>&1
    perf report -i perf.data --stdio --sort symbol >out 2>/dev/null
    pid=$(perf script -i perf.data -F pid 2>/dev/null | head -n 1 | tr -d ' ')
    rm -f "/tmp/perf-$pid.map"
    says out "$kernel"
fi
