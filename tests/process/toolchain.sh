#!/bin/sh
# A folder that was filled here serves a machine without the compiler plug-in: <folder>/toolchain names who filled it, and
# the library knows the plug-in that was built with it.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
nowhere=$work/nowhere.so # what KILN_PLUGIN names where there is no plug-in

# What this build filled is found by the library alone, which does not put its own knowledge into folders.
"$bin/quickstart" >expected
built=$(cat cache/toolchain)
same_as_built()
{
    env KILN_PLUGIN="$nowhere" KILN_STATS="$work/stats" "$@" "$bin/quickstart" >got 2>err || { cat err >&2; fail "'$*' failed"; }
    cmp expected got
    expect "compiles of '$*'" "$(counter stats compiles)" 0
    expect "faults of '$*'" "$(counter stats cache_faults)" 0
}
rm cache/toolchain
same_as_built KILN_MODE=normal
same_as_built KILN_MODE=no-compile
exits 0 env KILN_PLUGIN="$nowhere" KILN_MODE=compile-only "$bin/quickstart"
[ ! -e cache/toolchain ] || fail "a folder names the tool chain that the library knows by itself"
echo >cache/toolchain
same_as_built KILN_MODE=no-compile
echo "plugin:another llvm:another" >cache/toolchain # and where a folder names one, that counts
KILN_PLUGIN=$nowhere KILN_MODE=no-compile "$bin/quickstart" >out 2>&1 && fail "a folder's tool chain was passed over"
says out "nothing stored fits"
rm -r cache expected

# From here on with a plug-in that says it is another, so that only folders can name it.
id=$(echo "$built" | sed 's/^plugin:\([0-9a-f]*\) llvm:[0-9a-f]*$/\1/')
expect "digits of the plug-in's id" "${#id}" 64
other=$(echo "$id" | tr 0-9a-f 1-9a-f0)
LC_ALL=C sed "s/$id/$other/" "${KILN_PLUGIN:-$build/lib/libkiln-llvm.so}" >other.so
export KILN_PLUGIN="$work/other.so"

# Filled by running, in normal mode.
"$bin/quickstart" >expected
[ -f cache/toolchain ] || fail "the folder does not name its tool chain"
expect "lines" "$(wc -l <cache/toolchain)" 1
expect "mode" "$(stat -c %a cache/toolchain)" "$(stat -c %a "$(find cache -name '*.kiln' | head -n 1)")"
says cache/toolchain "plugin:$other llvm:"

# Written when it differs, and not otherwise.
before=$(stat -c %i cache/toolchain)
KILN_OPT_LEVEL=1 "$bin/quickstart" >/dev/null 2>&1
expect "the file after another put" "$(stat -c %i cache/toolchain)" "$before"
cp cache/toolchain named
echo "plugin:another llvm:another" >cache/toolchain
"$bin/quickstart" >/dev/null 2>&1
says cache/toolchain "another" # nothing was put
KILN_OPT_LEVEL=0 "$bin/quickstart" >/dev/null 2>&1
cmp cache/toolchain named

# Used without the plug-in, read-only and as the folder that is written, in both modes.
same()
{
    "$@" KILN_PLUGIN="$nowhere" KILN_STATS="$work/stats" "$bin/quickstart" >got 2>err || { cat err >&2; fail "'$*' failed"; }
    cmp expected got
    expect "compiles of '$*'" "$(counter stats compiles)" 0
    expect "faults of '$*'" "$(counter stats cache_faults)" 0
    [ "$(counter stats disk_hits)" -ge 1 ] || fail "'$*' found nothing stored"
}
same env KILN_MODE=no-compile
same env KILN_MODE=normal
same env KILN_MODE=no-compile KILN_CACHE_DIR="$work/own" KILN_CACHE_PATH="$work/cache"
mkdir empty
same env KILN_CACHE_DIR="$work/own" KILN_CACHE_PATH="$work/empty:$work/cache"
[ ! -e own/toolchain ] || fail "a folder into which nothing was put names a tool chain"
cp -r cache shipped
find shipped -type f -exec chmod 444 {} +
same env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/shipped"

# What is not stored is an error that says what is missing.
KILN_PLUGIN=$nowhere "$bin/softmax" >out 2>&1 && fail "a program ran whose kernels are not stored"
says out "the compiler plug-in $nowhere is not there; install it or name it in KILN_PLUGIN"
KILN_PLUGIN=$nowhere KILN_MODE=no-compile "$bin/softmax" >out 2>&1 && fail "no-compile ran what is not stored"
says out "nothing stored fits"

# Without the file, with an odd one, one of others, or one of another tool chain, nothing fits.
refused()
{
    KILN_PLUGIN=$nowhere KILN_MODE=no-compile "$bin/quickstart" >out 2>&1 && fail "kernels were found with $1"
    says out "nothing stored fits"
}
rm cache/toolchain
refused "no file"
: >cache/toolchain
refused "an empty file"
{ cat named; cat named; } >cache/toolchain
refused "two lines"
printf '%s\t\n' "$(cat named)" >cache/toolchain
refused "odd characters"
echo "plugin:another llvm:another" >cache/toolchain
refused "another tool chain"
cp named cache/toolchain
chmod 666 cache/toolchain
refused "a file that others may write"
chmod 600 cache/toolchain
same env KILN_MODE=no-compile

# With a plug-in it is not read.
echo "plugin:another llvm:another" >cache/toolchain
KILN_MODE=no-compile "$bin/quickstart" >got 2>/dev/null
cmp expected got

# Filled on purpose: the folder names the tool chain even when all was there.
KILN_MODE=compile-only "$bin/quickstart" >/dev/null 2>&1
cmp cache/toolchain named
digest=$("$kiln" ls --json | sed -n 's/.*"digest":"\([0-9a-f]*\)".*"entry":"kiln_.*/\1/p' | head -n 1)
"$kiln" show "$digest" --section text >kernel.ll
exits 0 "$kiln" warm kernel.ll --folder warmed
cmp warmed/toolchain named
rm warmed/toolchain
exits 0 "$kiln" warm kernel.ll --folder warmed
says out "there"
cmp warmed/toolchain named
exits 0 env KILN_PLUGIN="$nowhere" "$kiln" warm kernel.ll --folder warmed
says out "there"
exits 1 env KILN_PLUGIN="$nowhere" "$kiln" warm kernel.ll --target x86-64-v2 --folder warmed --target znver4
says err "is not there; install it"

# For a GPU that is not here, then on one (the emulated driver's). Machine code that the driver makes goes to the own folder,
# which serves alone from then on.
ahead()
{
    env KILN_MODE=compile-only KILN_GPU_TARGET="$1" KILN_CACHE_DIR="$work/gpu" KILN_STATS="$work/stats" KILN_PLUGIN="$2" \
        "$bin/mlxc_closure" >out 2>&1 || true # it expects a NaN, and gets zeros
}
ahead sm_90 "$KILN_PLUGIN"
cmp gpu/toolchain named
[ "$(counter stats compiles)" -ge 1 ] || fail "nothing was compiled for the GPU"
ahead sm_90 "$nowhere"
expect "compiles for the GPU without a compiler" "$(counter stats compiles)" 0
on_gpu()
{
    env LD_LIBRARY_PATH="$build/tests/emulated" KILN_STATS="$work/stats" KILN_PLUGIN="$nowhere" KILN_CACHE_DIR="$work/own" \
        "$@" "$bin/mlxc_closure" >out
    sed 's/ at [^ ]*:[0-9]*>$/ at FILE:LINE>/' out | cmp - "$source/examples/mlxc/closure.txt"
    expect "compiles on the GPU" "$(counter stats compiles)" 0
    expect "faults on the GPU" "$(counter stats cache_faults)" 0
}
on_gpu KILN_CACHE_PATH="$work/gpu"
[ "$(counter stats gpu_driver_compiles)" -ge 1 ] || fail "the driver made no machine code"
cmp own/toolchain named
on_gpu KILN_MODE=no-compile
expect "machine code made again" "$(counter stats gpu_driver_compiles)" 0
ahead sm_80 "$nowhere"
says out "is not there; install it"

# A folder where it can't be written is a fault, never an error.
mkdir -p odd/toolchain
exits 0 env KILN_CACHE_DIR="$work/odd" KILN_STATS="$work/stats" "$bin/quickstart"
cmp expected out
[ "$(counter stats cache_faults)" -ge 1 ] || fail "a tool chain that can't be named is not counted"
[ "$(counter stats compiles)" -ge 1 ] || fail "nothing was compiled"

# Maintenance: verify does not mind it, prune leaves it, clear removes it and what a writer left behind.
exits 0 "$kiln" verify
says out "0 bad"
: >cache/toolchain.tmp-gone
touch -d '2 hours ago' cache/toolchain.tmp-gone
: >cache/toolchain.tmp-busy
exits 0 "$kiln" ls
exits 0 "$kiln" stats
exits 0 "$kiln" prune --size 1 --dry-run
[ -e cache/toolchain.tmp-gone ] || fail "a dry run removed something"
exits 0 "$kiln" prune --size 1
cmp cache/toolchain named
[ ! -e cache/toolchain.tmp-gone ] || fail "prune left what a writer left behind"
[ -e cache/toolchain.tmp-busy ] || fail "prune removed what is being written"
exits 0 "$kiln" clear --yes
expect "what clear left" "$(ls -A cache)" toolchain.tmp-busy # it may be that of a writer at work
mkdir project
head -c 5000 /dev/zero >project/toolchain
exits 1 "$kiln" clear --yes --folder project
says err "'toolchain'"
