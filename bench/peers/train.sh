#!/bin/sh
# train.sh BUILD [ROUNDS]: a training step of the decoder of examples/train beside JAX and PyTorch, on this machine, now: the same
# model, first values and batches, float32, two threads on the CPU.
#
# JAX and PyTorch are those of install.sh (KILN_TRAIN_PEERS="jax", "torch" or "jax torch"). Programs take turns, ROUNDS times (3). A
# row has the medians: seconds to the end of the first step in a process that finds nothing compiled (cold) and in one that finds
# what another compiled (warm), milliseconds of a further step, and the loss of the last one. Rows in which a peer is ahead are
# printed again below.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rounds=${2:-3}
steps=30
peers=${KILN_TRAIN_PEERS:-jax torch}
python=$build/peers/venv/bin/python
"$here/install.sh" "$build"
results=$(mktemp -d "${TMPDIR:-/tmp}/kiln-peers-XXXXXX")
trap 'rm -rf "$results"' EXIT
export OMP_NUM_THREADS=2 KILN_TIER=0

# turn NAME COMMAND...: cold and warm, with caches in a folder of its own
turn()
{
    name=$1
    shift
    cache=$results/cache-$name
    rm -rf "$cache"
    for state in cold warm; do
        KILN_CACHE_DIR=$cache JAX_COMPILATION_CACHE_DIR=$cache JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 \
            TORCHINDUCTOR_CACHE_DIR=$cache taskset -c 0,1 "$@" >"$results/line" 2>"$results/log" ||
            { tail -5 "$results/log" >&2; exit 1; }
        echo "$name $state $(tail -n 1 "$results/line")" >>"$results/all"
    done
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    turn kiln "$build/bin/train" decoder $steps --times
    for peer in $peers; do turn "$peer" "$python" "$here/train_$peer.py" $steps; done
done

# median NAME STATE COLUMN
median()
{
    awk -v name="$1" -v state="$2" -v column="$3" '$1 == name && $2 == state { print $column }' "$results/all" | sort -g |
        awk '{ values[NR] = $1 } END { print values[int((NR + 1) / 2)] }'
}

printf '%-8s %12s %12s %12s %10s\n' "" "cold, s" "warm, s" "step, ms" "loss"
for name in kiln $peers; do
    printf '%-8s %12.3f %12.3f %12.3f %10.5f\n' "$name" "$(median "$name" cold 3)" "$(median "$name" warm 3)" \
        "$(median "$name" warm 4)" "$(median "$name" warm 5)"
done
for peer in $peers; do
    for row in "cold 3" "warm 3" "warm 4"; do
        set -- $row
        awk -v peer="$peer" -v state="$1" -v what="$([ "$2" = 3 ] && echo "first step" || echo "further step")" -v a="$(median kiln "$1" "$2")" \
            -v b="$(median "$peer" "$1" "$2")" 'BEGIN { if (b < a) printf "behind %s: %s, %s: %.2f times its time\n", peer, what, state, a / b }'
    done
done
