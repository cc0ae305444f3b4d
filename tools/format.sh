#!/bin/sh
# Formats our C sources in place, or with --check tells which are not formatted. kiln.h is laid out by hand, as a text to
# be read.
cd "$(dirname "$0")/.." || exit 1
[ "$1" = --check ] && flags="--dry-run -Werror" || flags=-i
find include/kiln src cli bench examples packaging tests python/src \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 -n 40 -P 2 clang-format-19 $flags
