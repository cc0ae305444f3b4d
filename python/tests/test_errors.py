"""Callbacks that raise, and bad input at every function."""

import traceback

import pytest

import kiln


class Broken(Exception):
    pass


def fail(*_):
    raise Broken("on purpose")


@pytest.mark.parametrize("where", ["lower", "compile", "link"])
def test_an_exception_arrives_and_nothing_is_stored(jit, compiler, where):
    good = {"lower": None, "compile": compiler.compile, "link": compiler.link}
    is_bad = {"now": True}

    @jit(ignore=("is_bad",))
    def f(x):
        if where == "lower" and is_bad["now"]:
            fail()
        return "t"

    if where != "lower":
        setattr(compiler, where, fail)
    for _ in range(3):
        with pytest.raises(Broken, match="on purpose") as caught:
            f(1)
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[-1] == "fail"
    is_bad["now"] = False
    if where != "lower":
        setattr(compiler, where, good[where])
    assert f(1) == "t" and f(1) == "t"


@pytest.mark.parametrize("text", [None, 3, ["t"], bytearray(b"t"), object()])
def test_what_is_no_text(jit, text):
    f = jit(lambda: text, ignore=("text",))
    with pytest.raises(TypeError, match="kernel text is a str or bytes"):
        f()


@pytest.mark.parametrize("artifact", [None, "text", 3, bytearray(b"t")])
def test_what_is_no_artifact(jit, compiler, artifact):
    compiler.compile = lambda text, request: artifact
    with pytest.raises(TypeError, match="an artifact is bytes"):
        jit(lambda: "t")()


@pytest.mark.parametrize("linked", [None, 3, "text"])
def test_what_can_not_be_called(jit, compiler, linked):
    compiler.link = lambda artifact, device: linked
    with pytest.raises(TypeError, match="can't be called"):
        jit(lambda: "t")()


def test_empty_texts_and_artifacts(jit, compiler):
    compiler.compile = lambda text, request: b""
    compiler.link = lambda artifact, device: lambda: artifact
    assert jit(lambda: "")() == b""


def test_asking_for_what_is_not_in_the_key(jit, compiler):
    asked = []
    compiler.compile = lambda text, request: asked.append(request.env("KILN_TEST_UNDECLARED")) or b"t"
    f = jit(lambda: "t")
    f()
    assert asked == [None]


class WithoutCompile:
    identity = "x"


class BadIdentity:
    identity = 3

    def compile(self, text, request):
        return text


class EmptyIdentity(BadIdentity):
    identity = ""


class ZeroIdentity(BadIdentity):
    identity = "a\0b"


class BadLink(BadIdentity):
    identity = "x"
    link = 3


@pytest.mark.parametrize("options, error, text", [
    ({"compiler": None}, TypeError, "compiler"), ({"compiler": 3}, TypeError, "compiler"), ({"compiler": len}, TypeError, "compiler"),
    ({"compiler": WithoutCompile()}, TypeError, "compiler"), ({"compiler": BadIdentity()}, TypeError, "compiler"),
    ({"compiler": EmptyIdentity()}, ValueError, "compiler"), ({"compiler": BadLink()}, TypeError, "link"), ({"compiler": ZeroIdentity()}, ValueError, "compiler"),
    ({"cache": "folder"}, TypeError, "cache"), ({"cache": 3}, TypeError, "cache"), ({"device": 3}, TypeError, "device"),
    ({"device": "no such device"}, ValueError, "device"), ({"device": "cpu\0"}, ValueError, "device"), ({"env": "NAME"}, TypeError, "env"), ({"env": 3}, TypeError, "env"), ({"env": (3,)}, TypeError, "env"),
    ({"env": ("",)}, ValueError, "env"), ({"packages": "numpy"}, TypeError, "packages"), ({"packages": (None,)}, TypeError, "packages"),
    ({"ignore": "x"}, TypeError, "ignore"), ({"ignore": ("",)}, ValueError, "ignore"), ({"signature": "void(float *)"}, ValueError, "signature"),
    ({"signature": 3}, TypeError, "signature"), ({"no_such_option": 1}, TypeError, "no_such_option"),
])
def test_bad_options(jit, options, error, text):
    with pytest.raises(error, match=text):
        jit(**options)(lambda: "t")


async def coroutine():
    return "t"


def generator():
    yield "t"


@pytest.mark.parametrize("f", [3, "f", len, int, print, object(), staticmethod(fail), classmethod(fail), coroutine, generator])
def test_what_is_no_function(jit, f):
    with pytest.raises(TypeError, match="^f: "):
        jit(f)


@pytest.mark.parametrize("args, kwargs, error", [
    ((3,), {}, TypeError), ((), {"folder": 3}, TypeError), ((), {"max_bytes": -1}, ValueError), ((), {"max_files": -1}, ValueError), ((), {"max_bytes": "1"}, TypeError),
    ((), {"read_only": "folder"}, TypeError), ((), {"read_only": 3}, TypeError), ((), {"read_only": (3,)}, TypeError), (("a\0b",), {}, ValueError),
    ((), {"no": 1}, TypeError), (("", ""), {}, TypeError),
])
def test_bad_caches(args, kwargs, error):
    with pytest.raises(error):
        kiln.Cache(*args, **kwargs)


def test_folders_that_can_not_be_used(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = kiln.Cache(tmp_path / "file")
    f = kiln.jit(compiler=type("C", (), {"identity": "c", "compile": lambda s, t, r: t, "link": lambda s, a, d: lambda: 1})(), cache=cache)(lambda: "t")
    assert f() == 1 and cache.counters()["cache_faults"] > 0


@pytest.mark.parametrize("call, error", [
    (lambda: kiln.why(3), TypeError), (lambda: kiln.audit(3), TypeError), (lambda: kiln.why(len), TypeError), (lambda: kiln.jit(), TypeError),
    (lambda: kiln.options(a=3).__enter__(), TypeError), (lambda: kiln.device(3).__enter__(), TypeError), (lambda: kiln.device("no").__enter__(), ValueError),
    (lambda: kiln.Function(), TypeError), (lambda: kiln.Function(1, 2, 3), TypeError), (lambda: kiln.Request(), TypeError), (lambda: kiln._core.Kernel(), TypeError),
    (lambda: kiln._core.Owner(), TypeError), (lambda: kiln._core.pop_option(), RuntimeError), (lambda: kiln._core.push_option("", "x"), ValueError),
    (lambda: kiln._core.type_lookup(3, "a", None), TypeError), (lambda: kiln._core.type_lookup(int, 3, None), TypeError), (lambda: kiln._core.kind_name("a"), TypeError),
    (lambda: kiln._core.kind_name(-1), OverflowError),
])
def test_bad_input(call, error):
    with pytest.raises(error):
        call()
