"""Compilers and programs that tests share."""

import os
import subprocess
import sys
import textwrap

import pytest

import kiln


class Plain:
    """A compiler that keeps the text, and links a callable that returns it with what it was called with."""

    def __init__(self, identity="plain 1"):
        self.identity = identity
        self.texts, self.devices = [], []

    def compile(self, text, request):
        self.texts.append(text)
        return b"artifact of " + text

    def link(self, artifact, device):
        self.devices.append(device)
        return lambda *args, **kwargs: artifact.decode(errors="replace").removeprefix("artifact of ")


@pytest.fixture
def compiler():
    return Plain()


@pytest.fixture
def cache():
    return kiln.Cache("")


@pytest.fixture
def jit(compiler, cache):
    """kiln.jit with this test's compiler and a cache in memory."""
    def decorate(*args, **options):
        options = {"compiler": compiler, "cache": cache, **options}
        return kiln.jit(*args, **options)
    return decorate


@pytest.fixture
def run_program(tmp_path):
    """Runs a program in a process of its own; its lines."""
    def run(text, *, env=None, folder="cache", name="program.py", check=True, timeout=60):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        environment = {**os.environ, "KILN_CACHE_DIR": str(tmp_path / folder), **(env or {})}
        done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=timeout, cwd=tmp_path)
        if check:
            assert done.returncode == 0, done.stderr
            return done.stdout.split("\n")[:-1]
        return done
    return run


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes and imports a module of the program."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def make(name, text):
        path = tmp_path / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        sys.modules.pop(name, None)
        made.append(name)
        import importlib
        importlib.invalidate_caches()
        return importlib.import_module(name)
    yield make
    for name in made:
        sys.modules.pop(name, None)
