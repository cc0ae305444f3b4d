# What the tests of tests/fleet share, beside tests/process/lib.sh. Each runs as `test.sh BUILD SOURCE [all]`: `all` is the long form of
# `make fleet`. Status 77: a server can't be had here (tools/setup_fleet.sh), the test is skipped.
#
# A host is a home and a folder of its own. Deadlines are long unless a test is about them, so that a loaded machine changes
# no counter.
. "$(dirname "$0")/../process/lib.sh"
is_long=${3-}
fleet_folder=${FLEET_FOLDER:-$source/build/fleet}
servers_folder=$work/servers
servers_scripts=$source/tests/fleet
mkdir -p "$servers_folder"
. "$servers_scripts/servers.sh"
trap 'status=$?; stop_servers; [ $status = 0 ] || [ $status = 77 ] && rm -rf "$work" || echo "$name: files are left in $work" >&2; exit $status' EXIT
trap 'exit 130' INT TERM
for variable in $(env | sed -n 's/^\(AWS_[A-Z0-9_]*\)=.*/\1/p'); do unset "$variable"; done
unset KILN_REMOTE KILN_REMOTE_TTL KILN_REMOTE_CA KILN_SIGN_KEY KILN_TRUSTED_KEYS KILN_S3_ENDPOINT KILN_CACHE_DIR
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy XDG_CONFIG_HOME XDG_CACHE_HOME
export KILN_PLUGIN="$build/lib/libkiln-llvm.so" KILN_REMOTE_TIMEOUT=30000 KILN_LOG=fault
kernels=20 # of examples/fleet/kernels.c
stored=21  # with the run-time library that every compile of LLVM looks for, prepared once; it is no compile

skip()
{
    echo "$name: skipped: $*" >&2
    exit 77
}

# on HOST COMMAND...: as that host. KILN_STATS goes to HOST.stats, one line for each process.
on()
{
    host=$1
    shift
    mkdir -p "$work/$host"
    env HOME="$work/$host" KILN_STATS="$work/$host.stats" "$@"
}

# run HOST [VARIABLE=VALUE]...: the twenty kernels there, which must be right whatever the remote does, within a minute. What it
# printed is in HOST.out and HOST.err.
run()
{
    host=$1
    on "$@" timeout 60 "$bin/fleet_kernels" >"$host.out" 2>"$host.err" || {
        cat "$host.out" "$host.err" >&2
        fail "$host: status $?"
    }
}

# counters HOST NAME=VALUE...: of its last process.
counters()
{
    host=$1
    shift
    for pair; do
        got=$(counter "$host.stats" "${pair%=*}")
        [ "$got" = "${pair#*=}" ] || { cat "$host.stats" "$host.err" >&2; fail "$host: ${pair%=*} is $got, expected ${pair#*=}"; }
    done
}

# make_key NAME: NAME.key and NAME.key.pub.
make_key()
{
    on maker "$bin/kiln" key new "$work/$1.key" >/dev/null
}

# trusts HOST NAME...: the host believes what those keys have signed.
trusts()
{
    host=$1
    shift
    for key; do
        on "$host" "$bin/kiln" key trust "$work/$key.key.pub" >/dev/null
    done
}

# fill URL: a CI process compiles and signs all with the key `ci`. What a slow machine did not put before the process had to
# leave, the next one does.
fill()
{
    for try in 1 2 3 4 5 6 7 8; do
        run ci-$try KILN_REMOTE="$1" KILN_SIGN_KEY="$work/ci.key"
        run probe-$try KILN_REMOTE="$1" KILN_TRUSTED_KEYS="$work/ci.key.pub"
        [ "$(counter probe-$try.stats remote_hits)" != $kernels ] || return 0
    done
    fail "the CI process could not put its entries to $1"
}

# each_entry: the files of entries below a folder of a server.
entries()
{
    find "$1" -type f -name '????????????????????????????????????????????????????????????????' | sort
}

redis_cli()
{
    LD_LIBRARY_PATH=$fleet_libraries "$(fleet_program redis-cli)" -p "$redis_port" "$@"
}
