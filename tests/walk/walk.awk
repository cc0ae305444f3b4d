# Writes a C file that can call every function of some headers with any of its pointers absent (walk.h). Plain awk, so that
# mawk will do.
#
#   cc -E -P -I include headers.c | awk -v prefix=^kiln_ -v values=walk/values_kiln.h -f walk.awk fine.tsv - > calls.c
#
# The last file is what the C preprocessor made of the headers; functions whose names match `prefix` are taken. The files
# before it say which parameters may be NULL or empty: either lines of a function, a parameter ("*": all of them) and, for people,
# what happens then; or src/mlxc/abi.tsv. A line that names what is not in the headers is an error, so that none is left behind.
#
# Values come from `values`: a parameter of type "const kiln_cache *" is good_kiln_cache_p(function, parameter), one of a type that
# is not there does not compile. A handle that is passed by value is absent when it is zero. The file `good`, if there is one,
# has other values for some parameters, and what some functions answer (good_mlxc.tsv). Functions of src/mlxc/abi.tsv that are not in
# the headers are errors as well.

BEGIN {
    FS = "\t"
    while (good != "" && (getline line < good) > 0)
        if (line !~ /^#/ && line != "")
            read_good(line)
}

# "mlx_take*	indices	NUMBERS(MLX_INT32, 2)"
function read_good(line,    part)
{
    split(line, part, /\t/)
    good_patterns[++good_count] = "^" part[1] "$"
    gsub(/\*/, ".*", good_patterns[good_count])
    good_parameters[good_count] = part[2]
    good_values[good_count] = part[3]
}

# What the first line that fits says; "" when there is none.
function good_value(parameter,    i)
{
    for (i = 1; i <= good_count; i++)
        if (good_parameters[i] == parameter && function_name ~ good_patterns[i]) {
            good_used[i] = 1
            return good_values[i]
        }
    return ""
}

function trim(text)
{
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

function complain(text)
{
    print "walk.awk: " text > "/dev/stderr"
    failed = 1
}

# ---- which may be absent -------------------------------------------------------------------------------------------

FILENAME != "-" {
    if ($0 ~ /^#/ || $0 == "" || $1 == "name")
        next
    if (NF < 7) {
        fine[$1, $2] = 1
        if ($1 ~ /^\*./)
            endings[++ending_count] = substr($1, 2)
        named[$1, $2] = FILENAME ":" FNR
        next
    }
    table[$1] = FILENAME ":" FNR
    if ($5 != "-") {
        n = split($5, list, ",")
        for (i = 1; i <= n; i++)
            fine[$1, list[i]] = 1
    }
    next
}

# ---- prototypes ----------------------------------------------------------------------------------------------------

# "const kiln_cache *" becomes kiln_cache_p, "const char *const *" char_pp.
function mangled(type)
{
    gsub(/(^| )(const|struct|enum)( |$)/, " ", type)
    gsub(/\*const/, "*", type)
    type = trim(type)
    gsub(/ *\*/, "*", type)
    if (type ~ /\*/) {
        stars = type
        gsub(/[^*]/, "", stars)
        gsub(/\*/, "p", stars)
        sub(/\*+$/, "_" stars, type)
    }
    gsub(/ /, "_", type)
    return type
}

# A struct that is a pointer in all but name.
function is_handle(type)
{
    return type == "kiln_bytes" || \
        (type ~ /^mlx_/ && type !~ /^mlx_(dtype|device_type|compile_mode|fft_norm|optional_.*|io_vtable)$/)
}

# One parameter of `function_name`, number `at`: its declaration with a value, and its bit in the row's words.
function parameter(text, at,    name, type, bit, nothing, value)
{
    text = trim(text)
    if (match(text, /\(\* *[a-z_0-9]+ *\)/)) {
        name = trim(substr(text, RSTART + 2, RLENGTH - 3))
        type = "function"
    } else {
        match(text, /[A-Za-z_0-9]+$/)
        name = substr(text, RSTART)
        type = mangled(substr(text, 1, RSTART - 1))
    }
    bit = "1u << " at
    names = names "\"" name "\", "
    types = types " " type
    arguments = arguments (at ? ", " : "") "a" at
    known[function_name, name] = known["*", name] = 1
    nothing = "0"
    if (type == "function" || type ~ /_p+$/ || type ~ /_func$/ || is_handle(type))
        pointers = pointers " | " bit
    if (type == "size_t" || type == "int") {
        counts = counts " | " bit
        nothing = "WALK_ABSURD_" type
    }
    if (is_fine(name))
        fine_bits = fine_bits " | " bit
    value = good_value(name)
    if (type != "function" && value != "") {
        body = body "    WALK_GIVEN(" at ", " type ", " nothing ", " value ");\n"
        return
    }
    if (type != "function") {
        body = body "    WALK_VALUE(" at ", " type ", \"" name "\", " nothing ");\n"
        return
    }
    sub(/\(\* *[a-z_0-9]+ *\)/, "(*a" at ")", text)
    body = body "    " text " = absent & " bit " ? NULL : good_function(function, \"" name "\");\n"
}

# The macro that keeps what a call answers.
function keep(returns)
{
    if (returns == "char_p" || returns == "void" || returns == "kiln_bytes")
        return "KEEP_" returns
    return returns ~ /_p+$/ ? "KEEP_POINTER" : is_handle(returns) ? "KEEP_HANDLE" : "KEEP_NUMBER"
}

# May this parameter be absent? Lines may name all functions, or all that end alike ("*_free").
function is_fine(name,    i)
{
    for (i = 1; i <= ending_count; i++)
        if (function_name ~ (endings[i] "$") && (fine["*" endings[i], name] || fine["*" endings[i], "*"]))
            return known["*" endings[i], name] = known["*" endings[i], "*"] = 1
    return fine[function_name, name] || fine[function_name, "*"] || fine["*", name]
}

# The last members of a row.
function answers(    number, refusal)
{
    number = good_value("=")
    refusal = good_value("!")
    return (number == "" ? "false, 0, " : "true, " number ", ") (refusal == "" ? "NULL" : "\"" refusal "\"")
}

function prototype(text,    open, head, list, depth, at, start, i, c, returns)
{
    sub(/^extern /, "", text)
    gsub(/static |inline /, "", text)
    gsub(/__attribute__ *\(\([^)]*\)\)/, "", text)
    open = index(text, "(")
    head = trim(substr(text, 1, open - 1))
    match(head, /[A-Za-z_0-9]+$/)
    function_name = substr(head, RSTART)
    returns = mangled(substr(head, 1, RSTART - 1))
    if (function_name !~ prefix || returns == "" || seen[function_name]++)
        return
    list = substr(text, open + 1)
    sub(/\) *$/, "", list)
    names = types = body = arguments = ""
    pointers = fine_bits = counts = "0"
    depth = at = 0
    start = 1
    list = list ","
    for (i = 1; i <= length(list); i++) {
        c = substr(list, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && depth == 0) {
            part = trim(substr(list, start, i - start))
            start = i + 1
            if (part != "void" && part != "...")
                parameter(part, at++)
        }
    }
    known[function_name, "*"] = 1
    delete table[function_name]
    print "static void call_" ++count "(uint32_t absent, struct walk_result *result)\n{"
    print "    const char *function = \"" function_name "\";\n    (void)absent, (void)function;"
    printf "%s", body
    print "    " keep(returns) "(result, (" function_name ")(" arguments "));\n}\n"
    rows = rows "    {\"" function_name "\", \"" types " \", \"" returns "\", {" names "NULL}, " at ", " pointers ", " \
        fine_bits ", " counts ", call_" count ", " answers() "},\n"
}

FNR == 1 {
    print "/* Made by tests/walk/walk.awk. */"
    print "#include \"" values "\"\n"
}

# Bodies are dropped; a statement ends at a semicolon outside of braces.
{
    statement = statement " " $0
    opened = gsub(/\{/, "{", statement)
    closed = gsub(/\}/, "}", statement)
    if (statement !~ /;[ \t]*$/ || opened != closed)
        next
    while (gsub(/\{[^{}]*\}/, "\001", statement))
        continue
    total = split(statement, statements, ";")
    statement = ""
    for (s = 1; s <= total; s++) {
        text = statements[s]
        sub(/^.*\001/, "", text)
        text = trim(text)
        if (text ~ /\)$/ && text !~ /^typedef/)
            prototype(text)
    }
}

END {
    print "const struct walk_row walk_rows[] = {\n" rows "};"
    print "const size_t walk_row_count = sizeof walk_rows / sizeof *walk_rows;"
    for (key in named)
        if (!known[key]) {
            split(key, both, SUBSEP)
            complain(named[key] ": there is no parameter " both[2] " of a function " both[1])
        }
    for (name in table)
        complain(table[name] ": there is no function " name " in the headers")
    for (i = 1; i <= good_count; i++)
        if (!good_used[i])
            complain(good ": nothing needs " good_patterns[i] " " good_parameters[i])
    exit failed
}
