#!/bin/sh
# Lists includes that point upwards: a layer may include itself and the layers before it in this order.
cd "$(dirname "$0")/.." || exit 1
layers="base device key store link cache array graph ops trace codegen compiler run mlxc"

# Allowed although the order says otherwise: the plug-in's table is plain data that the cache opens the plug-in through.
allowed="compiler/plugin.h"

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
[ -z "$found" ] && exit
echo "$found"
exit 1
