"""Threads: the GIL is free while compilers run and threads wait; two threads, one compile."""

import threading
import time

import pytest

import kiln


def run_all(*functions):
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads) and not errors, errors


def test_two_threads_one_compile(jit, compiler):
    started, go = threading.Event(), threading.Event()
    results = []

    def compile(text, request):
        started.set()
        assert go.wait(30)
        return b"artifact of " + text

    compiler.compile = compile

    @jit
    def f(x):
        return "t"

    threads = [threading.Thread(target=lambda: results.append(f(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert started.wait(30)
    time.sleep(0.05)
    go.set()
    for thread in threads:
        thread.join(30)
    assert results == ["t"] * 8 and f.cache_info()[:4] == (8, 7, 1, 1)


def test_a_slow_compile_does_not_delay_others(jit, compiler):
    started, go = threading.Event(), threading.Event()

    def compile(text, request):
        if text == b"slow":
            started.set()
            assert go.wait(30)
        return b"artifact of " + text

    compiler.compile = compile

    @jit
    def f(x):
        return x

    thread = threading.Thread(target=f, args=("slow",))
    thread.start()
    assert started.wait(30)
    assert f("fast") == "fast" and f("fast") == "fast"
    go.set()
    thread.join(30)
    assert f("slow") == "slow" and f.cache_info().lowers == 2


def test_failures_reach_all_who_wait_and_are_forgotten(jit, compiler):
    started, go = threading.Event(), threading.Event()
    errors = []
    good = compiler.compile

    def compile(text, request):
        started.set()
        assert go.wait(30)
        raise ValueError("no such instruction")

    compiler.compile = compile

    @jit
    def f():
        return "t"

    def call():
        try:
            f()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(30)
    time.sleep(0.05)
    go.set()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 4 and all("no such instruction" in str(error) for error in errors)
    assert any(isinstance(error, ValueError) for error in errors)
    assert all(isinstance(error, (ValueError, kiln.Error)) for error in errors)
    compiler.compile = good
    assert f() == "t"


def test_many_threads_and_many_keys(jit):
    @jit
    def f(x):
        return f"{x}"

    def work():
        for i in range(400):
            assert f(i % 50) == str(i % 50)

    run_all(*[work] * 8)
    assert f.cache_info()[0] == 3200 and f.cache_info()[2:4] == (50, 50)


def test_a_global_that_changes_meanwhile(jit):
    space = {"N": 0, "__name__": "some_module"}
    exec("def f():\n    return str(N)", space)
    f = jit(space["f"])
    stop = threading.Event()
    seen = set()

    def work():
        while not stop.is_set():
            before = space["N"]
            try:
                told = int(f())
            except kiln.DriftError:
                continue
            assert before <= told <= space["N"]
            seen.add(told)

    def change():
        for n in range(200):
            space["N"] = n
            time.sleep(0.0002)
        stop.set()

    run_all(work, work, change)
    assert f() == "199"


def test_options_are_of_a_thread(jit):
    @jit
    def f():
        return "t"

    f()
    with kiln.options(a="1"):
        run_all(f)
        assert f.cache_info().lowers == 1
        f()
    assert f.cache_info().lowers == 2


def test_lowering_calls_other_functions(jit):
    @jit
    def g(n):
        return f"g{n}"

    @jit
    def f(n):
        return f"{g(n)} {f(n - 1) if n else ''}"

    assert f(2) == "g2 g1 g0 "


def test_functions_that_are_freed_while_others_run(jit):
    def work():
        for i in range(30):
            f = jit(eval("lambda x: f'{x}'"))
            assert f(i) == str(i) and f(i) == str(i)
            del f

    run_all(*[work] * 4)


@pytest.mark.parametrize("count", [1, 4])
def test_threads_that_end_inside_of_callbacks(jit, count):
    @jit
    def f(x):
        raise SystemExit(3)

    def call():
        with pytest.raises((SystemExit, kiln.LowerError)):
            f(1)

    run_all(*[call] * count)
