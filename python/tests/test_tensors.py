"""Tensors: metadata only, by the quickest way of each library."""

import numpy as np
import pytest

import kiln


def count(f, *calls):
    for args in calls:
        f(*args)
    return f.cache_info().lowers


def make(jit, annotation=None):
    def f(x):
        return "t"

    if annotation is not None:
        f.__annotations__["x"] = annotation
    return jit(f)


def test_numpy_metadata(jit):
    f = make(jit)
    x = np.zeros((4, 6), "float32")
    assert count(f, (x,), (x + 1,), (np.ones((4, 6), "float32"),)) == 1
    different = [np.zeros((6, 4), "float32"), np.zeros(24, "float32"), np.zeros((4, 6), "float64"), np.zeros((4, 6), "int32"), np.zeros((4, 6), ">f4"),
                 x.T, np.zeros((8, 6), "float32")[::2], x[::-1], np.broadcast_to(np.float32(0), (4, 6)), np.zeros((4, 6, 1), "float32"), np.zeros((), "float32"),
                 np.zeros((0, 6), "float32"), np.zeros((4, 6), "U3"), np.zeros((4, 6), "U4"), np.zeros((4, 6), [("a", "i4")]), np.zeros((4, 6), "M8[s]"),
                 np.zeros((4, 6), "M8[ms]"), np.zeros((4, 6), "float16"), np.zeros((4, 6), "complex64"), np.zeros((4, 6), object)]
    for i, array in enumerate(different):
        assert count(f, (array,), (array.copy("K") if array.flags.owndata else array,)) == 2 + i, array.dtype
    read_only = x.copy()
    read_only.flags.writeable = False
    assert count(f, (read_only,)) == 2 + len(different)
    assert len({f.key(array) for array in [x, read_only, *different]}) == 2 + len(different)


def test_alignment(jit):
    f = make(jit)
    buffer = np.zeros(64, "uint8")
    start = -buffer.ctypes.data % 16
    views = [buffer[start + shift:start + shift + 16].view("float32") for shift in (0, 4, 8, 16)]
    assert count(f, *[(view,) for view in views]) == 3
    strict = make(jit, kiln.Tensor(align=64))
    big = np.zeros(256, "uint8")
    start = -big.ctypes.data % 64
    assert count(strict, *[(big[start + shift:start + shift + 16],) for shift in (0, 16, 32, 64, 128)]) == 3
    assert count(make(jit, kiln.Tensor(align=1)), *[(view,) for view in views]) == 1


def test_numpy_subclasses(jit, tmp_path):
    f = make(jit)
    array = np.memmap(tmp_path / "data", "float32", "w+", shape=(4,))
    assert count(f, (array,), (np.zeros(4, "float32"),)) == 2

    class Tagged(np.ndarray):
        pass

    with pytest.raises(kiln.UnsignedError, match="Tagged"):
        f(np.zeros(3).view(Tagged))


def test_dynamic_tensors(jit):
    f = make(jit, kiln.Dynamic[np.ndarray])
    assert count(f, *[(np.zeros((n, m), "float32"),) for n in range(2, 9) for m in range(2, 9)]) == 1
    x = np.zeros((4, 6), "float32")
    assert count(f, (x.T,)) == 2 and count(f, (x[:, ::2],)) == 3 and count(f, (x.astype("float64"),)) == 4 and count(f, (x[0],)) == 5


def test_rules(jit):
    f = make(jit, kiln.Tensor(dims=("dynamic", 8), strides=("dynamic", "static")))
    assert count(f, (np.zeros((3, 16)),), (np.zeros((5, 24)),), (np.zeros((5, 32)),)) == 1
    assert count(f, (np.zeros((5, 9)),), (np.zeros((7, 17)),)) == 2
    assert count(f, (np.zeros((5, 32))[:, ::2],)) == 3
    with pytest.raises(ValueError, match="argument 'x': a tensor of rank 1"):
        f(np.zeros(3))
    with pytest.raises(TypeError, match="argument 'x': int was given"):
        f(3)


def test_a_static_negative_stride_is_not_divisible_by_it(jit):
    static = make(jit, kiln.Tensor(dims=("dynamic",), strides=("static",), align=1))
    divisible = make(jit, kiln.Tensor(dims=("dynamic",), strides=(8,), align=1))
    x = np.zeros(64)[::-8]
    assert static.key(x) != divisible.key(x)
    assert count(divisible, (x,), (np.zeros(64)[::8],), (np.zeros(64)[::16],)) == 1 and count(static, (x,), (np.zeros(64)[::8],)) == 2


@pytest.mark.parametrize("make_rule, error", [
    (lambda: kiln.Tensor(dims="static"), TypeError), (lambda: kiln.Tensor(dims=(1,)), ValueError), (lambda: kiln.Tensor(dims=(True,)), ValueError),
    (lambda: kiln.Tensor(strides=("some",)), ValueError), (lambda: kiln.Tensor(dims=(8,), strides=(8, 8)), ValueError),
    (lambda: kiln.Tensor(align=3), ValueError), (lambda: kiln.Tensor(align="4"), TypeError), (lambda: kiln.Dynamic[3], TypeError),
    (lambda: kiln.Dynamic(), TypeError), (lambda: kiln.Stream("a"), TypeError),
])
def test_rules_that_are_wrong(make_rule, error):
    with pytest.raises(error):
        make_rule()


def test_arrays_are_never_read_copied_or_exported(jit, monkeypatch):
    f = make(jit)
    x = np.zeros((4, 4))
    f(x)
    import sys
    before = sys.getrefcount(x)
    for _ in range(1000):
        f(x)
    assert sys.getrefcount(x) == before and f.cache_info().hits == 1000


def test_torch(jit):
    torch = pytest.importorskip("torch")
    f = make(jit)
    x = torch.zeros(4, 6)
    assert count(f, (x,), (x + 1,)) == 1
    different = [x.T, x.double(), torch.zeros(4, 7), x[::2], x.bfloat16(), x.half(), x > 0, torch.nn.Parameter(x), torch.zeros(4, 6, device="meta"), x.to(torch.complex64), x.to_sparse()]
    for i, tensor in enumerate(different):
        assert count(f, (tensor,), (tensor,)) == 2 + i
    assert len({f.key(tensor) for tensor in [x, *different]}) == 1 + len(different)
    assert len({f.key(value) for value in (torch.float32, torch.float64, torch.device("cpu"), torch.device("cuda:0"), torch.strided)}) == 5

    class Mine(torch.Tensor):
        pass

    with pytest.raises(kiln.UnsignedError):
        f(x.as_subclass(Mine))


def test_torch_is_not_exported(jit, monkeypatch):
    torch = pytest.importorskip("torch")
    calls = []
    export = torch.Tensor.__dlpack__
    monkeypatch.setattr(torch.Tensor, "__dlpack__", lambda *args, **kwargs: calls.append(1) or export(*args, **kwargs))
    f = make(jit)
    x = torch.zeros(4, 6, requires_grad=True)
    for _ in range(1000):
        f(x)
    assert not calls and f.cache_info().hits == 999
    dynamic = make(jit, kiln.Dynamic[torch.Tensor])
    assert count(dynamic, *[(torch.zeros(n, 4),) for n in range(2, 8)]) == 1


def test_torch_tensors_that_are_read(jit):
    torch = pytest.importorskip("torch")
    table = torch.zeros(3)
    f = jit(lambda: f"{table.tolist()}")
    assert f() == "[0.0, 0.0, 0.0]"
    table[0] = 1
    assert f() == "[1.0, 0.0, 0.0]"


def test_jax(jit):
    jax = pytest.importorskip("jax")
    f = make(jit)
    jnp = jax.numpy
    x = jnp.zeros((4, 6))
    assert count(f, (x,), (x + 1,)) == 1
    different = [x.T, jnp.zeros((4, 6), "int32"), jnp.zeros((4, 6), jnp.bfloat16), jnp.asarray(1.0), jnp.asarray(1.0, dtype="float32").reshape(1)]
    for i, tensor in enumerate(different):
        assert count(f, (tensor,), (tensor,)) == 2 + i
    calls = []
    original = type(x).__dlpack__
    for _ in range(1000):
        f(x)
    assert f.cache_info().lowers == 1 + len(different) and not calls and original
    assert len({f.key(value) for value in (jnp.float32, jnp.bfloat16, jnp.dtype("float32"), jnp.dtype(jnp.bfloat16))}) == 4
