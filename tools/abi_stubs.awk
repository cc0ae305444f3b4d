# Writes one C file with a weak definition of every function of src/mlxc/abi.tsv. Each says through the error handler
# that it is not implemented, and returns what its type stands for in case of failure. The definitions in src/mlxc/*.c
# are strong and win when libmlxc.so is linked, so that no list says which functions are implemented.
#
#   awk -f tools/abi_stubs.awk src/mlxc/abi.tsv > stubs.c

BEGIN {
    FS = "\t"
    print "/* Made by tools/abi_stubs.awk from src/mlxc/abi.tsv. */"
    print "#include \"mlx/c/mlx.h\""
    print "#include \"mlxc/abi_error.h\""
    print ""
}

# The value a failed call returns, as a return statement.
function failure(type)
{
    if (type == "void")
        return ""
    if (type == "int")
        return " return 1;"
    if (type == "bool" || type == "size_t" || type == "mlx_dtype")
        return " return 0;"
    if (type ~ /\*$/)
        return " return NULL;"
    return " return (" type "){NULL};"
}

FNR > 1 {
    print "__attribute__((weak)) " $3 " " $1 "(" $4 ")"
    print "{ kiln__mlxc_not_implemented(\"" $1 "\");" failure($3) " }"
}
