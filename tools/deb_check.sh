#!/bin/sh
# deb_check.sh FOLDER: installs the packages of tools/deb.sh into a clean Debian root, builds the quick start there against what was
# installed, and runs it, with and without the compiler: the base pack has what it needs.
set -eu
cd "$(dirname "$0")/.."
source=$PWD folder=$(cd "$1" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkg-config,cmake,make bookworm "$root"
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages"
rm -f "$root"/packages/*dbgsym*
cp "$source/examples/quickstart.c" "$root/root"
cp /etc/resolv.conf /etc/hosts "$root/etc" 2>/dev/null || true
cat >"$root/root/check.sh" <<'END'
set -eu
cd /root
apt-get update -qq
apt-get install -y -qq --no-install-recommends libcurl4 libhiredis0.14 /packages/*.deb >/dev/null
cc quickstart.c -o quickstart $(pkg-config --cflags --libs mlxc)
expect() { [ "$2" = "$3" ] || { echo "deb_check: $1: got '$2', expected '$3'" >&2; exit 1; }; }
expect "the quick start" "$(KILN_STATS=/root/stats ./quickstart)" "array([25, 41], dtype=float32)"
expect "compiles beside the base pack" "$(sed -n 's/.*"compiles":\([0-9]*\).*/\1/p' stats)" 0
kiln doctor
mkdir project && cd project
printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(user C)' 'find_package(MLXC REQUIRED)' \
    'add_executable(user ../quickstart.c)' 'target_link_libraries(user PRIVATE mlxc)' >CMakeLists.txt
cmake -S . -B build >/dev/null && cmake --build build >/dev/null
cd ..
expect "the quick start by CMake" "$(project/build/user)" "array([25, 41], dtype=float32)"
apt-get remove -y -qq libkiln-llvm libkiln-dev >/dev/null
expect "the quick start without a compiler" "$(./quickstart)" "array([25, 41], dtype=float32)"
apt-get remove -y -qq libkiln0 >/dev/null
[ -z "$(find /usr -name '*kiln*' ! -path '/usr/share/doc/*')" ] || { echo "deb_check: files are left" >&2; exit 1; }
END
chroot "$root" sh /root/check.sh
echo "packages: installed, used and removed"
