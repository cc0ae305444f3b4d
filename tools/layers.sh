#!/bin/sh
# Lists includes that point upwards: a layer may include itself and the layers before it in this order. The command, the
# bench and the examples include public headers, and of src only what kiln_json holds (cli/cli.cmake).
cd "$(dirname "$0")/.." || exit 1
layers="base device key store link cache array graph ops trace transform codegen compiler trust remote run mlxc"

# Allowed although the order says otherwise: tables of plain data through which the plug-ins are opened.
allowed="compiler/plugin.h trust/trust_plugin.h"

rank()
{
    position=0
    for layer in $layers; do
        position=$((position + 1))
        [ "$layer" = "$1" ] && echo "$position" && return
    done
    echo 0
}

found=$(grep -rnoE '^#include "[a-z]+/[a-z_0-9/]+\.(h|def)"' src --include='*.c' --include='*.h' | while IFS=: read -r file line text; do
    included=${text#*\"}
    included=${included%\"}
    from=$(echo "$file" | cut -d/ -f2)
    to=${included%%/*}
    case " $allowed " in *" $included "*) continue ;; esac
    if [ "$(rank "$to")" -gt "$(rank "$from")" ]; then
        echo "$file:$line: $from includes $included, a layer above it"
    fi
done)
private=$(grep -rnE '^#include "[a-z]+/' cli bench examples python/src --include='*.c' --include='*.h' |
    grep -vE '"(kiln|mlx)/|"base/(json|format)\.h"|^bench/floors')
[ -z "$private" ] || echo "these include private headers:" "$private"
[ -z "$found" ] || echo "$found"
[ -z "$found$private" ]
