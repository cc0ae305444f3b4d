"""Arguments: constants by exact type and value, users' types by their signature, annotations."""

import dataclasses
import enum

import numpy as np
import pytest

import kiln


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Sizes:
    block: int = 4
    inner: object = None


CONSTANTS = [None, True, 1, 1.0, 0.0, -0.0, float("nan"), 2, "1", b"1", (1,), [1], (1, 1), ((1,), 1), (1, (1,)), [], (), {}, {"a": 1}, {"a": 1.0}, {1}, frozenset({1}),
             Color.RED, Color.BLUE, Level.LOW, Sizes(), Sizes(5), Sizes(4, (1,)), 1 << 64, -(1 << 64), 1j, "ab", ("ab", "c"), ("a", "bc"), ("a", "b", "c"),
             np.int32(1), np.int64(1), np.float32(1), np.float64(1), np.bool_(True), np.dtype("int32"), np.dtype("float32"), np.float32,
             np.dtype([("a", "i4")]), np.dtype([("b", "i4")]), np.dtype(">i4"), np.dtype("M8[s]"), np.dtype("M8[ms]"), int, float, "\ud800", "\0", ""]


def test_constants_are_told_apart_and_found_again(jit):
    @jit
    def f(value):
        return "t"

    for value in CONSTANTS:
        f(value)
    count = len(CONSTANTS)
    assert f.cache_info()[:3] == (count, 0, count)
    assert len({f.key(value) for value in CONSTANTS}) == count
    for value in CONSTANTS:
        f(value)
    assert f.cache_info()[:3] == (2 * count, count, count)


def test_neighbours_never_merge(jit):
    @jit
    def f(*values):
        return "t"

    calls = [("ab", "c"), ("a", "bc"), ("abc",), (["a"], ["b"]), (["a", "b"],), (["a", "b"], []), ((1, 2), 3), (1, (2, 3)), (1, 2, 3), (12, 3), (1, 23), ()]
    for args in calls:
        f(*args)
    assert f.cache_info()[:3] == (len(calls), 0, len(calls))


def test_types_of_users_must_sign(jit):
    class Opaque:
        def __repr__(self):
            return "Opaque(1)"

    @jit
    def f(x, value):
        return "t"

    with pytest.raises(kiln.UnsignedError, match=r"f: argument 'value': Opaque can't sign itself.*__cache_signature__\(self\).*return"):
        f(1, Opaque())
    with pytest.raises(kiln.UnsignedError, match="argument 'value'"):
        f(1, [{"a": Opaque()}])
    with pytest.raises(kiln.UnsignedError, match="argument 'value'"):
        f(1, value=Opaque())
    assert f.cache_info().lowers == 0


def test_signatures_of_users(jit):
    class Signed:
        def __init__(self, width, tag=0):
            self.width, self.tag = width, tag

        def __cache_signature__(self):
            return (self.width, "w")

    class Other(Signed):
        pass

    @jit
    def f(value):
        return "t"

    f(Signed(1)), f(Signed(1, tag=5)), f(Signed(2)), f(Other(1))
    assert f.cache_info()[:3] == (4, 1, 3)


@pytest.mark.parametrize("signature, error", [(lambda self: object(), kiln.UnsignedError), (lambda self: 1 / 0, ZeroDivisionError), (5, TypeError)])
def test_signatures_that_fail(jit, signature, error):
    value = type("Bad", (), {"__cache_signature__": signature})()

    @jit
    def f(value):
        return "t"

    with pytest.raises(error):
        f(value)
    assert f.cache_info().lowers == 0
    f(1)
    with pytest.raises(error):
        f(value)


def test_fields_of_dataclasses(jit):
    @jit
    def f(sizes):
        return f"{sizes.block}"

    sizes = Sizes(4)
    assert f(sizes) == "4"
    sizes.block = 8
    assert f(sizes) == "8"
    sizes.block = 4
    assert f(sizes) == "4" and f.cache_info().lowers == 2


SCALE = 1


def test_what_methods_of_arguments_read(jit):
    @dataclasses.dataclass
    class Scaled:
        n: int

        def text(self):
            return f"{self.n * SCALE}"

    @jit
    def f(value):
        return value.text()

    assert f(Scaled(3)) == "3"
    globals()["SCALE"] = 2
    try:
        assert f(Scaled(3)) == "6"
    finally:
        globals()["SCALE"] = 1
    assert f(Scaled(3)) == "3" and f.cache_info().lowers == 2


def test_dynamic_values(jit):
    seen = []

    @jit
    def f(x, n: kiln.Dynamic[int], scale: "kiln.Dynamic[float]", anything: kiln.Dynamic = None):
        seen.append((str(n), str(scale)))
        return "t"

    for n in range(100):
        f(1, n, n * 1.5)
    assert f.cache_info()[:3] == (100, 99, 1) and seen == [("<a dynamic int n>", "<a dynamic float scale>")]
    f(1, n=5, scale=1.0), f(1, True, 1.0)
    assert f.cache_info().lowers == 2, "bool is another type than int"
    f(1, 5, 1.0, "a"), f(1, 5, 1.0, "b"), f(1, 5, 1.0, 3)
    assert f.cache_info().lowers == 4
    with pytest.raises(TypeError, match=r"argument 'n': str was given.*Dynamic\[int\]"):
        f(1, "a", 1.0)


def test_a_dynamic_value_can_not_be_used(jit):
    @jit
    def f(n: kiln.Dynamic[int]):
        return "t" * n

    with pytest.raises(TypeError, match="its value is not in the key"):
        f(3)


def test_streams(jit):
    @jit
    def f(x, stream: kiln.Stream):
        return f"t {stream}"

    for stream in (0, 7, None, kiln.Stream(5), type("S", (), {"cuda_stream": 3})()):
        f(1, stream)
    assert f.cache_info()[:3] == (5, 4, 1)
    with pytest.raises(TypeError, match="argument 'stream': str was given"):
        f(1, "a")

    @jit
    def g(x):
        return "t"

    g(kiln.Stream(1)), g(kiln.Stream(2))
    assert g.cache_info().lowers == 1


def test_keywords_have_the_key_of_places(jit):
    @jit
    def f(a, b=2, *, c=3, **more):
        return "t"

    f(1, 2), f(1, b=2), f(b=2, a=1), f(a=1, b=2)
    assert f.cache_info()[:3] == (4, 3, 1)
    f(1, c=3), f(1, c=4), f(1, d=4), f(1, 2, d=4)
    assert f.cache_info().lowers == 5


def test_wrong_arguments_are_errors_of_the_function(jit):
    @jit
    def f(a):
        return "t"

    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"b": 1}), ((1,), {"a": 1})):
        with pytest.raises(TypeError, match=r"f\(\)"):
            f(*args, **kwargs)


def test_values_that_nest_too_deep_or_are_too_large(jit):
    @jit
    def f(value):
        return "t"

    deep = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(kiln.UnsignedError, match="deep"):
        f(deep)
    with pytest.raises(kiln.UnsignedError, match="8 MiB"):
        f(list(range(2_000_000)))
    ring = []
    ring.append(ring)
    f(ring), f(ring)
    assert f.cache_info()[:3] == (4, 1, 1)


def test_keys_print_what_they_hold(jit):
    @jit
    def f(value):
        return "t"

    for value in CONSTANTS:
        assert f.key(value).startswith("argument value = ")
    assert "argument value = (1, 'a', -0.0)" in f.key((1, "a", -0.0))
    assert "test_arguments.Color.RED=1" in f.key(Color.RED)
