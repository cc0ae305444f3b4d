#!/bin/sh
# run.sh BUILD [PROCESSES KEYS RUNS]: entries over nginx, Redis and S3 on loopback, through Kiln (kiln-fleet-load: PROCESSES processes,
# each with KEYS keys and a folder of its own) and by hand (kiln-fleet-mover: one process that moves the same bytes with libcurl or
# hiredis over as many kept connections). Medians of RUNS runs, in which the two take turns. Servers and clients share this
# machine's processors, so the rates are those of the processors, not of a network.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$source/build}" && pwd)
processes=${2:-8} keys=${3:-2000} runs=${4:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-bench-fleet-XXXXXX")
fleet_folder=${FLEET_FOLDER:-$source/build/fleet} servers_folder=$work/servers servers_scripts=$source/tests/fleet
. "$servers_scripts/servers.sh"
trap 'status=$?; stop_servers; rm -rf "$work"; exit $status' EXIT
trap 'exit 130' INT TERM
mkdir -p "$servers_folder" "$work/home"
unset KILN_CACHE_PATH KILN_REMOTE_TTL KILN_STATS KILN_LOG KILN_MODE
export KILN_BASE_PACK= HOME="$work/home" KILN_SIGN_KEY="$work/key" KILN_REMOTE_TIMEOUT=30000
"$build/bin/kiln" key new "$KILN_SIGN_KEY" >/dev/null

# measure SERVER put|get kiln|hand COMMAND...: its line, with what it was.
measure()
{
    row="$1 $2 $3"
    shift 3
    line=$("$@") || { echo "bench-fleet: $row failed" >&2 && exit 1; }
    echo "$row $line" >>"$work/rows"
}

# move SERVER put|get: through Kiln and by hand. The mover reads the names of what Kiln has put.
move()
{
    for who in $order; do
        case $who in
        kiln) measure "$1" "$2" kiln "$build/bin/kiln-fleet-load" "$2" "$work/$2" "$processes" "$keys" ;;
        hand) measure "$1" "$2" hand "$build/bin/kiln-fleet-mover" "$2" "$KILN_REMOTE" "$processes" <"$work/names" ;;
        esac
    done
}

# one_run SERVER URL: Kiln puts first, since that makes the entries.
one_run()
{
    export KILN_REMOTE="$2"
    order=kiln move "$1" put
    find "$work/put" -name '*.kiln' | sed 's,.*/,,; s,\.kiln$,,' >"$work/names"
    [ "$(wc -l <"$work/names")" = $((processes * keys)) ] || { echo "bench-fleet: entries are missing" >&2 && exit 1; }
    order=hand move "$1" put
    order=$turns move "$1" get
    rm -rf "$work/put" "$work/get"
}

turns="kiln hand"
run=0
while [ $run -lt "$runs" ]; do
    ! start_http || one_run http "$http_url"
    ! start_redis || one_run redis "$redis_url"
    ! start_s3 || one_run s3 "$s3_url"
    stop_servers
    rm -rf "$servers_folder"/server-*
    [ "$turns" = "kiln hand" ] && turns="hand kiln" || turns="kiln hand"
    run=$((run + 1))
done
[ -s "$work/rows" ] || { echo "bench-fleet: no server can be had here" >&2 && exit 77; }

echo "$processes processes x $keys keys, medians of $runs runs; by hand: one process with $processes connections"
sort "$work/rows" | awk '
    function median(text,    values, count, i, j, swap) {
        count = split(text, values, " ")
        for (i = 1; i <= count; i++)
            for (j = i + 1; j <= count; j++)
                if (values[j] + 0 < values[i] + 0) { swap = values[i]; values[i] = values[j]; values[j] = swap }
        return values[int((count + 1) / 2)]
    }
    { row = $1 " " $2; rows[row] = 1
      rate[row, $3] = rate[row, $3] " " $4; p50[row, $3] = p50[row, $3] " " $5; p99[row, $3] = p99[row, $3] " " $6; bytes[row] = $7 }
    END {
        printf "%-10s %14s %14s %6s %22s %22s %12s\n", "", "entries/s", "by hand", "ratio", "p50 / p99, us", "by hand, us", "MB moved"
        for (row in rows) {
            kiln = median(rate[row, "kiln"]); hand = median(rate[row, "hand"])
            printf "%-10s %14d %14d %6.2f %22s %22s %12.1f\n", row, kiln, hand, hand ? kiln / hand : 0,
                median(p50[row, "kiln"]) " / " median(p99[row, "kiln"]), median(p50[row, "hand"]) " / " median(p99[row, "hand"]),
                bytes[row] / 1e6 | "sort"
        }
    }'
