#!/bin/sh
# A program in a locale where a fraction has a comma: keys, files, logs and arrays are those of the C locale.
. "$(dirname "$0")/lib.sh"
described=$build/tests/described

cat >comma <<'END'
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
END
if ! localedef -c -i ./comma ./xx_XX >made 2>&1 && [ ! -f xx_XX/LC_NUMERIC ]; then # warnings about the rest are 1, too
    cat made
    echo "$name: localedef made no locale; the package locales has what it needs. Nothing was tested."
    exit 0
fi
export LOCPATH="$work"

for locale in C xx_XX; do
    LC_ALL=$locale KILN_CACHE_DIR=$work/$locale KILN_LOG=miss KILN_STATS=$work/$locale.stats "$described" f >$locale.out 2>$locale.log
done
says C.out "here a half is 0.5"
says xx_XX.out "here a half is 0,5" # or nothing would be tested
for locale in C xx_XX; do
    sed -i 1d $locale.out
    sed -i -E 's/: [0-9.,]+ ms/: MS ms/; s/"[a-z]+_ns":[0-9]+/NS/g' $locale.log $locale.stats
    (cd $locale && find . -name '*.kiln' | sort) >$locale.files
done
says C.out "[0.5, 0.001, -2.25]"
says C.out "0.5-1.5j"
says C.out "const_f64 was 0.5, is 1.5"
for kind in out log stats files; do
    cmp -s C.$kind xx_XX.$kind || { diff C.$kind xx_XX.$kind >&2; fail "$kind differs with the locale"; }
done
says C.files .kiln
grep -h "ms" xx_XX.log | grep -q "," && fail "the log has a comma: $(grep -h ms xx_XX.log)"
first=$(head -n 1 C.files)
for locale in C xx_XX; do
    "$bin/kiln" show --folder "$work/$locale" "$(basename "$first" .kiln)" | grep -v '^file\|^compiled' >$locale.shown
done
says C.shown "scale by 0.25"
cmp C.shown xx_XX.shown
