"""Methods: discovery, baseline and drift belong to the class they are called on."""

import gc
import weakref

import pytest

import kiln

A, B = 1, 10
COMPILER = type("C", (), {"identity": "c", "compile": lambda self, t, r: t, "link": lambda self, a, d: lambda *args: a.decode()})()


def make(**options):
    class Base:
        @kiln.jit(compiler=COMPILER, cache=kiln.Cache(""), **options)
        def run(self, x):
            return f"{self.helper()} {x}"

        def helper(self):
            return A

    class Sub(Base):
        def helper(self):
            return A + B

    return Base, Sub


@pytest.fixture(autouse=True)
def restore():
    yield
    globals().update(A=1, B=10)


def test_what_a_subclass_reads_is_in_its_key_alone():
    Base, Sub = make()
    f = Base.run
    assert Base().run(0) == "1 0" and Sub().run(0) == "11 0"
    globals()["B"] = 20
    lowers = f.cache_info().lowers
    assert Base().run(0) == "1 0" and f.cache_info().lowers == lowers, "Base is untouched"
    assert Sub().run(0) == "21 0" and f.cache_info().lowers == lowers + 1, "the change of Sub's own global is seen"
    assert "B (module" not in f.key(Base(), 0) and "B (module" in f.key(Sub(), 0)


def test_the_subclass_first():
    Base, Sub = make()
    assert Sub().run(0) == "11 0" and Base().run(0) == "1 0"
    globals()["B"] = 20
    assert Sub().run(0) == "21 0" and Base().run(0) == "1 0"


def test_drift_has_a_baseline_per_owner():
    Base, Sub = make(drift="raise")
    base, sub = Base(), Sub()
    assert base.run(0) == "1 0"
    globals()["B"] = 20
    assert sub.run(0) == "21 0", "Sub's baseline is of its own first call"
    globals()["B"] = 30
    assert base.run(0) == "1 0"
    with pytest.raises(kiln.DriftError, match=r"B \(module .*test_owner\) was 20, is 30"):
        sub.run(0)
    globals()["B"] = 20
    assert sub.run(0) == "21 0"
    globals()["A"] = 5
    for object_ in (base, sub):
        with pytest.raises(kiln.DriftError, match="A .*was 1, is 5"):
            object_.run(0)


def test_a_subclass_that_gets_a_method_later():
    Base, Sub = make()
    sub = Sub()
    del Sub.helper
    assert sub.run(0) == "1 0"
    Sub.helper = lambda self: B
    assert sub.run(0) == "10 0"
    globals()["B"] = 20
    assert sub.run(0) == "20 0"


def test_super():
    class Base:
        @kiln.jit(compiler=COMPILER, cache=kiln.Cache(""))
        def run(self):
            return f"{self.helper()}"

        def helper(self):
            return B

    class Sub(Base):
        def helper(self):
            return super().helper() + 1

    assert Sub().run() == "11"
    globals()["B"] = 20
    assert Sub().run() == "21"


def test_state_of_self():
    Base, Sub = make()

    class Other(Base):
        def helper(self):
            return self.width

    object_ = Other()
    object_.width = 1
    assert object_.run(0) == "1 0"
    object_.width = 2
    assert object_.run(0) == "2 0"
    object_.width = 1
    assert object_.run(0) == "1 0" and Base.run.cache_info().lowers == 2


def test_class_methods_and_static_methods():
    class Base:
        width = 1

        @classmethod
        @kiln.jit(compiler=COMPILER, cache=kiln.Cache(""))
        def made(cls):
            return f"{cls.width}"

        @staticmethod
        @kiln.jit(compiler=COMPILER, cache=kiln.Cache(""))
        def plain(n):
            return f"{n} {A}"

    class Sub(Base):
        width = 2

    assert Base.made() == "1" and Sub.made() == "2" and Base.plain(3) == "3 1"
    Sub.width = 3
    assert Base.made() == "1" and Sub.made() == "3"


def test_functions_that_are_passed():
    @kiln.jit(compiler=COMPILER, cache=kiln.Cache(""))
    def f(g, x):
        return f"{g(x)}"

    def one(x):
        return x + A

    assert f(one, 1) == "2" and f(lambda x: x * B, 1) == "10"
    globals()["A"] = 5
    assert f(one, 1) == "6"
    for _ in range(300):
        assert f(lambda x: x * 2, 1) == "2"
    assert f.cache_info()[2:4] == (4, 3), "a new function of the same code, which reads the same, has the same key"


def test_classes_go_with_what_was_made_for_them():
    Base, _ = make()
    base = Base()
    base.run(0)

    def use():
        class Temporary(Base):
            def helper(self):
                return super().helper() + B
        Temporary().run(0)
        return weakref.ref(Temporary)

    gone = [use() for _ in range(5)]
    gc.collect()
    assert [ref() for ref in gone] == [None] * 5
    assert base.run(0) == "1 0"
