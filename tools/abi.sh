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

describe() # LIBRARY
{
    abidw --headers-dir include --drop-private-types --exported-interfaces-only --type-id-style hash --no-elf-needed \
        --no-comp-dir-path --no-corpus-path --no-show-locs --no-parameter-names --drop-undefined-syms "$1"
}

if [ "$1" = --write ]; then
    # libkiln.so once more, without its private names.
    printf 'KILN_0 { global: kiln_[!_]*; local: *; };\n' >"$2/public.map"
    gcc -shared -g -o "$2/public.so" -Wl,--whole-archive "$2/lib/libkiln_core.a" -Wl,--no-whole-archive \
        -Wl,--version-script="$2/public.map" -Wl,-soname,libkiln.so.0 -lpthread -ldl || exit 1
    describe "$2/public.so" >"$folder/libkiln-$3.abi" && describe "$2/lib/libmlxc.so" >"$folder/libmlxc-$3.abi"
    exit
fi

failed=0
for description in "$folder"/*.abi; do
    library=$(basename "$description" | sed 's/-.*//')
    version=$(basename "$description" .abi | sed 's/.*-//')
    grown=$folder/grown-$version.suppr
    [ -e "$grown" ] || grown=$folder/private.suppr
    if ! abidiff --suppressions $folder/private.suppr --suppressions "$grown" --no-show-locs --no-added-syms \
        "$description" "$1/lib/$library.so" >"$1/$library.abidiff" 2>&1 || grep -q ' error' "$1/$library.abidiff"; then
        echo "abi: $library.so does not have the interface of $description any more:"
        cat "$1/$library.abidiff"
        failed=1
    fi
done
[ $failed = 0 ] && echo "abi: programs built with earlier versions find all they need"
exit $failed
