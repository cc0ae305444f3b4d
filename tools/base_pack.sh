#!/bin/sh
# base_pack.sh BUILD OUT.kilnpack [--short] [TARGET...]: a pack of the kernels that nearly every program needs, for each
# target: x86-64-v3, x86-64-v4, sm_80 and sm_90 when none is named. A process for each target, as many at once as there are
# processors. --short: a few operations only. Two runs give the same bytes.
#
# For a GPU that is here the driver's machine code is stored too. With KILN_SIGN_KEY the kernels are signed.
set -eu
build=$1 out=$2 form=
shift 2
if [ "${1-}" = --short ]; then
    form=--short
    shift
fi
[ $# -gt 0 ] || set -- x86-64-v3 x86-64-v4 sm_80 sm_90
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
start=$(date +%s)

# What the maker compiles, nobody's settings change: an empty variable goes before files.
plain()
{
    env KILN_AUDIT= KILN_BASE_PACK= KILN_CACHE_PATH= KILN_CACHE_SIZE= KILN_DEVICE= KILN_FAST_MATH= KILN_GPU_TARGET= \
        KILN_LOG= KILN_OPT_LEVEL= KILN_PLUGIN= KILN_REMOTE= KILN_SIGN_KEY= KILN_STATS= KILN_TARGET= \
        KILN_MODE=compile-only "$@"
}

# The number of a GPU of this target, if there is one.
gpu_here()
{
    sed -n "s/.*cuda:\([0-9]*\): .*, $1, .*/\1/p" "$work/doctor" | head -n 1
}

fill()
{
    target=$1
    set -- KILN_CACHE_DIR="$work/$target"
    case $target in
    sm_*)
        gpu=$(gpu_here "$target")
        # The few operations that run on the host are for the oldest CPU that the pack is for.
        set -- "$@" KILN_TARGET=x86-64-v3 KILN_DEVICE="cuda:${gpu:-0}"
        [ -n "$gpu" ] || set -- "$@" KILN_GPU_TARGET="$target"
        ;;
    *) set -- "$@" KILN_TARGET="$target" ;;
    esac
    if ! plain "$@" "$build/bin/kiln-base-pack" $form >"$work/$target.log" 2>&1; then
        cat "$work/$target.log" >&2
        : >"$work/failed"
    fi
}

KILN_MODE=no-compile "$build/bin/kiln" doctor >"$work/doctor" 2>&1 || true
processors=$(getconf _NPROCESSORS_ONLN) running=0
for target; do
    fill "$target" &
    running=$((running + 1))
    if [ $((running % processors)) = 0 ]; then wait; fi
done
wait
[ ! -e "$work/failed" ] || { echo "base_pack.sh: no pack was made" >&2; exit 1; }

# What two targets have both, such as a kernel of the host, is that of the first: always the same one.
mkdir -m 700 "$work/all"
for target; do cp -Rn "$work/$target/." "$work/all"; done
mkdir -p "$(dirname "$out")"
"$build/bin/kiln" export "$out" --folder "$work/all" --public --no-times
echo "$*: $(($(date +%s) - start)) seconds"
