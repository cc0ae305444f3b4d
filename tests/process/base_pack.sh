#!/bin/sh
# The base pack: what is in it, a first process on a new machine does not compile; what is wrong with it costs compiles and
# nothing else. A short form of the pack, which has the quick start's kernel; tests/process/base_pack_whole.sh has all of it.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
maker=$bin/kiln-base-pack
nowhere=$work/nowhere.so # what KILN_PLUGIN names where there is no plug-in
other=12345              # a user who is not we
chmod 755 "$work"
target=$("$kiln" doctor | sed -n 's/^ok *target *\([^,]*\),.*/\1/p')

# ---- made twice, it is the same --------------------------------------------------------------------------------------------

exits 0 "$source/tools/base_pack.sh" "$build" "$work/base.kilnpack" --short "$target" sm_90
exits 0 "$source/tools/base_pack.sh" "$build" "$work/again.kilnpack" --short "$target" sm_90
cmp base.kilnpack again.kilnpack
expect "mode of the pack" "$(stat -c %a base.kilnpack)" 644
exits 0 "$kiln" verify --folder base.kilnpack
says out "0 bad"
exits 0 "$kiln" stats --folder base.kilnpack
says out "toolchain "
! grep "^made" out || fail "the pack says when it was made"
exits 0 "$kiln" ls --folder base.kilnpack
[ "$(grep -c " $target " out)" -ge 30 ] || { cat out >&2; fail "the pack has too few kernels for $target"; }
[ "$(grep -c ' sm_90 ' out)" -ge 30 ] || { cat out >&2; fail "the pack has too few kernels for sm_90"; }

# ---- a first process -------------------------------------------------------------------------------------------------------

# first PACK PROGRAM [VARIABLE=VALUE]...: with an empty folder.
first()
{
    pack=$1 program=$2
    shift 2
    rm -rf own stats
    exits 0 env KILN_BASE_PACK="$pack" KILN_CACHE_DIR="$work/own" KILN_STATS="$work/stats" "$@" "$program" $options
}
# compiles WANTED WHAT
compiles()
{
    expect "compiles $2" "$(counter stats compiles)" "$1"
}
options=--short
first base.kilnpack "$maker"
compiles 0 "with the pack"
hits=$(counter stats disk_hits)
[ "$hits" -ge 30 ] || fail "$hits hits on disk with the pack"
expect "damage" "$(counter stats corrupt)" 0
expect "faults" "$(counter stats cache_faults)" 0
expect "files in the own folder" "$(find own -name '*.kiln')" ""
first base.kilnpack "$maker" KILN_PLUGIN="$nowhere" KILN_MODE=no-compile
compiles 0 "with the pack and no compiler"
first "" "$maker"
compiles "$hits" "without the pack"

# Each look-up that meets damage is counted.
met_damage()
{
    [ "$(counter stats corrupt)" -ge 1 ] || fail "damage went unnoticed"
}

met_strangers()
{
    [ "$(counter stats refused_signatures)" -ge 1 ] || fail "kernels that nobody has signed were not refused"
}

# On a GPU, the emulated one, which finds what it runs in folders: what was made without a GPU is what one needs.
exits 0 "$kiln" import base.kilnpack --folder "$work/imported"
first "" "$maker" LD_LIBRARY_PATH="$build/tests/emulated" KILN_DEVICE=cuda:0 KILN_CACHE_PATH="$work/imported"
compiles 0 "on a GPU"
[ "$(counter stats gpu_launches)" -ge 50 ] || fail "the maker ran nothing on the GPU"

# A maker that has such a GPU stores its driver's machine code.
exits 0 env LD_LIBRARY_PATH="$build/tests/emulated" "$source/tools/base_pack.sh" "$build" "$work/gpu.kilnpack" --short sm_90
exits 0 "$kiln" show "$("$kiln" ls --folder gpu.kilnpack | sed -n 's/^\([0-9a-f]*\) .* sm_90 .*/\1/p' | head -n 1)" --folder gpu.kilnpack
says out "cubin.sm_90"

# The quick start, whose result is known.
options=
quick_start()
{
    first "$1" "$bin/quickstart"
    says out "array([25, 41], dtype=float32)"
    compiles "$2" "of the quick start with $1"
}
quick_start base.kilnpack 0
quick_start 0 1
quick_start "" 1

# Modes. Whoever fills a folder wants all of it there.
first base.kilnpack "$bin/quickstart" KILN_MODE=off
compiles 1 "with KILN_MODE=off"
first base.kilnpack "$bin/quickstart" KILN_MODE=compile-only
compiles 1 "with KILN_MODE=compile-only"
[ -n "$(find own -name '*.kiln')" ] || fail "compile-only left out what the pack has"

# Whose folder has all it needs does not look at the pack: this one is damaged.
head -c 1000 base.kilnpack >cut.kilnpack
exits 0 env KILN_BASE_PACK="$work/cut.kilnpack" KILN_CACHE_DIR="$work/own" KILN_STATS="$work/stats" "$bin/quickstart"
compiles 0 "from the own folder"
expect "damage that was met" "$(counter stats corrupt)" 0

# ---- what is wrong with it -------------------------------------------------------------------------------------------------

quick_start cut.kilnpack 1
met_damage
says err "a damaged or misplaced entry in $work/cut.kilnpack"
expect "lines about it" "$(grep -c cut.kilnpack err)" 1
size=$(stat -c %s base.kilnpack) # header and index are right, what follows is not
{ head -c $((size / 2)) base.kilnpack; head -c $((size - size / 2)) /dev/zero; } >entries.kilnpack
options=--short
first entries.kilnpack "$maker"
options=
met_damage
[ "$(counter stats compiles)" -ge 1 ] || fail "zeros instead of half of the entries were used"
quick_start nowhere.kilnpack 1
expect "faults with a pack that is named and missing" "$(counter stats cache_faults)" 1
says err "nowhere.kilnpack"

# Others may have written it: only what a trusted key has signed is used.
cp base.kilnpack shared.kilnpack
chmod 666 shared.kilnpack
quick_start shared.kilnpack 1
met_strangers
if [ "$(id -u)" = 0 ]; then
    cp base.kilnpack foreign.kilnpack
    chown $other foreign.kilnpack
    quick_start foreign.kilnpack 1
    met_strangers
fi
exits 0 "$kiln" key new "$work/key"
exits 0 env KILN_SIGN_KEY="$work/key" "$source/tools/base_pack.sh" "$build" "$work/signed.kilnpack" --short "$target"
chmod 666 signed.kilnpack
export KILN_TRUSTED_KEYS="$work/trusted"
exits 0 "$kiln" key trust "$work/key.pub"
quick_start signed.kilnpack 0
quick_start shared.kilnpack 1
unset KILN_TRUSTED_KEYS

# ---- where it is found -----------------------------------------------------------------------------------------------------

mkdir -p lib/kiln config/kiln
cp -P "$build"/lib/lib*.so* lib
cp base.kilnpack lib/kiln
beside()
{
    rm -rf own stats
    exits 0 env -u KILN_BASE_PACK LD_LIBRARY_PATH="$work/lib" KILN_CACHE_DIR="$work/own" KILN_STATS="$work/stats" "$@"
}
beside "$bin/quickstart"
compiles 0 "with the pack beside the library"
beside env KILN_BASE_PACK= "$bin/quickstart"
compiles 1 "with a variable that says: none"
echo "base_pack = $work/cut.kilnpack" >config/kiln/config
beside "$bin/quickstart"
compiles 1 "with a file of settings that names another pack"
met_damage
rm -r config
mv lib/kiln/base.kilnpack lib/kiln/away
beside "$bin/quickstart"
compiles 1 "where no pack is"
expect "faults where no pack is" "$(counter stats cache_faults)" 0
expect "lines where no pack is" "$(cat err)" ""
beside "$kiln" doctor
says out "ok    base pack    none at $work/lib/kiln/base.kilnpack"
mv lib/kiln/away lib/kiln/base.kilnpack
beside "$kiln" doctor
says out "ok    base pack    $work/lib/kiln/base.kilnpack"
beside "$kiln" config
says out "$work/lib/kiln/base.kilnpack"

# ---- tools -----------------------------------------------------------------------------------------------------------------

exits 0 env KILN_BASE_PACK="$work/cut.kilnpack" "$kiln" doctor
says out "warn  base pack"
# With another compiler nothing of it fits, which is no damage.
id=$(sed -n 's/.*KILN_PLUGIN_ID *"\([0-9a-f]*\)".*/\1/p' "$build/generated/kiln_toolchain.h")
LC_ALL=C sed "s/$id/$(echo "$id" | tr 0-9a-f 1-9a-f0)/" "$build/lib/libkiln-llvm.so" >other.so
exits 0 env KILN_BASE_PACK="$work/base.kilnpack" KILN_PLUGIN="$work/other.so" "$kiln" doctor
says out "warn  base pack    $work/base.kilnpack was built with another tool chain"
first base.kilnpack "$bin/quickstart" KILN_PLUGIN="$work/other.so"
compiles 1 "with another compiler"
expect "damage with another compiler" "$(counter stats corrupt)" 0

mkdir tmp
exits 0 env TMPDIR="$work/tmp" KILN_BASE_PACK="$work/base.kilnpack" "$kiln" demo
says out "cold, base pack"
says out "with the base pack, a first process on a new machine compiled 0 kernels"
exits 0 env TMPDIR="$work/tmp" KILN_BASE_PACK="$work/base.kilnpack" "$kiln" demo --json
is_json out
says out '"row":"base_pack"'
