#!/bin/sh
# Makes sure that the packages Kiln is built with are there: one dpkg-query when they are, apt-get when we may install,
# otherwise the exact line to run, and status 1. KILN_PACKAGES: others, for one target.
set -eu

packages=${KILN_PACKAGES:-"cmake ninja-build gcc libc6-dev make pkg-config llvm-19-dev clang-19 clang-format-19 libclang-rt-19-dev
    libopenblas0-pthread libxxhash-dev libcmocka-dev zlib1g-dev libzstd-dev libsodium-dev libcurl4-openssl-dev libhiredis-dev libtcc-dev
    locales"}

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; going on. Needed, by their Debian 12 names:" $packages >&2
    exit 0
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null || true)
missing=
for package in $packages; do
    case "
$installed
" in
    *"
$package installed
"*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "setup: packages are missing, and installing them needs root. Please run:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

echo "setup: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
