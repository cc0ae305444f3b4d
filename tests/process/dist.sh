#!/bin/sh
# The archive of the sources is the last commit's, twice the same bytes, and CMake takes it where no git is.
. "$(dirname "$0")/lib.sh"

if ! git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
    echo "dist: skipped, the sources are not a git checkout"
    exit 77
fi
exits 0 "$source/tools/dist.sh" "$work/one"
exits 0 "$source/tools/dist.sh" "$work/two"
archive=$(ls one)
cmp "one/$archive" "two/$archive"
tar -xf "one/$archive"
folder=${archive%.tar.gz}
expect "files of the archive" "$(find "$folder" -type f | wc -l)" "$(git -C "$source" ls-tree -r --name-only HEAD | wc -l)"
[ ! -e "$folder/.git" ] || fail "the archive has a .git"
exits 0 env PATH=/usr/local/bin:/usr/bin:/bin GIT_DIR=/nowhere cmake -Wno-dev -G Ninja -S "$folder" -B made -DKILN_TESTS=OFF
exits 0 cmake --build made --target kiln-trust kiln_json
