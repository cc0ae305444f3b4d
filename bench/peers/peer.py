"""peer.py LIBRARY first | warm REPEATS | kernels REPEATS | gradients REPEATS - the rows of kiln_peers.c with JAX, MLX or PyTorch.

A line for each row: its times (ns of a call until its results are there) and sampled values, which run.py compares.
Two threads: run.py binds processes to two cores.
"""
import importlib
import json
import sys
import time

import numpy as np

SIDE, SMALL, SAMPLES, STRIDE = 4096, 1024, 64, 7895243


def wide(shape, scale=1.0, start=0):
    i = np.arange(start, start + int(np.prod(shape)), dtype=np.uint32)
    return ((i * np.uint32(2654435761) % np.uint32(4096)).astype(np.float32) / 256 - 8).reshape(shape) * np.float32(scale)


def narrow(shape):
    i = np.arange(int(np.prod(shape)), dtype=np.uint32)
    return (1 + (i % 61).astype(np.float32) / np.float32(61)).reshape(shape).astype(np.float32)


def samples_of(values):
    flat = np.asarray(values, np.float32).reshape(-1)
    return [float(flat[k * STRIDE % flat.size]) for k in range(SAMPLES)]


def say(library, row, times, results):
    samples = [samples_of(library.to_numpy(result)) for result in results]
    print(json.dumps({"library": library.NAME, "row": row, "ns": times, "samples": samples}), flush=True)


def time_row(library, row, function, inputs, calls, repeats):
    """`repeats` samples of `calls` calls each, after some that are not counted (and that compile)."""
    times = []
    for number in range(-2, repeats):
        start = time.perf_counter_ns()
        for _ in range(calls):
            results = function(*inputs)
            library.wait(results)
        if number >= 0:
            times.append((time.perf_counter_ns() - start) / calls)
    say(library, row, times, results)


def first(library, repeats):
    x, y = wide(SMALL), narrow(SMALL)
    start = time.perf_counter_ns()
    results = library.forward("swiglu")(library.array(x), library.array(y))
    library.wait(results)
    say(library, "first call", [time.perf_counter_ns() - start], results)


def warm(library, repeats):
    for length in 16, SMALL:
        inputs = [library.array(wide(length)), library.array(narrow(length))]
        time_row(library, f"warm call, {length} floats", library.forward("multiply"), inputs, 500, repeats)


def kernels(library, repeats):
    a, b = library.array(wide((SIDE, SIDE))), library.array(narrow((SIDE, SIDE)))
    for row, name, inputs in (
        ("(a*b)*(a+b), 64 MiB each", "product_and_sum", [a, b]),
        ("x*sigmoid(x)*y, 64 MiB each", "swiglu", [a, b]),
        ("gelu, 64 MiB each", "gelu", [a]),
        ("softmax, 4096 x 4096", "softmax", [a]),
        ("rms norm, 4096 x 4096", "rms_norm", [a]),
    ):
        time_row(library, row, library.forward(name), inputs, 1, repeats)


def gradients(library, repeats):
    square, heads = (SIDE, SIDE), (1, 8, 1024, 64)
    rows = (
        ("gradient of gelu, 64 MiB each", "gelu", [wide(SIDE * SIDE), narrow(SIDE * SIDE)]),
        ("gradient of softmax, 4096 x 4096", "softmax", [wide(square), narrow(square)]),
        ("gradient of layer norm, 4096 x 4096", "layer_norm", [wide(square), narrow(SIDE), wide(SIDE), narrow(square)]),
        ("gradient of attention, 8 x 1024 x 64", "attention",
         [wide(heads, 0.0625), wide(heads, 0.0625, 12345), narrow(heads), wide(heads, 0.125, 777)]),
    )
    for row, name, inputs in rows:
        time_row(library, row, library.backward(name), [library.array(x) for x in inputs], 1, repeats)


def main():
    library = importlib.import_module("peer_" + sys.argv[1])
    piece = {"first": first, "warm": warm, "kernels": kernels, "gradients": gradients}[sys.argv[2]]
    piece(library, int(sys.argv[3]) if len(sys.argv) > 3 else 1)


main()
