"""drift="raise": it names variable, module, old and new value, and goes on raising; drift="follow" is in test_discovery.py."""

import pytest

import kiln

N, LIST = 1, [1]


@pytest.fixture(autouse=True)
def restore():
    yield
    globals().update(N=1, LIST=[1])


def test_it_names_the_variable_and_goes_on_raising(jit):
    @jit(drift="raise")
    def f(x):
        return f"{N} {x}"

    assert f(0) == "1 0"
    globals()["N"] = 2
    for _ in range(3):
        with pytest.raises(kiln.DriftError, match=rf"f: N \(module {__name__}\) was 1, is 2"):
            f(0)
    with pytest.raises(kiln.DriftError):
        f(1)
    globals()["N"] = 1
    assert f(0) == "1 0" and f(1) == "1 1" and f.cache_info().lowers == 2


def test_it_can_be_cleared(jit):
    @jit(drift="raise")
    def f():
        return f"{N}"

    f()
    globals()["N"] = 2
    with pytest.raises(kiln.DriftError):
        f()
    f.cache_clear()
    assert f() == "2"
    globals()["N"] = 1
    with pytest.raises(kiln.DriftError, match="was 2, is 1"):
        f()


def test_a_value_that_changes_in_place(jit):
    @jit(drift="raise")
    def f():
        return f"{LIST}"

    f()
    LIST.append(2)
    with pytest.raises(kiln.DriftError, match=r"LIST .* was \[1\], is \[1, 2\]"):
        f()


def test_a_variable_that_goes_and_a_helper_that_is_replaced(jit):
    globals()["helper"] = lambda: N

    @jit(drift="raise")
    def f():
        return f"{helper()}"  # noqa: F821

    f()
    original = helper  # noqa: F821
    globals()["helper"] = lambda: N + 1
    with pytest.raises(kiln.DriftError, match="was function .*, is function|code of"):
        f()
    del globals()["helper"]
    with pytest.raises(kiln.DriftError, match="is absent"):
        f()
    globals()["helper"] = original
    assert f() == "1"
    del globals()["helper"]


def test_other_arguments_and_the_environment_are_no_drift(jit, monkeypatch):
    @jit(drift="raise", env=("KILN_TEST_V",))
    def f(x):
        return f"{x} {kiln.env('KILN_TEST_V')}"

    f(1), f(2)
    monkeypatch.setenv("KILN_TEST_V", "a")
    assert f(1) == "1 a"


def test_the_first_value_counts_also_after_a_failure(jit, compiler):
    @jit(drift="raise")
    def f(x):
        return f"{N}"

    compiler.compile = lambda text, request: 1 / 0
    with pytest.raises(ZeroDivisionError):
        f(0)
    globals()["N"] = 2
    with pytest.raises(kiln.DriftError):
        f(0)


@pytest.mark.parametrize("drift, error", [("never", ValueError), (1, TypeError), (None, TypeError)])
def test_bad_modes(jit, drift, error):
    with pytest.raises(error, match="drift"):
        jit(drift=drift)
