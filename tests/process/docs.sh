#!/bin/sh
# The documentation tells the truth: no link is dead, every page is reached, every function of the headers is described, and the programs
# and commands of the pages in docs/learn print what the pages show, on an installed tree.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
command -v "$python" >/dev/null || python=python3
export PYTHONDONTWRITEBYTECODE=1

exits 0 "$python" "$source/tools/docs/links.py"
exits 0 "$python" "$source/tools/docs/reference.py" "$work/api"

# The programs of pages are linked with plain libraries.
if grep -q 'KILN_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then exit 0; fi
DESTDIR= cmake --install "$build" --prefix "$work/usr" >log
libraries=$(dirname "$(find "$work/usr" -name libmlxc.so)")
export PATH="$work/usr/bin:$PATH" PKG_CONFIG_PATH="$libraries/pkgconfig" LD_LIBRARY_PATH="$libraries" CMAKE_PREFIX_PATH="$work/usr"
unset KILN_CACHE_DIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_STATE_HOME # a home of its own for each page
"$python" "$source/tools/docs/blocks.py" "$source"/docs/learn/*.md >out || { cat out >&2; fail "a page of docs/learn does not say what happens"; }
cat out
