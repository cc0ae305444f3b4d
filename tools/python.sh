#!/bin/sh
# The Python package: tests of one version, of all, with sanitizers, and the bench.
#
#   tools/python.sh test [PYTHON]    install into a fresh virtual environment under build/python, and run python/tests
#   tools/python.sh check            the same for 3.10 and 3.13, where pyenv has them, then with Triton and JAX, then under address and undefined
#                                    sanitizers
#   tools/python.sh hosts [PYTHON]   what has to do with the caches of Triton and JAX, of the versions that docs/python/caches.md names
#   tools/python.sh bench [ARGS]     warm calls beside an empty C extension, Numba and Triton; torch and JAX where PyPI gives them
#
# KILN_PYTHON: the interpreter, python3 by itself. Without PyPI a line says so and the status is 0: nothing else of Kiln needs it.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
export PIP_DISABLE_PIP_VERSION_CHECK=1

say()
{
    echo "python: $*" >&2
}

# What an extension is built with: Python.h and virtual environments, of which a bare Debian has neither.
is_complete() # PYTHON
{
    "$1" -c 'import ensurepip, os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null
}

# Debian's python3 is made complete where it is the one. Status 1: there is none to build with.
find_python() # PYTHON
{
    is_complete "$1" && return
    KILN_PACKAGES="python3 python3-dev python3-venv" tools/setup.sh && is_complete "$1" && return
    say "$1 has no Python.h, or can't make virtual environments; skipped"
    return 1
}

# A fresh environment with what tests need. Status 1: PyPI can't be reached.
make_environment() # PYTHON FOLDER PACKAGES...
{
    python=$1 folder=$2
    shift 2
    rm -rf "$folder"
    if ! "$python" -m venv "$folder" >"$root/build/python/venv.log" 2>&1; then
        say "$python can't make a virtual environment (python3-venv); skipped"
        return 1
    fi
    if ! "$folder/bin/python" -m pip install -q "$@" >"$root/build/python/pip.log" 2>&1; then
        say "PyPI does not give $* ($(tail -1 "$root/build/python/pip.log")); skipped"
        return 1
    fi
}

# Objects of another build are not used again: setuptools does not see that options differ.
install_package() # ENVIRONMENT PIP-OPTIONS...
{
    environment=$1
    shift
    rm -rf python/build
    "$environment/bin/python" -m pip install -q --no-build-isolation --no-deps "$@" ./python
    rm -rf python/build python/kiln.egg-info
}

version_of()
{
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

run_tests() # ENVIRONMENT ARGS...
{
    environment=$1
    shift
    "$environment/bin/python" -X faulthandler -m pytest -q --no-header -p no:cacheprovider --tb=short python/tests "$@"
}

test_version() # PYTHON
{
    version=$(version_of "$1")
    environment=$root/build/python/$version
    mkdir -p build/python
    make_environment "$1" "$environment" numpy pytest setuptools wheel || return 0
    KILN_PYTHON_CFLAGS="-DKILN_LEAVE_OUT -O1" install_package "$environment" --target "$environment/controls"
    install_package "$environment"
    KILN_PYTHON_CONTROLS=$environment/controls run_tests "$environment"
}

# The environment is kept: the two are large.
test_hosts() # PYTHON
{
    environment=$root/build/python/hosts
    mkdir -p build/python
    [ -e "$environment/complete" ] ||
        make_environment "$1" "$environment" numpy pytest setuptools wheel triton==3.5.0 jax==0.7.2 jaxlib==0.7.2 || return 0
    touch "$environment/complete"
    install_package "$environment" --force-reinstall
    run_tests "$environment" -k "triton or jax or caches"
}

# The interpreter is not sanitized: its own allocator would hide ours, and what it never frees is no leak of ours.
test_sanitized() # PYTHON
{
    environment=$root/build/python/sanitized
    flags="-fsanitize=address,undefined -fno-omit-frame-pointer -O1"
    make_environment "$1" "$environment" numpy pytest setuptools wheel || return 0
    CC=gcc KILN_PYTHON_CFLAGS=$flags KILN_PYTHON_LDFLAGS=$flags install_package "$environment"
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0:intercept_tls_get_addr=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 run_tests "$environment"
}

check()
{
    for version in 3.10 3.13; do
        found=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python3 2>/dev/null | tail -1)
        if [ -n "$found" ]; then
            test_version "$found"
        else
            say "pyenv has no Python $version; skipped"
        fi
    done
    test_hosts "${KILN_PYTHON:-python3}"
    test_sanitized "${KILN_PYTHON:-python3}"
}

# The environment of the bench is kept: torch is large.
bench()
{
    environment=$root/build/python/bench
    mkdir -p build/python
    [ -x "$environment/bin/python" ] || make_environment "${KILN_PYTHON:-python3}" "$environment" numpy setuptools wheel || return 0
    for package in numba torch jax; do
        "$environment/bin/python" -c "import $package" 2>/dev/null ||
            "$environment/bin/python" -m pip install -q "$package" >build/python/pip.log 2>&1 ||
            say "PyPI does not give $package; its rows are left out"
    done
    install_package "$environment" --force-reinstall
    "$environment/bin/python" bench/python/bench.py "$@"
}

mode=${1:-test}
[ $# -eq 0 ] || shift
find_python "${KILN_PYTHON:-python3}" || exit 0
case $mode in
test) test_version "${1:-${KILN_PYTHON:-python3}}" ;;
check) check ;;
hosts) test_hosts "${1:-${KILN_PYTHON:-python3}}" ;;
bench) bench "$@" ;;
*)
    say "test, check, hosts or bench, not $mode"
    exit 2
    ;;
esac
