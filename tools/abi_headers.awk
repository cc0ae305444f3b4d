# Writes a header of include/mlx/c anew: what stands above the marker line is kept, the functions below it come from
# the table. Plain awk, so that mawk will do.
#
#   awk -v header=ops.h -f tools/abi_headers.awk src/mlxc/abi.tsv include/mlx/c/ops.h > new
#
# The first file is the table, the second the header as it is. Lines stay within 120 columns.

BEGIN {
    FS = "\t"
    marker = "/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk"
}

# "mlx_array* res" becomes "mlx_array *res"; "(*fun)" stays.
function stars(text)
{
    gsub(/\*/, " *", text)
    gsub(/\* +/, "*", text)
    gsub(/\( \*/, "(*", text)
    return text
}

# Breaks a declaration behind commas, with continuation lines under the first parameter's column or at 4 spaces.
function wrapped(text,    out, line, cut, indent)
{
    indent = index(text, "(")
    if (indent > 60)
        indent = 4
    out = ""
    line = text
    while (length(line) > 120) {
        cut = 120
        while (cut > indent + 1 && substr(line, cut, 2) != ", ")
            cut--
        if (cut <= indent + 1)
            break
        out = out substr(line, 1, cut) "\n"
        line = sprintf("%" indent "s", "") substr(line, cut + 2)
    }
    return out line
}

FNR == NR {
    if (FNR > 1 && $2 == header)
        declarations[++count] = wrapped(stars($3 " ") $1 "(" stars($4) ");")
    next
}

index($0, marker) == 1 {
    exit
}

{ print }

END {
    print marker " ---- */"
    print "/* clang-format off */"
    for (i = 1; i <= count; i++)
        print declarations[i]
    print "/* clang-format on */"
    print ""
    print "#ifdef __cplusplus"
    print "}"
    print "#endif"
    print "#endif"
}
