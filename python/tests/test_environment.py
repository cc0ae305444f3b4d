"""The environment, the compiler's identity and versions of packages: live, and in the key."""

import ctypes
import os
import sys

import pytest

import kiln

NAME = "KILN_TEST_VARIABLE"


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(NAME, raising=False)


def test_a_declared_variable(jit, monkeypatch):
    @jit(env=(NAME,))
    def f():
        return f"{os.environ.get(NAME)}"

    assert [f(), f()] == ["None", "None"]
    monkeypatch.setenv(NAME, "a")
    assert [f(), f()] == ["a", "a"]
    monkeypatch.setenv(NAME, "")
    assert f() == "", "unset and empty differ"
    monkeypatch.delenv(NAME)
    assert f() == "None" and f.cache_info()[2:4] == (3, 3)


def test_a_variable_that_is_seen(jit, monkeypatch):
    def helper():
        return kiln.env(NAME)

    @jit
    def f(x):
        return f"{x} {helper()}"

    assert f(1) == "1 None" and f(1) == "1 None" and f.cache_info().lowers == 1
    monkeypatch.setenv(NAME, "a")
    assert f(1) == "1 a" and f(2) == "2 a"
    monkeypatch.delenv(NAME)
    assert f(1) == "1 None" and f.cache_info().lowers == 3
    assert f"environment {NAME} = unset" in f.key(1)


def test_a_variable_that_compile_asks_for(jit, compiler, monkeypatch):
    compiler.compile = lambda text, request: f"artifact of {request.env(NAME)}".encode()
    f = jit(lambda: "t", env=(NAME,))
    assert f() == "None"
    monkeypatch.setenv(NAME, "a")
    assert f() == "a", "the artifact of one value is not given for another"
    monkeypatch.delenv(NAME)
    assert f() == "None" and f.cache_info().compiles == 2


@pytest.mark.parametrize("where", ["compile", "link"])
def test_env_is_for_lowering(jit, compiler, where):
    setattr(compiler, where, lambda *args: kiln.env(NAME))
    with pytest.raises(kiln.Error, match=r"request.env\('KILN_TEST_VARIABLE'\)"):
        jit(lambda: "t")()
    assert kiln.env(NAME) is None


def test_a_variable_that_one_branch_reads(jit, monkeypatch):
    @jit
    def f(n):
        return f"{n} {kiln.env(NAME) if n > 8 else ''}"

    f(4), f(16)
    monkeypatch.setenv(NAME, "a")
    assert f(4) == "4 " and f(16) == "16 a"


def test_other_variables_cost_nothing(jit, monkeypatch):
    @jit(env=(NAME,))
    def f():
        return "t"

    f()
    for i in range(50):
        monkeypatch.setenv(f"KILN_TEST_OTHER_{i}", "x")
        f()
    assert f.cache_info()[:3] == (51, 50, 1)


def test_c_code_that_sets_a_variable(jit):
    libc = ctypes.CDLL(None)

    @jit
    def f():
        return f"{kiln.env(NAME)}"

    assert f() == "None"
    libc.setenv(NAME.encode(), b"from C", 1)
    try:
        assert f() == "from C"
    finally:
        libc.unsetenv(NAME.encode())
    assert f() == "None" and f.cache_info().lowers == 2


def test_a_buffer_that_is_edited_in_place(jit):
    libc = ctypes.CDLL(None)
    buffer = ctypes.create_string_buffer(NAME.encode() + b"=one")
    libc.putenv(buffer)
    try:
        @jit
        def f():
            return f"{kiln.env(NAME)}"

        assert f() == "one"
        buffer.value = NAME.encode() + b"=two"
        assert f() == "two"
    finally:
        libc.unsetenv(NAME.encode())


def test_a_variable_that_changes_while_it_is_lowered(jit, monkeypatch):
    changes = ["b"]

    @jit(ignore=("changes",))
    def f():
        text = f"{kiln.env(NAME)}"
        if changes:
            os.environ[NAME] = changes.pop()
        return text

    monkeypatch.setenv(NAME, "a")
    assert f() == "b" and f.cache_info().lowers == 2


@pytest.mark.parametrize("name, error", [("", ValueError), ("a=b", ValueError), ("a\0b", ValueError), (3, TypeError), (None, TypeError)])
def test_bad_names(jit, name, error):
    with pytest.raises(error):
        kiln.env(name)
    with pytest.raises(error):
        jit(env=(name,))(lambda: "t")


def test_identity_of_the_compiler_is_live(jit, compiler):
    @jit
    def f():
        return "t"

    f(), f()
    compiler.identity = "plain 2"
    f(), f()
    assert f.cache_info()[:4] == (4, 2, 2, 2), "another compiler compiles the same text again"
    compiler.identity = "plain 1"
    f()
    assert f.cache_info()[2:4] == (2, 2)
    compiler.identity = 3
    with pytest.raises(TypeError, match="compiler: its identity"):
        f()


def test_versions_of_packages(jit, module):
    package = module("some_package", "__version__ = '1.0'")

    @jit(packages=("some_package", "no_such_package"))
    def f():
        return "t"

    f(), f()
    package.__version__ = "2.0"
    f(), f()
    assert f.cache_info()[:4] == (4, 2, 2, 2)
    package.__version__ = "1.0"
    f()
    assert f.cache_info().compiles == 2 and "some_package" in f.key()


def test_versions_across_processes(run_program, tmp_path):
    program = """
        import kiln
        class C:
            identity = "c"
            def compile(self, text, request): return text
            def link(self, artifact, device): return lambda: 1
        import some_package
        @kiln.jit(compiler=C(), packages=("some_package",))
        def f(): return "t"
        f()
        print(f.cache_info().compiles)
    """
    package = tmp_path / "some_package.py"
    package.write_text("__version__ = '1'")
    assert [run_program(program), run_program(program)] == [["1"], ["0"]]
    package.write_text("__version__ = '12'")
    assert run_program(program) == ["1"]
    package.write_text("__version__ = '1'")
    assert run_program(program) == ["0"]


def test_log_goes_to_logging(run_program):
    program = """
        import logging, sys, kiln
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
        class C:
            identity = "c"
            def compile(self, text, request): return text
            def link(self, artifact, device): return lambda: 1
        kiln.jit(compiler=C(), cache=kiln.Cache(""))(lambda: "t")()
    """
    done = run_program(program, env={"KILN_LOG": "miss"}, check=False)
    assert done.returncode == 0 and "kiln: " in done.stderr + done.stdout and "<lambda>" in done.stderr + done.stdout
    assert sys.version_info >= (3, 10)
