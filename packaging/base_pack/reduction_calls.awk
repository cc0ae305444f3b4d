# Lists the reductions of src/mlxc/abi.tsv by what they take: a macro for each form, with the function's name.
#
#   awk -f packaging/base_pack/reduction_calls.awk src/mlxc/abi.tsv > reduction_calls.h

BEGIN {
    FS = "\t"
    array = "mlx_array* res, const mlx_array a, "
    stream = ", const mlx_stream s"
    forms[array "bool keepdims" stream] = "WHOLE"
    forms[array "int axis, bool keepdims" stream] = "AXIS"
    forms[array "bool keepdims, int ddof" stream] = "WHOLE_SPREAD"
    forms[array "int axis, bool keepdims, int ddof" stream] = "AXIS_SPREAD"
    print "/* Made by packaging/base_pack/reduction_calls.awk from src/mlxc/abi.tsv. */"
}

FNR > 1 && $6 == "ops-reduce" && ($4 in forms) { print forms[$4] "(" $1 ")" }
