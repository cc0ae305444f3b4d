#!/bin/sh
# A foreign compiler through kiln.h alone: two kernels compiled by the first run, none by the second.
. "$(dirname "$0")/lib.sh"

KILN_STATS=$work/stats "$bin/c_kernels" >first
KILN_STATS=$work/stats "$bin/c_kernels" >second
cat first
cmp first second
expect "compiles of the first run" "$(counter stats compiles 1)" 2
expect "disk hits of the first run" "$(counter stats disk_hits 1)" 0
expect "calls of the first run" "$(counter stats calls 1)" 6
expect "compiles of the second run" "$(counter stats compiles 2)" 0
expect "disk hits of the second run" "$(counter stats disk_hits 2)" 2
expect "artifacts" "$(find cache -name '*.kiln' | wc -l)" 2

# The same text gives the same bytes: keys and payload do not depend on the process that compiled.
KILN_CACHE_DIR=$work/again "$bin/c_kernels" >/dev/null
for file in cache/*/*.kiln; do
    digest=$(basename "$file" .kiln)
    "$bin/kiln" show "$digest" --section shared-object --folder cache >one
    "$bin/kiln" show "$digest" --section shared-object --folder again >two
    cmp one two
done

# Another compiler is another key; an unusable one is an error with its text, not a crash.
CC=clang-19 KILN_STATS=$work/stats "$bin/c_kernels" >third
expect "compiles with another compiler" "$(counter stats compiles 3)" 2
exits 1 env CC=/nowhere/cc "$bin/c_kernels"
says err "no C compiler"

# Headers. Two kernels, one of which includes <scale.h> of a tree; what is made of it follows the tree's contents.
export KILN_CACHE_DIR="$work/with-tree"
rm -f stats
cp -r "$source/examples/c_kernels/tree" tree
sleep 0.1 # what was written just now is compiled twice, to be sure of what was read

# after WHAT TREE COMPILES RESULT: another process, so many compiles, and y[3] of the kernel that includes.
after()
{
    KILN_STATS=$work/stats KILN_LOG=miss "$bin/c_kernels" "$2" >out 2>log
    expect "compiles after $1" "$(counter stats compiles)" "$3"
    says out "y += 2.5 * SCALE * x: y[3] = $4"
}

after "nothing" tree 2 16
after "nothing more" tree 0 16
touch tree/include/unit.h tree/defaults/scale.h
after "a touch" tree 0 16
echo '#define UNIT 2' >tree/include/unit.h
sleep 0.1
after "an edit" tree 1 31
after "an edit" "$work/./tree" 0 31
echo '/* a note */' >>tree/include/unit.h
sleep 0.1
after "an edit of a note" tree 1 31
cp "$source/examples/c_kernels/tree/include/unit.h" tree/include/unit.h
after "an edit back" tree 0 16
echo '#define SCALE 10' >tree/include/scale.h
sleep 0.1
after "a header that shadows another" tree 1 76
echo '#define UNIT 3' >tree/include/unit.h
after "an edit of what is not read any more" tree 0 76
rm tree/include/scale.h
sleep 0.1
after "its end" tree 1 46
cp -r "$source/examples/c_kernels/tree" elsewhere
after "a move" elsewhere 0 16
rm -r elsewhere/include
exits 1 "$bin/c_kernels" elsewhere
says err "unit.h"

# Keys and the manifest name the files, by the root's name; and so does why.
exits 0 "$bin/kiln" show axpy
cp out shown
says shown "depends file 4 tree include/unit.h"
says shown "depends file 4 tree include/scale.h"
says shown "depends on"
says shown "  file tree/defaults/scale.h"
! grep -qF "$work/tree" shown || fail "a key has the place of the tree"
for digest in $(sed -n 's/^digest *//p' shown); do
    exits 0 "$bin/kiln" why "$digest"
    cat out >>why
done
says why "file tree/include/unit.h changed"
says why "file tree/include/scale.h is new"

# Nor has an object: it is the same wherever the tree is.
! grep -rqaF "$work/tree" "$KILN_CACHE_DIR" || fail "an artifact has the place of the tree"
