"""others.py - the rows of bench.cu with other libraries; one line of JSON per row.

    others.py jax | torch | triton

A library that is missing, or a row that fails, says so in its line, and the rest runs. Each library runs in a process
of its own, so that none holds memory that another needs. Inputs are used in turn and exceed the L2 cache.
"""

import importlib
import json
import os
import statistics
import sys
import time

MIB = 1 << 20
REPEATS = 21
SMALL = 32

# Shapes of 256 MiB and more have two sets of inputs, smaller ones eight; see bench.cu.
DIAMOND = "(a*b)*(a+b), 256 MiB each"
SWIGLU = "x*sigmoid(x)*y, 256 MiB each"
GELU = "gelu, 256 MiB"
SWIGLU_BFLOAT16 = "x*sigmoid(x)*y, bfloat16, 256 MiB each"
GELU_BFLOAT16 = "gelu, bfloat16, 256 MiB"
ADD = "a + b, not compiled, 256 MiB each"
TRANSPOSE = "transposed copy, 8192 x 8192"
SUM = "sum of all, 256 MiB"
COPY = "copy, 256 MiB"
SMALL_LAUNCH = "small launch, host time"
CHAIN = "5 kernels, host time"
ROW_SHAPES = [(16384, 8192), (4096, 4096)]


def shaped(what, shape):
    return "%s, %d x %d" % (what, shape[0], shape[1])


def say(library, row, unit, value):
    print(json.dumps({"row": row, "library": library, "unit": unit, "value": round(value, 3)}), flush=True)


def say_error(library, row, error):
    text = " ".join(("%s: %s" % (type(error).__name__, error)).split())[:200]
    print(json.dumps({"row": row, "library": library, "error": text}), flush=True)


def attempt(library, row, unit, measure):
    try:
        say(library, row, unit, measure())
    except Exception as error:  # whatever it is, the other rows are still of use
        say_error(library, row, error)


def sets_of(shape, itemsize):
    return 2 if shape[0] * shape[1] * itemsize >= 256 * MIB else 8


def host_time_us(call, wait, calls):
    """Time that one call takes the host, in batches that the GPU's queue has room for."""
    samples = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - start) / calls * 1e6)
        wait()
    return statistics.median(samples)


# ---- JAX --------------------------------------------------------------------------------------------------------


def run_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")
    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX sees no GPU, only " + jax.default_backend())

    def numbers(shape, dtype, seed):
        key = jax.random.PRNGKey(seed)
        return jax.random.uniform(key, shape, jnp.float32, -6, 10).astype(dtype)

    def measure(function, shape, inputs, passes, dtype=jnp.float32, compiled=True):
        """One jit of all sets, so that the calls take the GPU longer than the host; the clock of the host."""
        itemsize = jnp.dtype(dtype).itemsize
        count = sets_of(shape, itemsize)
        sets = [[numbers(shape, dtype, 10 * i + k) for k in range(inputs)] for i in range(count)]

        def all_sets(sets):
            return [function(*one) for one in sets]

        call = jax.jit(all_sets) if compiled else all_sets
        for _ in range(3):
            jax.block_until_ready(call(sets))
        samples = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            for _ in range(4):
                results = call(sets)
            jax.block_until_ready(results)
            samples.append((time.perf_counter() - start) / (4 * count))
        return passes * shape[0] * shape[1] * itemsize / statistics.median(samples) / 1e12

    def diamond(a, b):
        return (a * b) * (a + b)

    def swiglu(x, y):
        return x * jax.nn.sigmoid(x) * y

    def gelu(x):
        return 0.5 * (x * (1 + jax.lax.erf(x * 0.7071067811865476)))

    def softmax(x):
        return jax.nn.softmax(x, axis=-1)

    def rms_norm(x):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)

    def chain(a, b):
        x = a * b
        for _ in range(2):
            x = jnp.tanh(x - jnp.sum(x, axis=0, keepdims=True))
        return x

    def measure_small(function, calls):
        a, b = numbers((SMALL, SMALL), jnp.float32, 1), numbers((SMALL, SMALL), jnp.float32, 2)
        compiled = jax.jit(function)
        last = [compiled(a, b)]

        def call():
            last[0] = compiled(a, b)

        def wait():
            last[0].block_until_ready()

        wait()
        return host_time_us(call, wait, calls)

    square, long = (8192, 8192), (16384, 8192)
    attempt("jax", DIAMOND, "TB/s", lambda: measure(diamond, square, 2, 3))
    attempt("jax", SWIGLU, "TB/s", lambda: measure(swiglu, square, 2, 3))
    attempt("jax", GELU, "TB/s", lambda: measure(gelu, square, 1, 2))
    attempt("jax", SWIGLU_BFLOAT16, "TB/s", lambda: measure(swiglu, long, 2, 3, jnp.bfloat16))
    attempt("jax", GELU_BFLOAT16, "TB/s", lambda: measure(gelu, long, 1, 2, jnp.bfloat16))
    for shape in ROW_SHAPES:
        attempt("jax", shaped("softmax", shape), "TB/s", lambda: measure(softmax, shape, 1, 2))
        attempt("jax", shaped("rms norm", shape), "TB/s", lambda: measure(rms_norm, shape, 1, 2))
    attempt("jax", ADD, "TB/s", lambda: measure(jnp.add, square, 2, 3, compiled=False))
    attempt("jax", TRANSPOSE, "TB/s", lambda: measure(jnp.transpose, square, 1, 2))
    attempt("jax", SUM, "TB/s", lambda: measure(jnp.sum, square, 1, 1))
    attempt("jax", SMALL_LAUNCH, "us", lambda: measure_small(diamond, 200))
    attempt("jax", CHAIN, "us", lambda: measure_small(chain, 100))


# ---- PyTorch, and what Triton shares with it -----------------------------------------------------------------------


def torch_on_gpu():
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    return torch


def torch_numbers(torch, shape, dtype):
    return (torch.rand(shape, device="cuda") * 16 - 6).to(dtype)


def event_time_ms(torch, call, calls=4):
    """Median time on the GPU, which is kept busy while the host queues."""
    for i in range(3 * calls):
        call(i)
    torch.cuda.synchronize()
    samples = []
    for _ in range(REPEATS):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(3_000_000)
        start.record()
        for i in range(calls):
            call(i)
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop) / calls)
    return statistics.median(samples)


def torch_bandwidth(torch, function, shape, inputs, passes, dtype):
    itemsize = torch.empty((), dtype=dtype).element_size()
    count = sets_of(shape, itemsize)
    sets = [[torch_numbers(torch, shape, dtype) for _ in range(inputs)] for _ in range(count)]
    ms = event_time_ms(torch, lambda i: function(*sets[i % count]), max(4, count))
    return passes * shape[0] * shape[1] * itemsize / ms / 1e9


def run_torch():
    torch = torch_on_gpu()

    def measure(function, shape, inputs, passes, dtype=torch.float32, compiled=True):
        call = torch.compile(function, dynamic=False) if compiled else function
        with torch.no_grad():
            return torch_bandwidth(torch, call, shape, inputs, passes, dtype)

    def diamond(a, b):
        return (a * b) * (a + b)

    def swiglu(x, y):
        return x * torch.sigmoid(x) * y

    def gelu(x):
        return 0.5 * (x * (1 + torch.erf(x * 0.7071067811865476)))

    def softmax(x):
        return torch.softmax(x, -1)

    def rms_norm(x):
        return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + 1e-5)

    def chain(a, b):
        x = a * b
        for _ in range(2):
            x = torch.tanh(x - torch.sum(x, 0, keepdim=True))
        return x

    def measure_small(function, calls):
        a = torch_numbers(torch, (SMALL, SMALL), torch.float32)
        b = torch_numbers(torch, (SMALL, SMALL), torch.float32)
        compiled = torch.compile(function, dynamic=False)
        with torch.no_grad():
            for _ in range(3):
                compiled(a, b)
            torch.cuda.synchronize()
            return host_time_us(lambda: compiled(a, b), torch.cuda.synchronize, calls)

    square, long = (8192, 8192), (16384, 8192)
    into = torch.empty(square, device="cuda")
    attempt("torch", COPY, "TB/s", lambda: measure(into.copy_, square, 1, 2, compiled=False))
    attempt("torch", ADD, "TB/s", lambda: measure(torch.add, square, 2, 3, compiled=False))
    attempt("torch", TRANSPOSE, "TB/s", lambda: measure(lambda x: x.t().contiguous(), square, 1, 2, compiled=False))
    attempt("torch", SUM, "TB/s", lambda: measure(torch.sum, square, 1, 1, compiled=False))
    attempt("torch", DIAMOND, "TB/s", lambda: measure(diamond, square, 2, 3))
    attempt("torch", SMALL_LAUNCH, "us", lambda: measure_small(diamond, 200))
    attempt("torch", SWIGLU, "TB/s", lambda: measure(swiglu, square, 2, 3))
    attempt("torch", GELU, "TB/s", lambda: measure(gelu, square, 1, 2))
    for shape in ROW_SHAPES:
        attempt("torch", shaped("softmax", shape), "TB/s", lambda: measure(softmax, shape, 1, 2))
        attempt("torch", shaped("rms norm", shape), "TB/s", lambda: measure(rms_norm, shape, 1, 2))
    attempt("torch", SWIGLU_BFLOAT16, "TB/s", lambda: measure(swiglu, long, 2, 3, torch.bfloat16))
    attempt("torch", GELU_BFLOAT16, "TB/s", lambda: measure(gelu, long, 1, 2, torch.bfloat16))
    attempt("torch", CHAIN, "us", lambda: measure_small(chain, 100))


# ---- Triton ------------------------------------------------------------------------------------------------------


def run_triton():
    torch = torch_on_gpu()
    kernels = importlib.import_module("triton_kernels")

    def measure(function, shape, inputs, passes):
        """The best of a few launch shapes, as for the kernels by hand."""
        out = torch.empty(shape, device="cuda")
        best = 0
        for warps in (4, 8, 16):
            best = max(best, torch_bandwidth(torch, lambda *one: function(*one, out, warps), shape, inputs, passes,
                                             torch.float32))
        return best

    def measure_small():
        a, b, out = (torch_numbers(torch, (SMALL, SMALL), torch.float32) for _ in range(3))
        kernels.launch_diamond(a, b, out, 4)
        torch.cuda.synchronize()
        return host_time_us(lambda: kernels.launch_diamond(a, b, out, 4), torch.cuda.synchronize, 200)

    attempt("triton", DIAMOND, "TB/s", lambda: measure(kernels.launch_diamond, (8192, 8192), 2, 3))
    for shape in ROW_SHAPES:
        attempt("triton", shaped("softmax", shape), "TB/s", lambda: measure(kernels.launch_softmax, shape, 1, 2))
    attempt("triton", SMALL_LAUNCH, "us", measure_small)


RUNS = {"jax": run_jax, "torch": run_torch, "triton": run_triton}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in RUNS:
        sys.exit("usage: others.py " + " | ".join(RUNS))
    try:
        RUNS[sys.argv[1]]()
    except Exception as error:
        say_error(sys.argv[1], "all rows", error)


if __name__ == "__main__":
    main()
