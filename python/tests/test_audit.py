"""audit(): what was read that discovery did not find."""

import os
import sys

import pytest

import kiln

KNOWN = 2


def test_names_that_are_computed(jit, module):
    other = module("audited_module", "SECRET = 5\nOPEN = 1")

    @jit
    def f(x):
        return f"{KNOWN} {other.OPEN} {getattr(other, ''.join(['SEC', 'RET']))} {x}"

    f(1)
    reads = kiln.audit(f, 1)
    assert ("attribute", "audited_module", "SECRET") in reads
    assert not any(read.name in ("KNOWN", "OPEN") for read in reads)
    assert kiln.audit(f) == reads, "with the arguments of the last miss"
    assert type(other) is type(sys) and not isinstance(os.environ, kiln.Error)


def test_namespaces_and_the_environment(jit, module):
    other = module("audited_other", "SECRET = 5")

    @jit(env=("KILN_TEST_DECLARED",))
    def f():
        return f"{vars(other)[''.join(['SEC', 'RET'])]} {os.environ.get('KILN_TEST_SEEN')} {os.environ.get('KILN_TEST_DECLARED')}"

    reads = kiln.audit(f)
    assert ("namespace", "audited_other", "__dict__") in reads and ("environment", "os.environ", "KILN_TEST_SEEN") in reads
    assert not any(read.name == "KILN_TEST_DECLARED" for read in reads)


def test_files(jit, tmp_path):
    path = tmp_path / "data"
    path.write_text("x")

    @jit
    def f():
        return open(str(path)).read()

    assert ("file", "open()", str(path)) in kiln.audit(f)


def test_a_function_that_hides_nothing(jit):
    @jit
    def f(x):
        return f"{KNOWN} {len('x')} {os.path.join('a', 'b')} {x}"

    assert kiln.audit(f, 1) == []


def test_exec_reads_globals(jit):
    space = {"__name__": __name__}

    @jit
    def f():
        exec("value = KNOWN", globals(), space)
        return "t"

    assert kiln.audit(f) == [] or all(read.module for read in kiln.audit(f))


def test_what_the_function_raises_arrives(jit):
    @jit
    def f():
        raise KeyError("x")

    with pytest.raises(KeyError):
        kiln.audit(f)
    assert type(os.environ).__name__ == "_Environ"
