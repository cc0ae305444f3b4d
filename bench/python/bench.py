"""Warm calls from Python: what a decorated function adds to the call of what was linked.

    make bench-python

The floor of each row is an empty C extension function that gets the same arguments, called in the same loop in C. Others stand
beside: Numba's dispatcher on an empty compiled function, Triton's launcher with a driver that launches nothing. Each figure is the least of
several repeats. A row that misses its aim says so.
"""

import importlib
import os
import subprocess
import sys
import sysconfig

import numpy as np

import kiln

REPEATS, CALLS = 15, 100_000
HERE = os.path.dirname(os.path.abspath(__file__))


def build_empty():
    folder = os.path.join(sys.prefix, "kiln_bench")
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "kiln_bench_empty" + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.check_call(["gcc", "-O2", "-shared", "-fPIC", "-I" + sysconfig.get_paths()["include"], os.path.join(HERE, "empty.c"), "-o", target])
    sys.path.insert(0, folder)
    return importlib.import_module("kiln_bench_empty")


EMPTY = build_empty()


class Compiler:
    identity = "empty 1"

    def compile(self, text, request):
        return text

    def link(self, artifact, device):
        return EMPTY.empty


def jit(function, **options):
    return kiln.jit(function, compiler=Compiler(), cache=kiln.Cache(""), **options)


def measure(function, args, calls=CALLS):
    """Nanoseconds of one call."""
    return min(EMPTY.time_calls(function, args, calls) for _ in range(REPEATS)) / calls * 1e9


ROWS = []


def row(name, function, args, aim=None, calls=CALLS):
    function(*args)
    floor, taken = measure(EMPTY.empty, args, calls), measure(function, args, calls)
    ROWS.append((name, taken - floor))
    verdict = "" if aim is None else "  aim %d: %s" % (aim, "reached" if taken - floor <= aim else "MISSED")
    print(f"{name:58} {taken - floor:8.0f} ns above {floor:4.1f}{verdict}")


SCALE, MODE, SIZES, TABLE = 3, "fast", (4, 8), [1, 2, 3]


def text(x, y, z):
    return "text"


def text_with_globals(x, y, z):
    return f"text {SCALE} {MODE} {SIZES} {TABLE}"


def text_with_environment(x, y, z):
    return f"text {kiln.env('KILN_BENCH_A')} {kiln.env('HOME')}"


def arrays(make):
    return tuple(make() for _ in range(3))


def kiln_rows():
    three = arrays(lambda: np.zeros((64, 64), "float32"))
    row("kiln, three numpy arrays", jit(text), three, 300)
    row("kiln, three numpy arrays, four globals", jit(text_with_globals), three)
    row("kiln, three numpy arrays, two variables of the environment", jit(text_with_environment), three)
    row("kiln, an int, a float and a str", jit(text), (1, 2.0, "a"))
    shapes = [arrays(lambda n=n: np.zeros((n, 64), "float32")) for n in range(1, 9)]
    many = jit(text)
    for args in shapes:
        many(*args)
    taken = sum(alternate(many, shapes) for _ in range(3)) / 3
    print(f"{'kiln, three numpy arrays, eight shapes in turn':58} {taken:8.0f} ns, with the loop in Python")


def alternate(function, calls):
    import time
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(2000):
            for args in calls:
                function(*args)
        best = min(best, time.perf_counter() - start)
    return best / (2000 * len(calls)) * 1e9


def torch_rows():
    import torch
    row("kiln, three torch CPU tensors", jit(text), arrays(lambda: torch.zeros(64, 64)), 600)


def jax_rows():
    import jax.numpy as jnp
    row("kiln, three JAX arrays", jit(text), arrays(lambda: jnp.zeros((64, 64))), calls=CALLS // 10)


def numba_rows():
    import numba

    @numba.njit
    def empty(x, y, z):
        return None

    row("Numba's dispatcher, three numpy arrays", empty, arrays(lambda: np.zeros((64, 64), "float32")), calls=CALLS // 4)


def triton_rows():
    import torch
    import triton_driver
    kernel = triton_driver.empty_kernel()
    row("Triton's launcher, three torch CPU tensors", kernel, arrays(lambda: torch.zeros(64, 64)), calls=CALLS // 20)


def compare():
    """Rows that stand beside others, also those that lose."""
    taken = dict(ROWS)
    for ours, theirs in (("kiln, three numpy arrays", "Numba's dispatcher, three numpy arrays"),
                         ("kiln, three torch CPU tensors", "Triton's launcher, three torch CPU tensors")):
        if ours in taken and theirs in taken:
            print(f"{ours}: {taken[ours] / taken[theirs]:.2f} of the time of {theirs}" + (" (behind)" if taken[ours] > taken[theirs] else ""))


def main():
    print(f"kiln {kiln.__version__}, Python {sys.version.split()[0]}, numpy {np.__version__}; least of {REPEATS} repeats")
    kiln_rows()
    for name, rows in (("torch", torch_rows), ("jax", jax_rows), ("numba", numba_rows), ("triton", triton_rows)):
        try:
            rows()
        except Exception as error:
            print(f"{name}: left out: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    compare()


if __name__ == "__main__":
    main()
