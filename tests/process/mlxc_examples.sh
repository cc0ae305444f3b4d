#!/bin/sh
# The programs of examples/mlxc print what their text files hold: but for what differs between machines, byte for byte.
. "$(dirname "$0")/lib.sh"
texts=$source/examples/mlxc

# same FILE EXAMPLE
same()
{
    diff -u "$texts/$2.txt" "$1" >&2 || fail "$2 prints something else"
}

"$bin/mlxc_float64" >float64
same float64 float64

"$bin/mlxc_arrays" >all
says all "GPU device count: "
awk 'rules == 2 { print } /^=====$/ { rules++ }' all >arrays
same arrays arrays

"$bin/mlxc_closure" >out
sed 's/ at [^ ]*:[0-9]*>$/ at FILE:LINE>/' out >closure
same closure closure

"$bin/mlxc_grad" >grad
same grad grad

# The order of a map is its own, and whether a stream is asked after each access if it is still good is the reader's.
"$bin/mlxc_safe_tensors" >out
sed -n '/^[ab] = /!p' out | awk '!(/^GOOD$/ && last ~ /^(READ|WRITE)/) { print } { last = $0 }' >safe_tensors
grep '^[ab] = ' out | sort >>safe_tensors
same safe_tensors safe_tensors

"$bin/mlxc_export" >export
same export export
