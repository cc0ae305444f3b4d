#!/bin/sh
# TLS and passwords. A certificate that can't be believed is a fault; a secret is in no line that is printed, in no argument and in no
# file that Kiln writes, right or wrong, asked for or not.
. "$(dirname "$0")/lib.sh"
make_key ci
export KILN_SIGN_KEY="$work/ci.key"
secret=correct-horse-battery

# hidden HOST: its secret is nowhere.
hidden()
{
    ! grep -rlF "$secret" "$1.out" "$1.err" "$1.stats" "$work/$1" 2>/dev/null || fail "$1: a secret was written"
}

# fails HOST URL TEXT [VARIABLE=VALUE]...: the remote can't be used, the host says why.
fails()
{
    host=$1 url=$2 text=$3
    shift 3
    run "$host" KILN_REMOTE="$url" "$@"
    counters "$host" compiles=$kernels remote_hits=0 remote_puts=0 refused_signatures=0
    [ "$(counter "$host.stats" remote_faults)" -ge 1 ] || fail "$host: no fault was counted"
    says "$host.err" "$text"
    hidden "$host"
}

tried=
if start_http tls; then
    export KILN_REMOTE_CA="$ca_file"
    fill "$http_url"
    run tls KILN_REMOTE="$http_url"
    counters tls compiles=0 remote_hits=$kernels
    fails unknown "$http_url" "certificate" KILN_REMOTE_CA=
    fails plain "http://${http_url#https://}" "400"
    start_http expired
    fails expired "$http_url" "certificate has expired"
    expect "what was put there" "$(find "$http_root" -type f | wc -l)" 0
    unset KILN_REMOTE_CA
    tried="$tried tls"
fi
if start_redis "$secret"; then
    fill "$redis_url"
    run redis KILN_REMOTE="$redis_url"
    counters redis compiles=0 remote_hits=$kernels
    hidden redis
    bare=redis://127.0.0.1:$redis_port/0
    run variable KILN_REMOTE="$bare" REDISCLI_AUTH="$secret"
    counters variable compiles=0 remote_hits=$kernels
    fails no-password "$bare" "it asks for a password"
    fails wrong-password "redis://:$secret-not@127.0.0.1:$redis_port/0" "the password is not the right one"
    fails no-server "redis://:$secret@127.0.0.1:1/0" "127.0.0.1"
    on config "$bin/kiln" config >config.out 2>&1 || true
    tried="$tried redis"
fi
if start_s3; then
    fill "$s3_url"
    run s3 KILN_REMOTE="$s3_url"
    counters s3 compiles=0 remote_hits=$kernels
    mkdir -p profile/.aws
    printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >profile/.aws/credentials
    run profile KILN_REMOTE="$s3_url" AWS_ACCESS_KEY_ID= AWS_SECRET_ACCESS_KEY=
    counters profile compiles=0 remote_hits=$kernels
    fails s3-secret "$s3_url" "403" AWS_SECRET_ACCESS_KEY=$secret
    fails s3-bucket "s3://no-such-bucket/x" "404"
    tried="$tried s3"
fi
[ -n "$tried" ] || skip "no server"
echo "tried$tried"
