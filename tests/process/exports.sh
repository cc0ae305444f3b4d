#!/bin/sh
# What the libraries export: libkiln.so its public names, and of private ones (kiln__) only those that libmlxc.so uses; libmlxc.so
# the names of the ABI.
. "$(dirname "$0")/lib.sh"

nm -D --defined-only "$build/lib/libkiln.so" | awk '{ print $3 }' | sed 's/@.*//' | sort -u >exported
nm -D --undefined-only "$build/lib/libmlxc.so" | awk '{ print $2 }' | sed 's/@.*//' | grep '^kiln__' | sort -u >used
grep '^kiln__' exported >private
unused=$(comm -23 private used | tr '\n' ' ')
[ -z "$unused" ] || fail "src/cache/kiln.map exports what libmlxc.so does not use: $unused"
[ "$(wc -l <private)" -le 125 ] || fail "libkiln.so has $(wc -l <private) private exports; there were 114 when they were last counted"
foreign=$(grep -vE '^(kiln_|KILN_|__jit_debug_(descriptor|register_code)$)' exported | tr '\n' ' ')
[ -z "$foreign" ] || fail "libkiln.so exports $foreign"
foreign=$(nm -D --defined-only "$build/lib/libmlxc.so" | awk '{ print $3 }' | grep -vE '^_?mlx_' | tr '\n' ' ')
[ -z "$foreign" ] || fail "libmlxc.so exports $foreign"

foreign=$(nm -D --defined-only "$build/lib/libkiln-remote.so" | awk '{ print $3 }' | grep -v '^kiln_remote_drivers$' | tr '\n' ' ')
[ -z "$foreign" ] || fail "libkiln-remote.so exports $foreign"
# libkiln-trust.so has libsodium inside, and shows nothing of it.
foreign=$(nm -D --defined-only "$build/lib/libkiln-trust.so" | awk '{ print $3 }' | grep -v '^kiln_trust_plugin$' | tr '\n' ' ')
[ -z "$foreign" ] || fail "libkiln-trust.so exports $foreign"
needed=$(objdump -p "$build/lib/libkiln-trust.so" | awk '$1 == "NEEDED" { print $2 }' |
    grep -vE '^(libc|ld-linux-x86-64|libasan|libubsan|libtsan|libm|libgcc_s)\.so' | tr '\n' ' ' || true)
[ -z "$needed" ] || fail "libkiln-trust.so needs $needed"

# What is linked into libkiln.so (compression) or opened when it is needed is no dependency of programs.
needed=$(objdump -p "$build/lib/libkiln.so" | awk '$1 == "NEEDED" { print $2 }' |
    grep -vE '^(libc|ld-linux-x86-64|libasan|libubsan|libtsan|libm|libgcc_s)\.so' | tr '\n' ' ' || true)
[ -z "$needed" ] || fail "libkiln.so needs $needed"
foreign=$(nm -D "$build/lib/libkiln.so" | grep -i 'zstd\|huf_\|fse_' | tr '\n' ' ')
[ -z "$foreign" ] || fail "libkiln.so shows names of libzstd: $foreign"
