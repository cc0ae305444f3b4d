"""Garbage: what is freed goes at once; no cycle is kept; counts of references are right."""

import gc
import sys
import weakref

import numpy as np
import pytest

import kiln


class Callable:
    def __init__(self):
        self.function = None

    def __call__(self, *args):
        return None


def test_a_freed_function_takes_its_entries_along(jit, compiler, cache):
    made = []
    compiler.link = lambda artifact, device: made.append(Callable()) or made[-1]

    @jit
    def f(x):
        return f"{x}"

    for i in range(5):
        f(i)
    alive = [weakref.ref(callable_) for callable_ in made]
    made.clear()
    assert all(ref() is not None for ref in alive) and cache.counters()["linked_images"] == 5
    reference = weakref.ref(f)
    del f
    assert reference() is None and [ref() for ref in alive] == [None] * 5
    assert cache.counters()["linked_images"] == 0


def test_a_callable_that_refers_to_its_function(jit, compiler):
    made = Callable()
    compiler.link = lambda artifact, device: made

    def make():
        nonlocal made
        f = jit(eval("lambda x: 't'"))
        made.function = f
        f(1)
        reference = weakref.ref(made)
        made = None
        return weakref.ref(f), reference

    references = make()
    compiler.link = None
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_cycles_through_closures_and_compilers(cache):
    def make():
        class C:
            identity = "c"

            def compile(self, text, request):
                return text

            def link(self, artifact, device):
                return lambda *args: self

        compiler = C()

        @kiln.jit(compiler=compiler, cache=cache)
        def f(n):
            return f"{n} {f is None}"

        compiler.function = f
        f(1)
        return weakref.ref(f), weakref.ref(compiler)

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_classes_with_functions(cache, compiler):
    def make():
        class Layer:
            @kiln.jit(compiler=compiler, cache=cache)
            def run(self):
                return f"{self.helper()}"

            def helper(self):
                return 1

        Layer().run()
        return weakref.ref(Layer), weakref.ref(Layer.run)

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_arguments_are_not_kept(jit):
    @jit
    def f(x):
        return "t"

    x = np.zeros(4)
    reference, count = weakref.ref(x), sys.getrefcount(x)
    f(x), f(x), f.key(x), kiln.why(f)
    assert sys.getrefcount(x) == count
    del x
    assert reference() is None


def test_trimmed_results(jit, compiler):
    made = []
    compiler.link = lambda artifact, device: made.append(Callable()) or made[-1]

    @jit
    def f(x):
        return f"{x}"

    f(1)
    reference = weakref.ref(made.pop())
    f.cache_clear()
    assert reference() is None
    f(1)
    assert f.cache_info()[2:4] == (2, 1), "what was compiled is still there"


def test_a_cache_lives_as_long_as_its_functions(compiler):
    cache = kiln.Cache("")
    f = kiln.jit(compiler=compiler, cache=cache)(lambda: "t")
    reference = weakref.ref(cache)
    del cache
    assert f() == "t" and reference() is not None
    del f
    assert reference() is None
    for _ in range(200):
        kiln.Cache("")


def operations(jit):
    """Each is run many times; none may leave references behind."""
    value, text, array = 12345678901234567890123, "some text that is long enough", np.zeros((3, 4))
    bad = type("Bad", (), {"__cache_signature__": lambda self: 1 / 0})()
    opaque = object()
    space = {"N": 0, "L": [value, text], "__name__": "some_module"}
    exec("def f(a, b=None, *c, **d):\n    return f'{N} {L}'", space)
    f = jit(space["f"])

    def swallow(function, *args, **kwargs):
        try:
            function(*args, **kwargs)
        except Exception:
            pass

    def drift():
        space["N"] += 1
        f(1)

    return [lambda: f(value), lambda: f(text, b=array), lambda: f(array, value, text, q=text), lambda: f.key(value, [text, {text: array}], {value, text}),
            lambda: swallow(f, bad), lambda: swallow(f, opaque), lambda: swallow(f, [value, opaque]), lambda: f(swallow), drift, lambda: f.cache_info(),
            lambda: kiln.why(f), lambda: kiln.env("HOME"), lambda: swallow(jit, 3), lambda: swallow(kiln.Cache, 3), lambda: jit(eval("lambda: 't'"))(),
            lambda: swallow(jit(eval("lambda: 1 / 0"))), lambda: swallow(jit(eval("lambda: 3"))), lambda: kiln.audit(f, 1), f.cache_clear,
            lambda: f(frozenset((value, text))), lambda: f(np.float32(3)), lambda: f(np.dtype("int8")), lambda: f(np.dtype([("a", "i4")]))], (value, text, array, bad, opaque, space["L"])


@pytest.mark.parametrize("index", range(23))
def test_counts_of_references(jit, index):
    todo, watched = operations(jit)
    operation = todo[index]
    for _ in range(3):
        operation()
    gc.collect()
    before = [sys.getrefcount(item) for item in (*watched, None)]
    blocks = sys.getallocatedblocks()
    for _ in range(100):
        operation()
    gc.collect()
    after = [sys.getrefcount(item) for item in (*watched, None)]
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 5000  # None, whose count other things move
    assert sys.getallocatedblocks() - blocks < 4000
