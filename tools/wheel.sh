#!/bin/sh
# wheel.sh BUILD OUT [PYTHON...]: a wheel for each Python into the folder OUT, and its tests in a fresh environment without a compiler. BUILD
# was configured with -DKILN_STATIC_LLVM=ON and has the base pack. Without names: 3.10 to 3.13, where pyenv has them.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
build=$1 out=$2
shift 2
export PIP_DISABLE_PIP_VERSION_CHECK=1
[ -e "$build/lib/kiln/base.kilnpack" ] || { echo "wheel.sh: $build has no base pack; make wheel builds it" >&2; exit 1; }

pythons()
{
    for version in 3.10 3.11 3.12 3.13; do
        ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python3 2>/dev/null | tail -1
    done
}

make_wheel() # PYTHON ENVIRONMENT
{
    rm -rf "$2" python/build
    "$1" -m venv "$2"
    "$2/bin/python" -m pip install -q setuptools wheel
    KILN_BUILD=$root/$native "$2/bin/python" -m pip wheel -q --no-build-isolation --no-deps -w "$2/wheel" ./python
    rm -rf python/build python/kiln.egg-info
}

# Nothing of this machine but the C library and Python: no tool is in PATH, and tests run from a copy elsewhere.
test_wheel() # PYTHON ENVIRONMENT WHEEL
{
    rm -rf "$2/fresh"
    "$1" -m venv "$2/fresh"
    "$2/fresh/bin/python" -m pip install -q numpy pytest "$3"
    mkdir -p "$2/elsewhere/python"
    cp -R python/tests python/README.md "$2/elsewhere/python"
    cp -R docs "$2/elsewhere"
    (cd "$2/elsewhere" && env -i HOME="$HOME" PATH="$2/fresh/bin" KILN_PYTHON_WHEEL="$root" "$2/fresh/bin/python" -m pytest -q --no-header -p no:cacheprovider \
        --tb=short python/tests)
}

native=$build/installed
rm -rf "$native" "$out"
cmake --install "$build" --prefix "$root/$native" --strip >/dev/null
mkdir -p "$out" build/python
[ $# -gt 0 ] || set -- $(pythons)
for python in "$@"; do
    environment=$root/build/python/wheel
    make_wheel "$python" "$environment"
    wheel=$(ls "$environment"/wheel/*.whl)
    test_wheel "$python" "$environment" "$wheel"
    cp "$wheel" "$out"
    echo "$out/$(basename "$wheel"): $(du -h "$wheel" | cut -f 1)"
done
