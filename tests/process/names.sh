#!/bin/sh
# The names of kernels: what they compute and the digest of their text without the name. Equal texts share one artifact.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

# The entries of the folder that have a name, in order.
entries()
{
    "$kiln" ls --json | grep -o '"entry":"kiln_[^"]*"' | cut -d'"' -f4 | sort
}

# The digits of a name are those of its text without the name.
check_digits()
{
    "$kiln" show "$1" --section text >text
    name=$(grep -o '@kiln_[a-z0-9_]*_[0-9a-f]\{8\}\>' text | sort -u)
    [ "$(echo "$name" | wc -l)" = 1 ] || fail "the text of $1 has several names: $name"
    expect "digits of $name" "${name##*_}" "$(sed "s/$name/@/g" text | sha256sum | cut -c1-8)"
}

# Two functions with one body, and another: two kernels.
KILN_STATS=$work/stats "$build/tests/named"
expect "compiles" "$(counter stats compiles)" 2
names=$(entries)
expect "names" "$(echo "$names" | sed 's/_[0-9a-f]\{8\}$//')" "kiln_mul_add_f32
kiln_mul_sub_f32"
near=$(echo "$names" | head -n 1)
check_digits left
check_digits far

# Where they are shown.
exits 0 "$kiln" ls
says out "  entry"
says out "  $near"
exits 0 "$kiln" show left
says out "  entry           $near"
says out "define void @$near("
exits 0 "$kiln" show left --section object
grep -q "$near" out || fail "the object does not have the symbol $near"

# Another process, in a folder of its own, gives the same names.
KILN_CACHE_DIR="$work/again" "$build/tests/named"
expect "names in another process" "$(KILN_CACHE_DIR="$work/again" entries)" "$names"

# PTX, for a GPU that is not here.
export KILN_CACHE_DIR="$work/gpu"
exits 0 env KILN_MODE=compile-only KILN_GPU_TARGET=sm_90 "$build/tests/named" gpu
on_gpu=$(entries)
expect "names on a GPU" "$(echo "$on_gpu" | sed 's/_[0-9a-f]\{8\}$//')" "kiln_mul_add_f32
kiln_mul_sub_f32"
[ "$on_gpu" != "$names" ] || fail "texts for a CPU and a GPU have one name"
near=$(echo "$on_gpu" | head -n 1)
check_digits left
exits 0 "$kiln" show left
says out "define ptx_kernel void @$near("
says out "!0 = !{ptr @$near, "
exits 0 "$kiln" show left --section ptx
says out ".visible .entry $near("

# Kernels that define @kernel, as those of programs do that were written before, keep that name; others have their own.
export KILN_CACHE_DIR="$work/texts"
printf 'define i64 @twice() {\n  ret i64 2\n}\ndefine i64 @kernel() {\n  ret i64 1\n}\n' >old.ll
printf 'define internal i64 @two() {\n  ret i64 2\n}\ndefine i64 @twice() {\n  %%x = call i64 @two()\n  ret i64 %%x\n}\n' >new.ll
exits 0 "$kiln" warm old.ll new.ll --folder "$work/texts"
exits 0 "$kiln" ls --json
says out '"entry":"kernel"'
says out '"entry":"twice"'
exits 0 "$kiln" verify
printf 'define i64 @one() {\n  ret i64 2\n}\ndefine i64 @two() {\n  ret i64 1\n}\n' >both.ll
exits 1 "$kiln" warm both.ll --folder "$work/texts"
says err "the text defines @one and @two, and no @kernel"
