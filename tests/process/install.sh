#!/bin/sh
# What `make install` puts there is enough to build and run the quick start: with pkg-config, with CMake's packages (also as a
# project for mlx-c finds it), with archives, and after the tree was moved. What uninstall.sh leaves is what was there before.
. "$(dirname "$0")/lib.sh"

version=$(sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' "$source/include/kiln.h")
mkdir -p usr/include/mlx
echo "not ours" >usr/include/mlx/foreign.h
DESTDIR= cmake --install "$build" --prefix "$work/usr" >log
grep -v /foreign.h "$build/install_manifest.txt" >manifest
for header in kiln.h kiln/inspect.h kiln/maintain.h kiln/trust.h kiln/compile.h kiln/gpu.h kiln/remote.h mlx/c/mlx.h; do [ -e "usr/include/$header" ] || fail "$header is not installed"; done
[ -s usr/share/man/man1/kiln.1 ] || fail "the manual page is not installed"
exits 0 usr/bin/kiln doctor
says out "$work/usr"

# Nothing knows the prefix: from here on the tree is elsewhere.
mv usr moved
libraries=$(dirname "$(find "$work/moved" -name libmlxc.so)")
for library in libkiln-llvm.so libkiln-trust.so libkiln-remote.so; do
    [ -e "$libraries/kiln/$version/$library" ] || fail "$library is not in $libraries/kiln/$version"
done
export PKG_CONFIG_PATH="$libraries/pkgconfig"
expect "version of kiln.pc" "$(pkg-config --modversion kiln)" "$version"
expect "version of mlxc.pc" "$(pkg-config --modversion mlxc)" "$version"
expect "the command's compiler, moved" "$(moved/bin/kiln doctor | grep -c "lib.*/kiln/$version/libkiln-llvm.so")" 1

# A second version beside it: each library opens what is its own.
mkdir "$libraries/kiln/9.9.9"
cp "$build/tests/foreign.so" "$libraries/kiln/9.9.9/libkiln-llvm.so"
cp "$build/tests/foreign.so" "$libraries/libkiln-llvm.so"
expect "the command's compiler, beside others" "$(moved/bin/kiln doctor | grep -c "lib.*/kiln/$version/libkiln-llvm.so")" 1
rm -r "$libraries/kiln/9.9.9" "$libraries/libkiln-llvm.so"

# project FOLDER PACKAGE TARGET
project()
{
    mkdir "$1"
    cat >"$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package($2 REQUIRED)
add_executable(quickstart $source/examples/quickstart.c)
target_link_libraries(quickstart PRIVATE $3)
file(WRITE \${CMAKE_BINARY_DIR}/found "\${MLX_C_INCLUDE_DIRS} \${MLX_C_LIBRARIES} \${MLX_C_LIBRARY}")
END
    exits 0 cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_RPATH="$libraries"
    exits 0 cmake --build "$1/build"
    expect "$2, $3" "$("$1/build/quickstart")" "$output"
}

if ! grep -q 'KILN_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    output=$("$bin/quickstart")
    cc "$source/examples/quickstart.c" -o quickstart $(pkg-config --cflags --libs mlxc) -Wl,-rpath,"$libraries" -Wl,-rpath-link,"$libraries"
    expect "pkg-config" "$(./quickstart)" "$output"
    project kiln Kiln kiln::mlxc
    project mlxc MLXC mlxc
    expect "variables of mlx-c's package" "$(cat mlxc/build/found)" "$work/moved/include mlxc $libraries/libmlxc.so"
    project static Kiln kiln::mlxc_static
    expect "our libraries that an archive needs" "$(ldd static/build/quickstart | grep -c 'libkiln\|libmlxc' || true)" 0
    KILN_CACHE_DIR= KILN_PLUGIN="$libraries/kiln/$version/libkiln-llvm.so" KILN_STATS="$work/stats" static/build/quickstart >/dev/null
    expect "compiles of a program with archives" "$(counter stats compiles)" 1
fi

mv moved usr
exits 0 "$source/tools/uninstall.sh" manifest ""
says out "files removed"
expect "what is left" "$(find usr ! -type d)" usr/include/mlx/foreign.h
[ ! -e "usr/$(basename "$libraries")/kiln" ] || fail "the folder of plug-ins is left"
exits 1 "$source/tools/uninstall.sh" nowhere ""
says err 'nowhere is not there; `make install` of this build folder writes it'
