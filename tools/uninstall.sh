#!/bin/sh
# uninstall.sh MANIFEST DESTDIR: removes the files that `cmake --install` listed, and the folders that they leave empty.
set -eu
manifest=$1 destdir=$2
if [ ! -s "$manifest" ]; then
    echo "uninstall.sh: $manifest is not there; \`make install\` of this build folder writes it" >&2
    exit 1
fi
removed=0
while IFS= read -r file || [ -n "$file" ]; do
    if [ -e "$destdir$file" ] || [ -L "$destdir$file" ]; then
        rm -f -- "$destdir$file"
        removed=$((removed + 1))
    fi
    folder=$(dirname "$destdir$file")
    case $folder in */kiln | */kiln/* | */mlx | */mlx/* | */Kiln | */MLXC) rmdir -p --ignore-fail-on-non-empty -- "$folder" 2>/dev/null || true ;; esac
done <"$manifest"
echo "$removed files removed"
