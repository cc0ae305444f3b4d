#!/bin/sh
# setup_fleet.sh [s3]: the servers that tests/fleet and bench/fleet try remotes with, below build/fleet: nginx, redis-server
# and openssl, with `s3` versitygw too. What the machine has is used as it is; the rest goes to build/fleet.
#
# Nothing is installed, so nothing is started: Debian's packages of servers start them at once and at every boot, which a
# test of a library has no business to do on somebody's machine. The packages are only downloaded and unpacked, which any
# user may do. versitygw comes through Go's module proxy, at the version below; it takes a minute to build, so `make test`
# does not ask for it, `make check` and `make bench-fleet` do.
#
# It never fails: what can't be had is said, and tests that need it are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
fleet_folder=$PWD/build/fleet
versitygw=github.com/versity/versitygw/cmd/versitygw@v1.8.0
. tests/fleet/servers.sh

# unpack PACKAGE...: with what they depend on and the machine lacks.
unpack()
{
    mkdir -p "$fleet_folder/lists/partial" "$fleet_folder/cache/archives/partial" "$fleet_folder/root" || return 1
    options="-qq -y --no-install-recommends -o Dir::Cache=$fleet_folder/cache -o Debug::NoLocking=1 -o APT::Sandbox::User="
    if ! apt-get $options --download-only install "$@"; then # the machine's lists of packages are old, or not there
        options="$options -o Dir::State::lists=$fleet_folder/lists"
        apt-get $options update && apt-get $options --download-only install "$@" || return 1
    fi
    for package in "$fleet_folder"/cache/archives/*.deb; do
        [ -e "$package" ] && dpkg-deb -x "$package" "$fleet_folder/root" || return 1
    done
    rm -rf "$fleet_folder/cache" "$fleet_folder/lists"
}

missing=
for program in nginx redis-server openssl; do # the packages are called as the programs are
    fleet_program $program >/dev/null 2>&1 || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "setup: unpacking$missing into build/fleet (nothing is installed or started)" >&2
    mkdir -p "$fleet_folder"
    if ! unpack $missing >"$fleet_folder/unpack.log" 2>&1; then
        cat "$fleet_folder/unpack.log" >&2
        echo "setup: without$missing; tests that need them are skipped" >&2
    fi
fi

if [ "${1-}" = s3 ] && ! fleet_program versitygw >/dev/null 2>&1; then
    echo "setup: building ${versitygw##*/} into build/fleet" >&2
    mkdir -p "$fleet_folder/bin"
    GOBIN=$fleet_folder/bin GOFLAGS=-buildvcs=false CGO_ENABLED=0 go install "$versitygw" >/dev/null ||
        echo "setup: without versitygw (it needs Go 1.21 or later); tests with S3 are skipped" >&2
fi
exit 0
