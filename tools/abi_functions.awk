# Writes one C file with the functions of src/mlxc/abi.tsv that need no code of their own. Plain awk, so that mawk will do.
#
#   awk -f tools/abi_functions.awk src/mlxc/abi.tsv > mlxc_functions.c
#
# A row whose last column, `calls`, names an internal function becomes a shim: it checks its arguments, passes them on,
# and puts the array that the function made into *res. The column is the name of a function that takes all parameters
# but the result and the stream, in their order; or a call of it, a C expression over the parameters. In both the
# generated code passes what lies behind a handle (see `passed`) and adds the last two arguments, &out and &err. A row
# is one line of C with the row's number, so that errors name src/mlxc/abi.tsv and the row.
#
# Any other row becomes an empty line: src/mlxc/*.c defines its function. tests/walk calls each function of the table, and does
# not link when one has no definition.

BEGIN {
    FS = "\t"
    print "/* Made by tools/abi_functions.awk from src/mlxc/abi.tsv. */"
    print "#include \"mlxc/shims.h\"\n#line 2 \"src/mlxc/abi.tsv\""
}

function add_check(text)
{
    checks = checks (checks == "" ? "" : " || ") text
}

# Fills names[], types[] and is_nullable[] from the columns `parameters` and `nullable_params`.
function read_parameters(    i, list)
{
    delete names
    delete types
    delete is_nullable
    count = split($4, list, /, /)
    for (i = 1; i <= count; i++) {
        match(list[i], /[A-Za-z_0-9]+$/)
        names[i] = substr(list[i], RSTART)
        types[names[i]] = substr(list[i], 1, RSTART - 2)
        sub(/^const /, "", types[names[i]])
    }
    for (i = split($5, list, ","); i > 0; i--)
        is_nullable[list[i]] = 1
}

# Handles first, then dtypes, then pointers, the result last: it may be one of the inputs.
function list_checks(    i, name, type)
{
    checks = ""
    for (i = 1; i <= count; i++) {
        name = names[i]
        type = types[name]
        if (type == "mlx_array" && !(name in is_nullable))
            add_check("KILN_NO_ARRAY(" name ")")
        else if (type == "mlx_vector_array")
            add_check("KILN_NO_VECTOR(" name ")")
        else if (type == "mlx_stream")
            add_check("KILN_NO_STREAM(" name ")")
    }
    for (i = 1; i <= count; i++)
        if (types[names[i]] == "mlx_dtype")
            add_check("KILN_NO_DTYPE(\"" substr($1, 5) "\", " names[i] ")")
    for (i = 1; i <= count; i++)
        if (types[names[i]] == "int*")
            add_check("(" names[i] "_num && KILN_NO_POINTER(" names[i] "))")
    add_check("KILN_NO_POINTER(res)")
}

# What a shim passes for a parameter.
function passed(name,    type)
{
    type = types[name]
    if (type == "mlx_array")
        return (name in is_nullable ? "kiln__unwrap_optional(" : "kiln__unwrap(") name ")"
    if (type == "mlx_vector_array")
        return "kiln__vector_data(" name "), kiln__vector_size(" name ")"
    if (type == "mlx_dtype")
        return "(enum kiln_dtype)" name
    if (type ~ /^mlx_optional_/)
        return "(" name ".has_value ? &" name ".value : NULL)"
    return name
}

# The expression with each parameter replaced by what is passed for it.
function substituted(text,    out, word)
{
    out = ""
    while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
        word = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1) (word in types ? passed(word) : word)
        text = substr(text, RSTART + RLENGTH)
    }
    return out text
}

# The call of the column `calls`, up to its closing parenthesis.
function call(text,    i, arguments)
{
    if (text ~ /\)$/)
        return substituted(substr(text, 1, length(text) - 1))
    arguments = ""
    for (i = 1; i <= count; i++)
        if (names[i] != "res" && types[names[i]] != "mlx_stream")
            arguments = arguments (arguments == "" ? "" : ", ") passed(names[i])
    return text "(" arguments
}

function shim()
{
    read_parameters()
    list_checks()
    return "{ struct kiln_array *out = NULL; kiln_error err; if (" checks ") return 1;" \
        " return " call($8) ", &out, &err) ? KILN_FAIL(&err) : kiln__give(res, out); }"
}

FNR > 1 {
    print $8 == "-" ? "" : $3 " " $1 "(" $4 ") " shim()
}
