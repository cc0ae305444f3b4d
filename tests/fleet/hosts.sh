#!/bin/sh
# A CI process fills and signs, then three hosts start: 0 compiles each. Three cold hosts at once: with Redis's leases one compile
# for each key in all; HTTP and S3 have none, so at most one for each host, and none once a host has put. On all servers.
. "$(dirname "$0")/lib.sh"
make_key ci

# warm SERVER URL
warm()
{
    run "$1-ci" KILN_REMOTE="$2" KILN_SIGN_KEY="$work/ci.key"
    counters "$1-ci" compiles=$kernels remote_hits=0 remote_misses=$stored remote_faults=0 refused_signatures=0
    fill "$2"
    for number in 1 2 3; do
        trusts "$1-$number" ci
        run "$1-$number" KILN_REMOTE="$2"
        counters "$1-$number" compiles=0 disk_hits=0 remote_hits=$kernels remote_misses=0 remote_puts=0 remote_faults=0 \
            refused_signatures=0
        [ "$(counter "$1-$number.stats" remote_bytes_read)" -gt 0 ] || fail "$1: no bytes were counted"
    done
    run "$1-1" # without a remote: what came is in the folder
    counters "$1-1" compiles=0 disk_hits=$kernels remote_hits=0
}

# cold SERVER URL MOST: three hosts at once may compile MOST times in all.
cold()
{
    for number in 1 2 3; do
        run "$1-cold-$number" KILN_REMOTE="$2" KILN_SIGN_KEY="$work/ci.key" &
        eval "host_$number=\$!"
    done
    wait "$host_1" && wait "$host_2" && wait "$host_3" || fail "$1: a cold host failed"
    total=0
    for number in 1 2 3; do
        counters "$1-cold-$number" remote_faults=0 refused_signatures=0
        compiles=$(counter "$1-cold-$number.stats" compiles)
        hits=$(counter "$1-cold-$number.stats" remote_hits)
        expect "$1: kernels of cold host $number" $((compiles + hits)) $kernels
        total=$((total + compiles))
    done
    [ $total -ge $kernels ] && [ $total -le "$3" ] || fail "$1: $total compiles of three cold hosts, expected $kernels to $3"
    echo "$1: $total compiles of three cold hosts"
}

tried=
if start_http; then
    warm http "$http_url"
    cold http "$http_url-cold" $((3 * kernels))
    tried="$tried http"
fi
if start_redis; then
    warm redis "$redis_url"
    cold redis "${redis_url%/0}/1" $kernels
    tried="$tried redis"
fi
if start_s3; then
    warm s3 "$s3_url"
    cold s3 "$s3_url-cold" $((3 * kernels))
    tried="$tried s3"
fi
[ -n "$tried" ] || skip "no server"
echo "tried on$tried"
