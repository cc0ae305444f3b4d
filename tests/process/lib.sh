# What the process tests share. Each test runs as `test.sh BUILD SOURCE`, in a temporary folder of its own that is removed
# when it passes. counter FILE NAME [LINE] reads what KILN_STATS wrote.
set -eu
build=$1
source=$2
bin=$build/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-test-XXXXXX")
name=$(basename "$0" .sh)
trap 'status=$?; [ $status = 0 ] && rm -rf "$work" || echo "$name: files are left in $work" >&2; exit $status' EXIT
cd "$work"
unset KILN_CACHE_PATH KILN_MODE KILN_DRIFT KILN_TARGET KILN_LOG KILN_STATS KILN_OPT_LEVEL KILN_FAST_MATH KILN_DEVICE \
    KILN_GPU_TARGET KILN_LINES KILN_PERF
export KILN_CACHE_DIR="$work/cache" XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" # which are not there
export KILN_BASE_PACK= # whether or not one was built
export KILN_TIER=0     # a first call waits for its fused kernels

fail()
{
    echo "$name: $*" >&2
    exit 1
}

# expect WHAT GOT WANTED
expect()
{
    [ "$2" = "$3" ] || fail "$1: got '$2', expected '$3'"
}

# A counter of the line `LINE` (the last one when not given) of a file of KILN_STATS.
counter()
{
    sed -n "${3:-\$}s/.*\"$2\" *: *\([0-9]*\).*/\1/p" "$1"
}

# exits STATUS COMMAND...: its output is in out and err.
exits()
{
    wanted=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ "$status" = "$wanted" ] || { cat out err >&2; fail "'$*' gave status $status, expected $wanted"; }
}

# says FILE TEXT
says()
{
    grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "'$2' is not in $1"; }
}

is_json()
{
    if command -v python3 >/dev/null 2>&1; then
        python3 -c 'import json, sys; json.load(sys.stdin)' <"$1" || { cat "$1" >&2; fail "$1 is not JSON"; }
    fi
}
