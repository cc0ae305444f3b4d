#!/bin/sh
# Arrays as arrays of numpy and back, without a copy: kiln/dlpack.h. Left out where python3 (or KILN_PYTHON) has no numpy.
. "$(dirname "$0")/lib.sh"
library=$build/lib/libmlxc.so
python=${KILN_PYTHON:-python3}
if nm -D "$library" | grep -q ' U __[at]san_init'; then
    echo "numpy: a library with a sanitizer cannot be opened from $python: not tried"
elif ! "$python" -c 'import numpy' >/dev/null 2>&1; then
    echo "numpy: $python has no numpy: not tried"
else
    exits 0 "$python" "$source/tests/process/numpy_dlpack.py" "$library"
    says out "kinds of capsules"
fi
