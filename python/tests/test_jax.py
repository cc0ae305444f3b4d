"""JAX's persistent cache over kiln.jax, with the real JAX on CPU."""

import os
import subprocess
import sys

import pytest

import kiln
import kiln.__main__

pytest.importorskip("jax")

PROGRAM = """
    import os, sys, threading, jax, jax.numpy as jnp, numpy as np, kiln, kiln.jax
    from jax._src import compiler
    compiled = []
    compile_ = compiler.backend_compile_and_load
    def note(backend, module, *args, **kwargs):
        compiled.append(module)
        return compile_(backend, module, *args, **kwargs)
    compiler.backend_compile_and_load = note
    cache = kiln.Cache()
    assert kiln.jax.use(cache) is True
    @jax.jit
    def f(x): return jnp.sin(x) @ x + jnp.linalg.norm(x)
    x = np.ones((4, 4), np.float32)
"""
BARRIER = """
    import glob, time  # all eight begin at once
    open(os.environ["READY"] + str(os.getpid()), "w").close()
    while len(glob.glob(os.environ["READY"] + "*")) < int(os.environ.get("COUNT", 1)): time.sleep(0.01)
"""
ONCE = PROGRAM + """
    print(len(compiled), f(x).sum(), len(compiled), cache.counters()["disk_hits"])
"""


def test_a_second_process_compiles_nothing(run_program, tmp_path):
    first, second = run_program(ONCE)[0].split(), run_program(ONCE)[0].split()
    assert int(first[2]) >= 1 and second[2] == "0" and first[1] == second[1] and int(second[3]) >= int(first[2])
    assert sorted(os.listdir(tmp_path)) == ["cache", "program.py"]


def test_eight_cold_processes_compile_each_key_once(run_program, tmp_path):
    alone = run_program(PROGRAM + BARRIER + ONCE.removeprefix(PROGRAM), env={"READY": str(tmp_path / "alone")}, folder="other")[0].split()[2]
    environment = {**os.environ, "READY": str(tmp_path / "ready"), "COUNT": "8", "KILN_CACHE_DIR": str(tmp_path / "cache")}
    running = [subprocess.Popen([sys.executable, str(tmp_path / "program.py")], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    lines = [process.communicate(timeout=120)[0].split() for process in running]
    assert sum(int(line[2]) for line in lines) == int(alone) and len({line[1] for line in lines}) == 1


def test_what_is_not_kept_makes_nobody_wait(run_program):
    """A compile that raises, one that JAX finds too quick to keep, one with a host callback: no ticket stays."""
    assert run_program(PROGRAM + """
    held = []
    get = kiln.jax._Entries.get
    def note_held(self, key):
        value = get(self, key)
        held.extend((getattr(kiln.jax._compiling, "entries", None) or {}).values())
        return value
    kiln.jax._Entries.get = note_held
    real = compiler.backend_compile_and_load
    def fail(*args, **kwargs): raise RuntimeError("on purpose")
    compiler.backend_compile_and_load = fail
    try: jax.jit(lambda x: x + 1)(x)
    except RuntimeError as error: print(error, len(held) > 0, any(entry.is_held for entry in held))
    compiler.backend_compile_and_load = real
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 100)
    held.clear()
    jax.jit(lambda x: x + 2)(x)
    print(len(held) > 0, any(entry.is_held for entry in held), cache.counters()["disk_hits"])
    held.clear()
    jax.jit(lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(x)
    print(len(held))
    """) == ["on purpose True False", "True False 0", "0"]


def test_damaged_entries_are_compiled_again(run_program):
    """What JAX can't read is a warning and a compile, as with its own folder; the next process finds what that put."""
    damaged = PROGRAM + """
    import warnings
    warnings.simplefilter("ignore")
    put = kiln.jax._Entries.put
    kiln.jax._Entries.put = lambda self, key, value: put(self, key, b"damaged" if DAMAGE else value)
    f(x)
    print(len(compiled) > 0)
    """
    assert run_program(damaged.replace("DAMAGE", "True")) == ["True"]
    assert run_program(damaged.replace("DAMAGE", "False")) == ["True"]
    assert run_program(damaged.replace("DAMAGE", "False")) == ["False"]


def test_another_processor_is_another_key(run_program):
    run_program(ONCE)
    other = ONCE.replace("cache = kiln.Cache()", "cache = kiln.Cache(); kiln.jax._processor = lambda: 'another'")
    assert int(run_program(other)[0].split()[2]) >= 1


def test_threads_and_use_twice(run_program):
    assert run_program(PROGRAM + """
    kiln.jax.use(cache)
    threads = [threading.Thread(target=f, args=(x,)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    before = len(compiled)
    jax.clear_caches()
    kiln.jax.use(cache)
    f(x)
    print(len(compiled) - before)
    try: kiln.jax.use("folder")
    except TypeError as error: print(error)
    """) == ["0", "cache: a kiln.Cache or None, not str"]


def test_entries_have_names(run_program, tmp_path):
    if kiln.__main__.command() is None:
        pytest.skip("the command was not built")
    run_program(ONCE)
    told = subprocess.run([sys.executable, "-m", "kiln", "ls"], env={**os.environ, "KILN_CACHE_DIR": str(tmp_path / "cache")}, capture_output=True, text=True)
    assert "jax/jit_f" in told.stdout
