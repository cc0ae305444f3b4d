"""Random arguments to every function: exceptions, never a crash."""

import random
import types

import numpy as np
import pytest

import kiln


class Hostile:
    """Each of its methods does what it should not."""

    def __init__(self, seed):
        self.seed = seed

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__", "seed"):
            return object.__getattribute__(self, name)
        raise (ValueError, AttributeError, TypeError, KeyError)[object.__getattribute__(self, "seed") % 4](name)

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no")


class Shrinking:
    def __init__(self, owner):
        self.owner = owner

    def __cache_signature__(self):
        self.owner.clear()
        return 1


def value(rng, depth=0):
    makers = [lambda: None, lambda: rng.choice([True, False]), lambda: rng.randrange(-1 << 80, 1 << 80), lambda: rng.random(), lambda: "x" * rng.randrange(40),
              lambda: bytes(rng.randrange(40)), lambda: 1j, lambda: np.zeros([rng.randrange(3) for _ in range(rng.randrange(5))], rng.choice(["f4", "i1", "U2", "O", "M8[s]"])),
              lambda: np.float32(1), lambda: np.dtype("i2"), lambda: int, lambda: len, lambda: (lambda: 1), lambda: Hostile(rng.randrange(4)), lambda: types,
              lambda: object(), lambda: range(3), lambda: slice(1), lambda: iter([]), lambda: memoryview(b"x"), lambda: Ellipsis, lambda: "\ud800", lambda: types.SimpleNamespace(a=1),
              lambda: kiln.Stream(1), lambda: kiln.Dynamic[int], lambda: kiln.llvm, lambda: kiln.Cache(""), lambda: float("nan"), lambda: (lambda: 1).__code__,
              lambda: property(), lambda: staticmethod(len), lambda: super, lambda: np, lambda: kiln.Tensor(), lambda: Exception("x")]
    if depth < 3:
        inner = lambda: value(rng, depth + 1)  # noqa: E731
        makers += [lambda: [inner() for _ in range(rng.randrange(4))], lambda: tuple(inner() for _ in range(rng.randrange(4))),
                   lambda: {rng.randrange(9): inner() for _ in range(rng.randrange(4))}, lambda: {"a", 1}, lambda: frozenset((1, "b")), shrinking_list, shrinking_dict]
    return rng.choice(makers)()


def shrinking_list():
    made = [1, 2, 3]
    made[0] = Shrinking(made)
    return made


def shrinking_dict():
    made = {1: 2, 3: 4}
    made[1] = Shrinking(made)
    return made


@pytest.mark.parametrize("seed", range(20))
def test_random_arguments(jit, seed):
    rng = random.Random(seed)

    @jit
    def f(*args, **kwargs):
        return "t"

    f(1)
    targets = [f, f.key, f.__call__, kiln.jit, kiln.Cache, kiln.env, kiln.Dynamic, kiln.Stream, kiln.Tensor, kiln.why, kiln.audit, kiln.Function, f.cache_info, f.cache_clear,
               lambda *args, **kwargs: kiln.jit(**kwargs)(*args), lambda *args, **kwargs: kiln.device(*args).__enter__(), kiln.options, kiln._core.holders_of, kiln._core.type_lookup,
               kiln._core.kind_name, kiln._core.Function, f.__get__, f.__set_name__, kiln._core.push_option]
    store = kiln.Cache("")
    targets += [lambda *args, **kwargs: store.get(*args, wait=0, **kwargs), store.find, store.put, store.get(b"k").put, lambda *args: store.get(b"k", wait=0).__exit__(*args)]
    targets += [lambda *args, **kwargs: jit(eval("lambda: str(V)", {"V": args}))()]
    names = ["compiler", "drift", "device", "cache", "env", "packages", "ignore", "signature", "a", "dims", "folder", "key", "value", "name", "about", "deadline"]
    for _ in range(300):
        target = rng.choice(targets)
        args = [value(rng) for _ in range(rng.randrange(5))]
        kwargs = {rng.choice(names): value(rng) for _ in range(rng.randrange(3))}
        try:
            target(*args, **kwargs)
        except RecursionError:
            raise
        except Exception:
            pass
    kiln._core.set_device(None)
    while True:
        try:
            kiln._core.pop_option()
        except RuntimeError:
            break
    assert f(1) is not None


@pytest.mark.parametrize("seed", range(5))
def test_equal_words_are_equal_texts(jit, seed):
    """What is printed of a key tells keys apart that differ, so that kiln_get, which has the text, is right."""
    rng = random.Random(1000 + seed)

    @jit
    def f(value):
        return "t"

    keys = {}
    for _ in range(400):
        argument = value(rng)
        try:
            key = f.key(argument)
        except Exception:
            continue
        lowers = f.cache_info().lowers
        try:
            f(argument)
        except Exception:
            continue
        is_new = f.cache_info().lowers != lowers
        assert not (is_new and key in keys and keys[key] is True), key
        keys[key] = True
