#!/bin/sh
# run.sh [BUILD]: one cache for a fleet, on this machine: a CI process compiles and signs, three hosts compile nothing; then
# three hosts start cold, at once, with nobody before them. On nginx, Redis and S3, each where it can be had. Every host is
# a folder and a home of its own. README.md explains the lines.
set -eu
example=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$example/../.." && pwd)
build=$(cd "${1:-$source/build}" && pwd)
fleet=$(mktemp -d "${TMPDIR:-/tmp}/kiln-fleet-XXXXXX")

fleet_folder=$source/build/fleet servers_folder=$fleet/servers servers_scripts=$source/tests/fleet
. "$servers_scripts/servers.sh"
trap 'status=$?; stop_servers; rm -rf "$fleet"; exit $status' EXIT
trap 'exit 130' INT TERM

export KILN_BASE_PACK= # what is shown is what remotes do
# host NAME PROGRAM...: as on a machine of that name.
host()
{
    name=$1
    shift
    mkdir -p "$fleet/$name"
    printf '  %-9s' "$name"
    env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME -u KILN_CACHE_DIR HOME="$fleet/$name" "$@"
}

# fill_and_start SERVER: CI, then three hosts that trust its key.
fill_and_start()
{
    export KILN_REMOTE="$2"
    echo "$1, filled by CI:"
    KILN_SIGN_KEY=$fleet/ci.key host "ci-$1" "$build/bin/fleet_kernels"
    for number in 1 2 3; do
        host "$1-$number" "$build/bin/kiln" key trust "$fleet/ci.key.pub" >/dev/null
        host "$1-$number" "$build/bin/fleet_kernels"
    done
}

# start_cold SERVER URL: three hosts at once, which sign what they compile with a key of the fleet's.
start_cold()
{
    export KILN_REMOTE="$2" KILN_SIGN_KEY="$fleet/fleet.key"
    echo "$1, three cold hosts at once:"
    for number in 1 2 3; do
        host "$1-$((number + 3))" "$build/bin/fleet_kernels" >"$fleet/cold-$number" &
        eval "host_$number=\$!"
    done
    wait "$host_1" && wait "$host_2" && wait "$host_3"
    cat "$fleet/cold-1" "$fleet/cold-2" "$fleet/cold-3"
    unset KILN_SIGN_KEY
}

mkdir -p "$fleet/servers"
"$build/bin/kiln" key new "$fleet/ci.key" >/dev/null
"$build/bin/kiln" key new "$fleet/fleet.key" >/dev/null
if start_http; then
    fill_and_start http "$http_url"
    start_cold http "$http_url-cold"
fi
if start_redis; then
    fill_and_start redis "$redis_url"
    start_cold redis "${redis_url%/0}/1"
fi
if start_s3; then
    fill_and_start s3 "$s3_url"
    start_cold s3 "$s3_url-cold"
fi
