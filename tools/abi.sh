#!/bin/sh
# Compares the interfaces of both libraries with those of earlier versions (packaging/abi/LIBRARY-VERSION.abi): names may be
# added; none may go or change, so that programs built with those versions keep running.
#
#   tools/abi.sh BUILD
#   tools/abi.sh --write BUILD VERSION    describes the libraries of BUILD, for a release
cd "$(dirname "$0")/.." || exit 1
folder=packaging/abi
if ! command -v abidiff >/dev/null; then
    echo "abi: abidiff is missing. Please run: apt-get install -y --no-install-recommends abigail-tools" >&2
    exit 1
fi

if [ "$1" = --write ]; then
    for library in libkiln libmlxc; do
        abidw --headers-dir include --suppressions $folder/private.suppr --drop-private-types --exported-interfaces-only \
            --type-id-style hash --no-elf-needed --no-comp-dir-path --no-corpus-path --no-show-locs --no-parameter-names \
            --drop-undefined-syms "$2/lib/$library.so" | grep -v "name='kiln__" >"$folder/$library-$3.abi" || exit 1
    done
    exit
fi

failed=0
for description in "$folder"/*.abi; do
    library=$(basename "$description" | sed 's/-.*//')
    if ! abidiff --suppressions $folder/private.suppr --no-show-locs --no-added-syms \
        "$description" "$1/lib/$library.so" >"$1/$library.abidiff" 2>&1; then
        echo "abi: $library.so does not have the interface of $description any more:"
        cat "$1/$library.abidiff"
        failed=1
    fi
done
[ $failed = 0 ] && echo "abi: programs built with earlier versions find all they need"
exit $failed
