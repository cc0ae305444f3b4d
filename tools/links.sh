#!/bin/sh
# links.sh BUILD: lists references of object files to functions and variables of a layer above their own. tools/layers.sh
# does the same for includes; a declaration in a lower layer would hide such a reference from it.
build=$(cd "${1:-build}" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
eval "$(grep '^layers=' tools/layers.sh)"

symbols=$(mktemp) || exit 1
trap 'rm -f "$symbols"' EXIT
nm -gA "$build/lib/libkiln_core.a" "$build/lib/libkiln_engine.a" >"$symbols" 2>/dev/null
[ -s "$symbols" ] || { echo "$build/lib has no archives of the layers"; exit 1; }

# Names of sources are unique (tools/names.sh), so the name of an object tells its layer.
found=$(find src -name '*.c' | awk -v layers="$layers" '
    BEGIN { count = split(layers, order, " "); for (i = 1; i <= count; i++) rank[order[i]] = i }
    FNR == NR { split($0, folders, "/"); n = split($0, parts, "/"); layer[parts[n] ".o"] = folders[2]; next }
    NF >= 3 {
        split($1, where, ":"); name = $NF; kind = $(NF - 1)
        if (kind == "U") { users[name] = users[name] " " where[2] }
        else if (kind !~ /[Ww]/) home[name] = where[2]
    }
    END {
        for (name in home) {
            uses = split(users[name], user, " ")
            for (i = 1; i <= uses; i++)
                if (layer[user[i]] && rank[layer[home[name]]] > rank[layer[user[i]]])
                    print layer[user[i]] "/" user[i] " refers to " name " of " layer[home[name]] "/" home[name] ", a layer above it"
        }
    }' - "$symbols" | sort -u)
[ -z "$found" ] && exit
echo "$found"
exit 1
