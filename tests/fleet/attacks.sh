#!/bin/sh
# Servers that lie, stall, break and die, between a host and entries that are all there: results are right, the process ends with
# status 0, never hangs, and says what it met in its counters. A remote that is faulty is set aside for a second or more, so the
# counts of faults are lower bounds; what must never come of an attack is counted exactly.
. "$(dirname "$0")/lib.sh"
make_key ci
number=0

# attack FAULT WANTED [VARIABLE=VALUE]...: a new host behind the fault server. WANTED is how many entries come from the remote:
# `all` without a fault, `none`, `one` at most, or `some`, with faults.
attack()
{
    fault=$1 wanted=$2
    shift 2
    number=$((number + 1))
    host=$kind-$number
    echo "$fault" >"$servers_folder/faults.mode"
    : >"$servers_folder/faults.log"
    trusts $host ci
    run $host KILN_REMOTE="$faulty_url" "$@"
    faults=$(($(counter $host.stats remote_faults) + $(counter $host.stats refused_signatures)))
    hits=$(counter $host.stats remote_hits)
    echo "$kind, $fault: $hits from the remote, $faults faults"
    counters $host compiles=$((kernels - hits)) corrupt=0 cache_faults=0
    case $fault in flip*) ;; *) counters $host refused_signatures=0 ;; esac # the last bytes of an entry are its signature
    [ -s "$servers_folder/faults.log" ] || fail "nobody asked"
    if [ "$wanted" = all ]; then
        counters $host remote_faults=0 remote_hits=$kernels
        return
    fi
    [ "$faults" -ge 1 ] || fail "no fault was counted"
    says $host.err "remote "
    case $wanted in
    none) expect "entries that were used" "$hits" 0 ;;
    one) [ "$hits" -le 1 ] || fail "entries of other keys were used" ;;
    some) [ "$hits" -ge 1 ] && [ "$hits" -lt $kernels ] || fail "not some, but $hits" ;;
    esac
}

# attack_reader ENTRY: each fault, on a host of its own. ENTRY is a file with the bytes of one of the entries.
attack_reader()
{
    attack pass all
    attack garbage none
    attack truncate none
    attack "flip -1" none
    attack "flip 300" none
    attack "body $1" one
    attack stall none KILN_REMOTE_TIMEOUT=200
    attack "after 7 close" some
    [ -n "$is_long" ] || return 0
    attack close none
    attack drip none KILN_REMOTE_TIMEOUT=300
    attack endless none
    attack huge none KILN_REMOTE_TIMEOUT=300
    attack "body /dev/null" none
    attack "body $source/Makefile" none
    attack "flip 0" none
    attack "after 7 stall" some KILN_REMOTE_TIMEOUT=200
    attack "after 7 garbage" some
    attack "after 7 truncate" some
}

# attack_writer FAULT: a CI process that compiles all and puts it through the fault server. It leaves with what it could put.
attack_writer()
{
    number=$((number + 1))
    host=$kind-$number
    echo "$1" >"$servers_folder/faults.mode"
    : >"$servers_folder/faults.log"
    run $host KILN_REMOTE="$empty_url$number" KILN_SIGN_KEY="$work/ci.key" KILN_REMOTE_TIMEOUT=200
    counters $host compiles=$kernels remote_hits=0 refused_signatures=0 cache_faults=0
    echo "$kind, putting, $1: $(counter $host.stats remote_puts) put, $(counter $host.stats remote_faults) faults"
    [ "$(counter $host.stats remote_faults)" -ge 1 ] || fail "no fault was counted"
    [ -s "$servers_folder/faults.log" ] || fail "nobody asked"
}

attack_writers()
{
    for fault; do
        attack_writer "$fault"
        [ -z "$is_long" ] || attack_writer "after 30 $fault"
    done
}

# The last one: not even a port is there.
attack_without_server()
{
    stop_server "$faults_pid"
    run $kind-gone KILN_REMOTE="$faulty_url" KILN_TRUSTED_KEYS="$work/ci.key.pub"
    counters $kind-gone compiles=$kernels remote_hits=0
    [ "$(counter $kind-gone.stats remote_faults)" -ge 1 ] || fail "$kind: a server that is gone is no fault"
    tried="$tried $kind"
}

# attack_web SERVER ENTRIES: HTTP and S3. A redirect leads to another host, which must not hear of it.
attack_web()
{
    attack_reader "$(entries "$2" | head -1)"
    attack "redirect http://127.0.0.1:$trap_port" none
    attack "status 500" none
    [ -z "$is_long" ] || for code in 204 301 400 401 403 416 503; do attack "status $code" none; done
    attack_writers stall "status 507" "redirect http://127.0.0.1:$trap_port"
    [ -z "$is_long" ] || attack_writers garbage close truncate drip endless huge
    [ ! -s "$servers_folder/trap.log" ] || fail "$kind: a redirect was followed"
    attack "after 7 kill $1" some
    attack_without_server
}

attack_http()
{
    kind=http
    start_http || return 0
    fill "$http_url"
    start_faults http "$port"
    faulty_url=http://127.0.0.1:$faults_port/kiln empty_url=http://127.0.0.1:$faults_port/empty
    attack_web "$http_pid" "$http_root/kiln"
}

attack_s3()
{
    kind=s3
    start_s3 || return 0
    fill "$s3_url"
    start_faults http "$port"
    export KILN_S3_ENDPOINT="http://127.0.0.1:$faults_port"
    faulty_url=$s3_url empty_url=s3://kiln/empty
    attack_web "$s3_pid" "$s3_root/kiln/cache"
}

attack_redis()
{
    kind=redis
    start_redis || return 0
    fill "$redis_url"
    start_faults redis "$redis_port"
    faulty_url=redis://127.0.0.1:$faults_port/0 empty_url=redis://127.0.0.1:$faults_port/
    redis_cli -n 0 get "$(redis_cli -n 0 keys 'kiln:????????????????????????????????????????????????????????????????' | head -1)" >entry
    attack_reader "$work/entry"
    attack "error LOADING Redis is loading the dataset in memory" none
    attack_writers stall "error OOM command not allowed when used memory > 'maxmemory'."
    [ -z "$is_long" ] || attack "error NOAUTH Authentication required." none
    [ -z "$is_long" ] || attack "error MOVED 1234 127.0.0.1:1" none
    [ -z "$is_long" ] || attack_writers garbage close truncate drip endless huge
    attack "after 7 kill $redis_pid" some
    attack_without_server
}

# Full: nothing can be stored, not even a lease.
attack_full_redis()
{
    kind=full-redis
    start_redis "" 1mb || return 0
    run full-redis KILN_REMOTE="$redis_url" KILN_SIGN_KEY="$work/ci.key"
    counters full-redis compiles=$kernels remote_hits=0 remote_puts=0 refused_signatures=0 cache_faults=0
    [ "$(counter full-redis.stats remote_faults)" -ge 1 ] || fail "a full Redis is no fault"
    says full-redis.err "it is full"
}

tried=
start_http && start_faults http "$port" trap && trap_port=$faults_port
attack_http
attack_redis
attack_full_redis
attack_s3
[ -n "$tried" ] || skip "no server"
