#!/bin/sh
# One commit gives the same libraries, byte for byte, in whatever folder it is built, and so one tool chain: what one build has
# compiled serves the other. A copy of the tree is built without a compiler cache, which would rewrite paths itself; where
# BUILD was made with one, a second copy takes its part.
. "$(dirname "$0")/lib.sh"

setting() # NAME
{
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
if [ -n "$(setting KILN_SANITIZE)" ]; then
    echo "$name: sanitized libraries are not compared"
    exit 0
fi
targets="kiln kiln-llvm mlxc quickstart"
for optional in kiln-trust kiln-remote; do
    [ ! -e "$build/lib/lib$optional.so" ] || targets="$targets $optional"
done

build_copy() # FOLDER: the tree is copied to it and built in FOLDER/build
{
    mkdir -p "$1"
    (cd "$source" && tar -cf - --exclude=./build --exclude=./.git .) | tar -C "$1" -xf -
    # shellcheck disable=SC2086 # targets are words
    env -u CMAKE_C_COMPILER_LAUNCHER cmake -Wno-dev -G Ninja -S "$1" -B "$1/build" --log-level=ERROR \
        -DCMAKE_C_COMPILER="$(setting CMAKE_C_COMPILER)" -DCMAKE_BUILD_TYPE="$(setting CMAKE_BUILD_TYPE)" \
        -DCMAKE_C_FLAGS="$(setting CMAKE_C_FLAGS)" -DKILN_DEBUG="$(setting KILN_DEBUG)" \
        -DKILN_STATIC_LLVM="$(setting KILN_STATIC_LLVM)" >log 2>&1 && ninja -j 2 -C "$1/build" $targets >>log 2>&1 ||
        { tail -n 20 log >&2; fail "the copy in $1 can't be built"; }
}

first=$build
if [ -n "$(setting CMAKE_C_COMPILER_LAUNCHER)" ]; then
    build_copy "$work/a"
    first=$work/a/build
fi
second=$work/folder_with_a_longer_name/and_another/build
build_copy "${second%/build}"

for library in "$first"/lib/lib*.so; do
    library=$(basename "$library")
    cmp "$first/lib/$library" "$second/lib/$library"
    for folder in "${first%/build}" "${second%/build}" "$source"; do
        ! grep -qaF "$folder/" "$second/lib/$library" || fail "$library holds the folder $folder"
    done
done

# Each finds its own plug-in.
unset KILN_PLUGIN
KILN_STATS=$work/stats "$first/bin/quickstart" >expected
[ "$(counter stats compiles)" -ge 1 ] || fail "the first build compiled nothing"
KILN_STATS=$work/stats "$second/bin/quickstart" >got
cmp expected got
expect "compiles of the second build in the first one's folder" "$(counter stats compiles)" 0
[ "$(counter stats disk_hits)" -ge 1 ] || fail "the second build found nothing"
