# Writes the tables of docs/operations.md. Plain awk, so that mawk will do.
#
#   awk -f tools/operations.awk src/graph/ops.def src/transform/grad/gradients.def docs/reference.md \
#       tests/walk/good_mlxc.tsv FACTS src/mlxc/abi.tsv
#
# FACTS is what walk_mlxc_facts prints (tests/walk/facts_mlxc.c). An operation of FACTS that is not in ops.def is an error.

BEGIN {
    FS = "\t"
    all = "bool,uint8,uint16,uint32,uint64,int8,int16,int32,int64,float16,float32,float64,bfloat16,complex64"
    ordinary["negative"] = ordinary["real"] = ordinary["bits"] = 1 # words of docs/reference.md that name no function
    short_dtypes[all] = "all"
    short_dtypes["float16,float32,float64,bfloat16"] = "float"
    short_dtypes["float16,float32,float64,bfloat16,complex64"] = "float, complex64"
    short_dtypes[substr(all, 1, length(all) - length(",complex64"))] = "all but complex64"
    short_dtypes["bool,uint8,uint16,uint32,uint64,int8,int16,int32,int64"] = "integers, bool"
    places["VIEW"] = "view"
    places["COPY"] = "copy"
    places["WRITE"] = places["UPDATE"] = "write"
    places["SOURCE"] = "source"
    places["LIBRARY"] = "library"
}

FNR == 1 { file++ }

# KILN_OPERATION(SORT, sort, 1, LIBRARY, moved, sorted, run_sort, on_host), perhaps on two lines
file == 1 {
    if (row != "")
        row = row $0
    else if ($0 ~ /^KILN_(ELEMENTWISE|OPERATION|LAYER)\(/)
        row = $0
    if (row !~ /\)[ \t]*$/)
        next
    match(row, /\(.*\)/)
    count = split(substr(row, RSTART + 1, RLENGTH - 2), part, /, */)
    op = part[2]
    identifiers[op] = part[1]
    kinds[op] = row ~ /^KILN_OPERATION/ && (part[4] in places) ? places[part[4]] : "kernel"
    is_on_host[op] = row ~ /^KILN_OPERATION/ && part[count] == "on_host"
    row = ""
    next
}

file == 2 && /^KILN_CONSTANT\(/ {
    match($0, /\(.*\)/)
    is_constant[substr($0, RSTART + 1, RLENGTH - 2)] = 1
}

# | what differs | MLX | Kiln, and why |
file == 3 && /^\|/ && !/^\| (what|---)/ {
    split($0, part, /\|/)
    sub(/^ /, "", part[2])
    sub(/ $/, "", part[2])
    difference[++differences] = part[2]
}

file == 4 && $2 == "!" {
    refused[++refusals] = "^" $1 "$"
    gsub(/\*/, ".*", refused[refusals])
    refusal[refusals] = $3
}

file == 5 {
    dtypes[$1] = $2
    results[$1] = $3
    made_of[$1] = $4
    shapeless[$1] = $5
    gradient[$1] = $6
    vmap[$1] = $7
}

# Each word of a list once, by what `of` says of it.
function summary(list, of,    n, i, words, seen, text)
{
    n = split(list, words, /,/)
    for (i = 1; i <= n; i++)
        if (list != "-" && !seen[of[words[i]]]++)
            text = text (text == "" ? "" : ", ") of[words[i]]
    return text == "" ? "-" : text
}

function on_gpu(list,    n, i, words, text)
{
    n = split(list, words, /,/)
    for (i = 1; i <= n; i++)
        if (is_on_host[words[i]])
            text = text (text == "" ? "" : ", ") words[i]
    return list == "-" ? "-" : text == "" ? "device" : "host: " text
}

# Zero where the result has no derivative, or the operation that makes it has none.
function gradient_of(name,    n, words)
{
    n = split(made_of[name], words, /,/)
    if (gradient[name] != "yes")
        return gradient[name]
    return results[name] !~ /float|complex/ || (n && is_constant[identifiers[words[n]]]) ? "zero" : "yes"
}

# Lines of docs/reference.md that name it.
function differs(name,    i, short, text)
{
    short = name
    sub(/^mlx_(fast_|linalg_|random_|fft_)?/, "", short)
    sub(/_(axis|axes|single|broadcast)$/, "", short)
    for (i = 1; i <= differences; i++)
        if (!(short in ordinary) && (" " difference[i] " ") ~ ("[^a-z_]" short "[^a-z_0-9]"))
            text = text (text == "" ? "" : "; ") difference[i]
    return text
}

function refusal_of(name,    i)
{
    for (i = 1; i <= refusals; i++)
        if (name ~ refused[i] && name != "_mlx_error")
            return refusal[i]
    return ""
}

function check(name,    n, i, words)
{
    n = split(made_of[name], words, /,/)
    for (i = 1; i <= n; i++)
        if (words[i] != "-" && !(words[i] in identifiers)) {
            print "operations.awk: " name " is made of " words[i] ", which is not in ops.def" > "/dev/stderr"
            failed = 1
        }
}

function is_operation(group)
{
    return group ~ /^(ops-.*|fast|random|quantize|linalg|fft|distributed)$/
}

function add(group, text)
{
    if (!(group in lines))
        groups[++group_count] = group
    lines[group] = lines[group] text
}

file == 6 && FNR > 1 {
    check($1)
    name_count++
    if (!($1 in made_of)) {
        print "operations.awk: nothing is known of " $1 > "/dev/stderr"
        failed = 1
    }
    if (!is_operation($6) || (results[$1] == "-" && refusal_of($1) == "")) {
        others[$6] = others[$6] (others[$6] == "" ? "" : ", ") "`" $1 "`" (refusal_of($1) == "" ? "" : "*")
        if (!($6 in other_seen)) {
            other_seen[$6] = 1
            other_groups[++other_count] = $6
        }
        next
    }
    text = dtypes[$1] in short_dtypes ? short_dtypes[dtypes[$1]] : dtypes[$1]
    gsub(/,/, ", ", text)
    sub(/float,  complex64/, "float, complex64", text)
    of = made_of[$1]
    gsub(/,/, ", ", of)
    if (refusal_of($1) != "")
        of = "refused without what it needs: \"" refusal_of($1) "\""
    add($6, "| `" $1 "` | " text " | " of " | " summary(made_of[$1], kinds) " | " on_gpu(made_of[$1]) " | " gradient_of($1) " | " \
        vmap[$1] " | " shapeless[$1] " | " differs($1) " |\n")
}

END {
    for (i = 1; i <= group_count; i++) {
        print "\n## " groups[i] "\n"
        print "| function | dtypes | made of | CPU | GPU | gradient | vmap | shapeless | reference |"
        print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        printf "%s", lines[groups[i]]
    }
    print "\n## Functions that are no operations\n"
    print "Handles, devices, files, transforms and the like, by their group in src/mlxc/abi.tsv. Those with a * refuse where this library has"
    print "nothing of the kind (tests/walk/good_mlxc.tsv has the texts).\n"
    print "| group | functions |\n| --- | --- |"
    for (i = 1; i <= other_count; i++)
        print "| " other_groups[i] " | " others[other_groups[i]] " |"
    print "\nThese are all " name_count " names; none answers that it is not implemented."
    exit failed
}
