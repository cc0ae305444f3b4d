#!/bin/sh
# Formats our C sources in place; kiln.h is laid out by hand, as a text to be read. clang-format is not needed for a build, so it is not among the packages of setup.sh.
cd "$(dirname "$0")/.." || exit 1
for tool in clang-format-19 clang-format; do
    if command -v "$tool" >/dev/null 2>&1; then
        find include/kiln src cli bench examples tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print0 | xargs -0 "$tool" -i
        exit
    fi
done
echo "format: clang-format is missing. Please run: apt-get install -y clang-format-19" >&2
exit 1
