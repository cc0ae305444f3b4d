#!/bin/sh
# examples/wrap: foreign compilers, each in under 100 lines. The second process compiles nothing; what its key has to have, it has.
. "$(dirname "$0")/lib.sh"

# wrapped NAME COMPILES
wrapped()
{
    lines=$(wc -l <"$source/examples/wrap/wrap_$1.c")
    [ "$lines" -lt 100 ] || fail "wrap_$1.c has grown: $lines lines"
    if [ ! -x "$bin/wrap_$1" ]; then
        echo "wrap_$1 is skipped: its compiler was not installed when this build was configured ($3)"
        return
    fi
    for process in 1 2; do
        KILN_CACHE_DIR=$work/$1 KILN_STATS=$work/stats-$1 "$bin/wrap_$1" >$1.$process || fail "wrap_$1 failed"
        says $1.$process "2 * 10 + 1 = 21"
    done
    expect "compiles of the first process, $1" "$(counter stats-$1 compiles 1)" "$2"
    expect "compiles of the second process, $1" "$(counter stats-$1 compiles 2)" 0
    expect "disk hits of the second process, $1" "$(counter stats-$1 disk_hits 2)" "$2"
    expect "what it prints itself, $1" "$(tail -n 1 $1.2)" "compiles 0, disk hits $2"
    exits 0 "$bin/kiln" show line --folder "$1"
    cp out $1.shown
}
wrapped gcc 2 gcc
wrapped tcc 1 libtcc-dev
wrapped lua 1 liblua5.4-dev
grep -q "cc1" gcc.shown || { cat gcc.shown >&2; fail "the key of wrap_gcc does not have cc1"; }
[ ! -e lua.shown ] || grep -q "liblua" lua.shown || fail "the key of wrap_lua does not have the library"

# Another compiler is another key, and so is one that was replaced; the one before is found again.
mkdir other
gcc=$(command -v gcc)
printf '#!/bin/sh\ncase $* in -print*) echo %s/other/cc1 ;; *) exec %s "$@" ;; esac\n' "$work" "$gcc" >other/gcc
chmod +x other/gcc
with_cc1() # TEXT COMPILES
{
    echo "$1" >other/cc1
    sleep 0.1 # what was written just now is compiled twice, to be sure of what was read
    KILN_CACHE_DIR=$work/gcc KILN_STATS=$work/stats-gcc PATH="$work/other:$PATH" "$bin/wrap_gcc" >out
    expect "compiles with a cc1 that holds '$1'" "$(counter stats-gcc compiles)" "$2"
}
with_cc1 "another" 2
with_cc1 "a newer one" 2
with_cc1 "another" 0

# One that fails is an error with a text.
printf '#!/bin/sh\ncase $* in -print*) echo %s/other/cc1 ;; *) exit 1 ;; esac\n' "$work" >other/gcc
exits 1 env KILN_CACHE_DIR="$work/none" PATH="$work/other:$PATH" "$bin/wrap_gcc"
says err "line"
