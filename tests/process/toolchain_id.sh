#!/bin/sh
# The tool chain's id is a digest of what can change code. In a copy of the tree, whose id alone is generated: what changes it, and
# what does not.
. "$(dirname "$0")/lib.sh"
tree=$work/tree
mkdir "$tree"
(cd "$source" && tar -cf - --exclude=./build --exclude=./.git .) | tar -C "$tree" -xf -

id() # [FOLDER [SETTING...]]: prints the id
{
    folder=${1:-build}
    [ $# = 0 ] || shift
    env -u CMAKE_C_COMPILER_LAUNCHER cmake -Wno-dev -G Ninja -S "$tree" -B "$tree/$folder" --log-level=ERROR "$@" >log 2>&1 &&
        ninja -C "$tree/$folder" generated/kiln_toolchain.h >>log 2>&1 || { tail -n 20 log >&2; fail "no id is generated"; }
    sed -n 's/.*KILN_PLUGIN_ID *"\([0-9a-f]*\)".*/\1/p' "$tree/$folder/generated/kiln_toolchain.h"
}
first=$(id)
expect "digits of the id" "${#first}" 64

changes() # FILE: what follows in it changed the id; then it is taken back
{
    other=$(id)
    [ "$other" != "$first" ] || fail "a change of $1 does not change the id"
    cp "$source/$1" "$tree/$1"
    expect "the id after $1 is as it was" "$(id)" "$first"
}
keeps() # FILE
{
    ! cmp -s "$source/$1" "$tree/$1" || fail "$1 was not changed"
    expect "the id after a change of $1" "$(id)" "$first"
    cp "$source/$1" "$tree/$1"
}

# One pass less, an attribute, a header that is included by others only, a helper of the run-time library.
sed -i 's/early-cse,//' "$tree/src/compiler/family.c"
changes src/compiler/family.c
echo '/* a comment */' >>"$tree/src/compiler/attributes.c"
changes src/compiler/attributes.c
echo '/* a comment */' >>"$tree/src/base/buffer.h"
changes src/base/buffer.h
echo 'float kiln_more_f32(float x) { return x + 1; }' >>"$tree/src/codegen/runtime/math_f32.c"
sed -i 's/^float kiln_more_f32/float kiln_more_f32(float x);\n&/' "$tree/src/codegen/runtime/math_f32.c"
changes src/codegen/runtime/math_f32.c

# A new header of the compiler counts at once, although it was not known when the build was set up.
sed -i 's/^#include "compiler\/internal.h"/&\n#include "compiler\/more.h"/' "$tree/src/compiler/compile.c"
echo '/* 1 */' >"$tree/src/compiler/more.h"
one=$(id)
echo '/* 2 */' >"$tree/src/compiler/more.h"
two=$(id)
[ "$one" != "$two" ] || fail "a change of a new header does not change the id"
rm "$tree/src/compiler/more.h"
changes src/compiler/compile.c

# What other parts do, how Kiln is called, when a file was written.
echo '/* a comment */' >>"$tree/src/store/artifact.c"
keeps src/store/artifact.c
echo 'int kiln__more;' >>"$tree/src/codegen/lower.c"
keeps src/codegen/lower.c
echo '/* a comment */' >>"$tree/include/kiln.h"
keeps include/kiln.h
touch "$tree/src/compiler/family.c" "$tree/src/base/buffer.c"
expect "the id after a touch" "$(id)" "$first"

# Flags: those of warnings, debug information and paths do not count, nor does the host compiler.
expect "the id with other warnings" "$(id build -DKILN_WERROR=ON)" "$first"
expect "the id with maps" "$(id build "-DCMAKE_C_FLAGS=-g3 -Wformat -ffile-prefix-map=/somewhere=/elsewhere")" "$first"
[ "$(id build -DCMAKE_C_FLAGS=-ffast-math)" != "$first" ] || fail "a flag that changes arithmetic does not change the id"
[ "$(id build -DCMAKE_C_FLAGS=-DSOMETHING)" != "$first" ] || fail "a definition does not change the id"
expect "the id as before" "$(id build -DCMAKE_C_FLAGS=)" "$first"
for compiler in gcc clang-19; do
    command -v $compiler >/dev/null || continue
    expect "the id of a build with $compiler, elsewhere" "$(id "elsewhere/$compiler" -DCMAKE_C_COMPILER=$compiler)" "$first"
done
