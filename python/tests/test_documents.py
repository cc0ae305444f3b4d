"""Documents and docstrings say what happens: their examples are run."""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys

import pytest

import kiln

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def blocks(path, language):
    with open(os.path.join(ROOT, path), encoding="utf-8") as page:
        return re.findall(rf"^```{language}\n(.*?)^```$", page.read(), re.M | re.S)


def run(path, folder, *args):
    environment = {**os.environ, "KILN_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, str(path), *args], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_language(tmp_path):
    program, = blocks("docs/python/language.md", "python")
    assert program.count("\n") <= 120
    path = tmp_path / "language.py"
    path.write_text(program)
    first, second = blocks("docs/python/language.md", "text")
    assert run(path, tmp_path / "cache") == first
    assert run(path, tmp_path / "cache") == second


def test_language_with_torch(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "language.py"
    path.write_text(blocks("docs/python/language.md", "python")[0])
    assert "torch [ 1.  6. 11. 16.]" in run(path, tmp_path / "cache", "torch")


def test_keys(tmp_path):
    """The blocks of the page are one program."""
    path = tmp_path / "keys.py"
    path.write_text("\n\n".join(blocks("docs/python/keys.md", "python")))
    run(path, tmp_path / "cache")


def test_readme(tmp_path):
    path = tmp_path / "readme.py"
    kernel, tuning = blocks("python/README.md", "python")
    path.write_text(kernel + tuning)
    assert run(path, tmp_path / "cache") == "[1. 1. 1.] 1\n[64, 32]\n"
    assert run(path, tmp_path / "cache") == "[1. 1. 1.] 0\n[64, 32]\n"


@pytest.mark.parametrize("host", ["triton", "jax"])
def test_caches(tmp_path, host):
    pytest.importorskip(host)
    path = tmp_path / "caches.py"
    path.write_text(next(block for block in blocks("docs/python/caches.md", "python") if f"import {host}" in block))
    assert [run(path, tmp_path / "cache") for _ in range(2)] == [text for text in blocks("docs/python/caches.md", "text") if text.startswith(host)]


def test_docstrings():
    count = 0
    for found in pkgutil.iter_modules(kiln.__path__):
        is_here = found.name not in ("triton", "jax") or importlib.util.find_spec(found.name)
        if found.name != "__main__" and is_here:
            module = importlib.import_module("kiln." + found.name)
            result = doctest.testmod(module)
            assert not result.failed
            count += result.attempted
    for value in (kiln._core.Cache, kiln._core.Ticket, kiln._core.env):
        for test in doctest.DocTestFinder().find(value, "kiln", globs={"Cache": kiln.Cache, "env": kiln.env}):
            result = doctest.DocTestRunner().run(test)
            assert not result.failed
            count += result.attempted
    assert count >= 8


def test_every_public_name_is_documented():
    for name in kiln.__all__:
        assert name == "llvm" or getattr(kiln, name).__doc__, name


def test_stubs_have_every_name():
    with open(os.path.join(os.path.dirname(kiln.__file__), "__init__.pyi"), encoding="utf-8") as stubs:
        told = stubs.read()
    for name in kiln.__all__:
        assert re.search(rf"^(class|def) {name}\b|^{name}: ", told, re.M), name
    compile(told, "__init__.pyi", "exec")
    for type_ in (kiln.Function, kiln.Cache, kiln.Ticket):
        for name in [name for name in dir(type_) if not name.startswith("_")]:
            assert f"def {name}(" in told or f"{name}: " in told, name
