"""Stale code, one scenario for each segment of the key. test_controls.py runs each, and again in a build that leaves the segment out, where
it must fail. As a program: python scenarios.py SEGMENT.
"""

import os
import sys

import kiln


class Plain:
    identity = "plain 1"

    def compile(self, text, request):
        return text

    def link(self, artifact, device):
        return lambda *args: artifact.decode()


def jit(**options):
    return kiln.jit(**{"compiler": Plain(), "cache": kiln.Cache(""), **options})


N, LIST, B = 1, [1], 10


def values():
    f = jit()(lambda x: f"{x}")
    assert [f(1), f(2)] == ["1", "2"]


def tensors():
    import numpy as np
    f = jit()(lambda x: f"{x.shape}")
    assert [f(np.zeros((2, 3))), f(np.zeros((3, 2)))] == ["(2, 3)", "(3, 2)"]


def watches():
    f = jit()(lambda: f"{N}")
    assert f() == "1"
    globals()["N"] = 2
    assert f() == "2"


def content():
    f = jit()(lambda: f"{LIST}")
    assert f() == "[1]"
    LIST.append(2)
    assert f() == "[1, 2]"


def module():
    one, two = ({"N": n, "__name__": name} for n, name in ((1, "one"), (10, "two")))
    exec("def get(): return N", one)
    exec("def get(): return N", two)
    get_one, get_two = one["get"], two["get"]
    f = jit()(lambda: f"{get_one() + get_two()}")
    assert f() == "11"
    two["N"] = 20
    assert f() == "21"


def environment():
    f = jit(env=("KILN_TEST_VARIABLE",))(lambda: f"{kiln.env('KILN_TEST_VARIABLE')}")
    assert f() == "None"
    os.environ["KILN_TEST_VARIABLE"] = "a"
    assert f() == "a"


def device():
    compiler = Plain()
    compiler.link = lambda artifact, device: lambda: device
    f = jit(compiler=compiler)(lambda: "t")
    here = f()
    with kiln.device("cpu:x86-64-v2"):
        assert f() == "cpu:x86-64-v2" != here


def options():
    compiler = Plain()
    compiler.compile = lambda text, request: str(request.option("unroll")).encode()
    f = jit(compiler=compiler)(lambda: "t")
    assert f() == "None"
    with kiln.options(unroll="4"):
        assert f() == "4"


def identity():
    compiler = Plain()
    compiler.compile = lambda text, request: compiler.identity.encode()
    f = jit(compiler=compiler)(lambda: "t")
    assert f() == "plain 1"
    compiler.identity = "plain 2"
    assert f() == "plain 2"


def packages():
    import types
    package = sys.modules["some_package"] = types.ModuleType("some_package")
    package.__version__ = "1"
    compiler = Plain()
    compiler.compile = lambda text, request: package.__version__.encode()
    f = jit(compiler=compiler, packages=("some_package",))(lambda: "t")
    assert f() == "1"
    package.__version__ = "2"
    assert f() == "2"


def owners():
    class Base:
        @jit()
        def run(self):
            return f"{self.helper()}"

        def helper(self):
            return N

    class Sub(Base):
        def helper(self):
            return N + B

    assert Base().run() == "1" and Sub().run() == "11"
    globals()["B"] = 20
    assert Base().run() == "1" and Sub().run() == "21"


def meanwhile():
    state, changes = {"n": 0}, [1]

    def lower():
        text = f"{state['n']}"
        if changes:
            state.update(n=changes.pop())
        return text

    assert jit(ignore=("changes",))(lower)() == "1"


ALL = {f.__name__: f for f in (values, tensors, watches, content, module, environment, device, options, identity, packages, owners, meanwhile)}


def know_places_by_name_alone():
    """What discovery would do if a variable were known without its module."""
    from kiln import _discover
    watch = _discover._Walk.watch
    known = set()

    def by_name(self, kind, container, key, name, where, more=None):
        if kind == _discover.GLOBAL and (key in known or known.add(key)):
            return
        watch(self, kind, container, key, name, where, more)

    _discover._Walk.watch = by_name


if __name__ == "__main__":
    if os.environ.get("KILN_LEAVE_OUT") == "module":
        know_places_by_name_alone()
    ALL[sys.argv[1]]()
