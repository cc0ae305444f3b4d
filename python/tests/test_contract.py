"""The names that programs outside the tree use, and what they promise."""

import numpy as np
import pytest

import kiln


def test_call_goes_to_what_link_gave(jit, compiler):
    seen = []
    compiler.link = lambda artifact, device: lambda *args, **kwargs: seen.append((args, kwargs)) or 42

    @jit
    def f(x, n, *, mode="a"):
        return "text"

    x = np.zeros(3)
    assert f(x, 1) == 42 and f(x, n=1) == 42 and f(x, 1, mode="b") == 42
    assert [(len(args), kwargs) for args, kwargs in seen][:2] == [(2, {}), (2, {})]
    assert seen[0][0][0] is x and seen[1][0] == (x, 1)
    assert seen[2][0][:2] == (x, 1)


def test_text_may_be_str_or_bytes(jit, compiler):
    @jit
    def a():
        return "täxt"

    @jit
    def b():
        return b"\x00\xff"

    a(), b()
    assert compiler.texts == ["täxt".encode(), b"\x00\xff"]


def test_compile_and_link_get_what_is_declared(jit, compiler):
    asked = []

    def compile(text, request):
        asked.append((type(text), request.target, request.option("opt_level"), request.env("KILN_TEST_NO"), type(request)))
        with pytest.raises(TypeError, match="name"):
            request.option(3)
        asked.append(request)
        return b"x"

    compiler.compile = compile

    @jit(env=("KILN_TEST_NO",))
    def f():
        return "t"

    f()
    assert asked[0][0] is bytes and asked[0][1].startswith("x86-64") and asked[0][2:4] == ("2", None) and asked[0][4] is kiln.Request
    assert compiler.devices[0].startswith("cpu")
    with pytest.raises(RuntimeError, match="inside of compile"):
        asked[1].target


def test_cache_info_counts_exactly(jit):
    @jit
    def f(x):
        return f"{x.shape}"

    a, b = np.zeros(3), np.zeros(4)
    for _ in range(1000):
        f(a)
    assert f.cache_info() == (1000, 999, 1, 1, 1)
    f(b), f(a), f(b)
    assert f.cache_info() == (1003, 1001, 2, 2, 1)
    assert f.cache_info()._fields == ("calls", "hits", "lowers", "compiles", "discoveries")


def test_equal_texts_share_an_artifact(jit, compiler):
    @jit
    def f(x):
        return "always"

    f(1), f(2), f("a")
    assert f.cache_info()[2:4] == (3, 1) and len(compiler.texts) == 1


def test_callable_with_an_identity_gives_bytes(cache):
    def upper(text):
        return text.upper()

    upper.identity = "upper 1"

    @kiln.jit(compiler=upper, cache=cache)
    def f(n):
        return f"text {n}"

    assert f(1) == b"TEXT 1" and f(1) == b"TEXT 1" and f.cache_info().compiles == 1


def test_exceptions_are_under_error():
    for name in ("DriftError", "UnsignedError", "LowerError", "CompileError", "LinkError", "NoCompilerError", "WouldCompileError"):
        assert issubclass(getattr(kiln, name), kiln.Error)
    assert issubclass(kiln.Error, Exception)


def test_key_is_printable_and_is_the_call(jit):
    @jit
    def f(x, n=1):
        return "t"

    x = np.zeros((2, 3), "float32")
    assert f.key(x) == f.key(x.copy()) != f.key(x.T) and f.key(x).isprintable() is False
    assert all(line.isprintable() for line in f.key(x).split("\n"))
    assert f.key(x, 2) == f.key(x, n=2) != f.key(x, 3)
    assert f.cache_info()[:4] == (0, 0, 0, 0)


def test_why_names_the_field(jit):
    @jit
    def f(x, n):
        return "t"

    assert "no call" in kiln.why(f)
    f(np.zeros(4), 1)
    assert "first call" in kiln.why(f)
    f(np.zeros(4), 2)
    assert kiln.why(f).endswith("argument n was 1, is 2")
    f(np.zeros(8), 2)
    assert "argument x was" in kiln.why(f) and "[4 by 8]" in kiln.why(f) and "[8 by 8]" in kiln.why(f)


def test_device_and_options_are_read_live(jit, compiler):
    @jit
    def f():
        return "t"

    f()
    with kiln.options(unroll="4"):
        f(), f()
        with kiln.options(unroll="8"):
            f()
        f()
    f()
    assert f.cache_info() == (6, 3, 3, 3, 1)
    with kiln.device("cpu:x86-64-v2"):
        f()
    f()
    assert f.cache_info() == (8, 4, 4, 4, 1)
    assert compiler.devices[-1] == "cpu:x86-64-v2"


def test_a_device_of_its_own(jit, compiler):
    @jit(device="cpu:x86-64-v2")
    def f():
        return "t"

    f()
    with kiln.device("cpu"):
        f()
    assert f.cache_info().hits == 1 and compiler.devices == ["cpu:x86-64-v2"]


def test_target_follows_its_variable(jit, compiler, monkeypatch):
    @jit
    def f():
        return "t"

    f()
    monkeypatch.setenv("KILN_TARGET", "x86-64-v2")
    f(), f()
    monkeypatch.delenv("KILN_TARGET")
    f()
    assert f.cache_info() == (4, 2, 2, 2, 1) and compiler.devices[1] == "cpu:x86-64-v2"


def test_functions_look_like_what_they_wrap(jit):
    import inspect
    import pickle

    @jit
    def f(x, n=3):
        """Says so."""
        return "t"

    assert f.__name__ == "f" and f.__doc__ == "Says so." and f.__module__ == __name__ and isinstance(f, kiln.Function)
    assert str(inspect.signature(f)) == "(x, n=3)" and "f>" in repr(f)
    f.note = 1
    assert f.note == 1
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


@kiln.jit(compiler=type("C", (), {"identity": "c", "compile": lambda self, t, r: t, "link": lambda self, a, d: print})(), cache=kiln.Cache(""))
def at_module_level():
    return "t"


def test_counters_of_a_cache(jit, cache):
    @jit
    def f():
        return "t"

    f(), f()
    counters = cache.counters()
    assert counters["compiles"] == 1 and counters["traces"] == 1 and cache.folder == ""


def test_version_is_that_of_the_library():
    assert kiln.__version__.count(".") == 2
