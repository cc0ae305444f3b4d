#!/bin/sh
# What `make install` puts there is enough to build and run the quick start, through pkg-config.
. "$(dirname "$0")/lib.sh"

DESTDIR= cmake --install "$build" --prefix "$work/usr" >log
export PKG_CONFIG_PATH="$(dirname "$(find usr -name mlxc.pc)")"
for header in kiln.h kiln/inspect.h kiln/maintain.h kiln/trust.h kiln/compile.h kiln/gpu.h kiln/remote.h mlx/c/mlx.h; do [ -e "usr/include/$header" ] || fail "$header is not installed"; done
expect "version" "$(pkg-config --modversion kiln)" "$(pkg-config --modversion mlxc)"
libraries=$(pkg-config --variable=libdir mlxc)
if ! grep -q 'KILN_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    cc "$source/examples/quickstart.c" -o quickstart $(pkg-config --cflags --libs mlxc) -Wl,-rpath,"$libraries" -Wl,-rpath-link,"$libraries"
    expect "the installed library" "$(./quickstart)" "$("$bin/quickstart")"
fi
[ -s usr/share/man/man1/kiln.1 ] || fail "the manual page is not installed"
for library in libkiln-llvm.so libkiln-trust.so libkiln-remote.so; do [ -e "$libraries/$library" ] || fail "$library is not installed beside libkiln.so"; done
exits 0 usr/bin/kiln doctor
says out "$work/usr"
