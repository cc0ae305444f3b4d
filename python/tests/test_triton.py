"""Triton's cache over kiln.triton, with the real Triton, which compiles for a GPU that is not there."""

import os
import subprocess
import sys

import pytest

import kiln
import kiln.__main__

pytest.importorskip("triton")

PROGRAM = """
    import os, sys, triton, triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    @triton.jit
    def add(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
    compiles = []
    triton.knobs.compilation.listener = lambda **told: compiles.append(not told["cache_hit"])
    def compile(block=128):
        src = ASTSource(fn=add, signature={"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": block})
        return triton.compile(src, target=GPUTarget("cuda", 80, 32))
"""
BARRIER = """
    import glob, time  # all eight begin at once
    open(os.environ["READY"] + str(os.getpid()), "w").close()
    while len(glob.glob(os.environ["READY"] + "*")) < int(os.environ.get("COUNT", 1)): time.sleep(0.01)
"""
ONCE = PROGRAM + """
    import hashlib
    kernel = compile()
    print(sum(compiles), hashlib.sha256(kernel.asm["cubin"]).hexdigest(), sorted(kernel.asm) == sorted(["source", "ttir", "ttgir", "llir", "ptx", "cubin"]))
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "tmp").mkdir()
    return {"TRITON_CACHE_MANAGER": "kiln.triton:CacheManager", "TRITON_CACHE_DIR": str(tmp_path / "triton"), "TMPDIR": str(tmp_path / "tmp")}


def test_a_second_process_compiles_nothing(run_program, environment, tmp_path):
    first, second = run_program(ONCE, env=environment), run_program(ONCE, env=environment)
    assert first[0].startswith("1 ") and second[0].startswith("0 ") and first[0][2:] == second[0][2:] and first[0].endswith("True")
    assert not (tmp_path / "triton").exists() and list((tmp_path / "tmp").iterdir()) == []
    assert run_program(ONCE, env={**environment, "TRITON_CACHE_MANAGER": "triton.runtime.cache:FileCacheManager"})[0].startswith("1 "), "nothing but Kiln had it"


def test_eight_cold_processes_compile_once(run_program, environment, tmp_path):
    run_program(PROGRAM + BARRIER + ONCE.removeprefix(PROGRAM), env={**environment, "READY": str(tmp_path / "alone")}, folder="other")
    all_of_it = {**os.environ, **environment, "READY": str(tmp_path / "ready"), "COUNT": "8", "KILN_CACHE_DIR": str(tmp_path / "cache")}
    running = [subprocess.Popen([sys.executable, str(tmp_path / "program.py")], env=all_of_it, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    lines = [process.communicate(timeout=120)[0].split() for process in running]
    assert sorted(line[0] for line in lines) == ["0"] * 7 + ["1"] and len({line[1] for line in lines}) == 1


def test_threads_and_fork(run_program, environment, tmp_path):
    assert run_program(PROGRAM + """
    import multiprocessing
    def child(queue):
        compile(64), compile(128)
        queue.put(sum(compiles))
    compile(128)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join()
    compile(64)
    print(queue.get() - 1, sum(compiles))
    """, env=environment) == ["1 1"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_compile_that_fails_lets_others_go_on(run_program, environment):
    """One key: the first compile raises after the miss, the second is not told to wait."""
    assert run_program(PROGRAM + """
    import time
    from triton.backends.nvidia.compiler import CUDABackend
    make = CUDABackend.make_cubin
    def fail(*args): raise RuntimeError("on purpose")
    CUDABackend.make_cubin = fail
    try: compile()
    except RuntimeError as error: print(error)
    CUDABackend.make_cubin = make
    import subprocess, kiln.triton
    kiln.triton.WAIT_SECONDS = 0
    made = []
    put = kiln.triton.CacheManager._store
    def note(self, kind, name, value):
        made.extend(entry.is_held for entry in self._entries.values())
        put(self, kind, name, value)
    kiln.triton.CacheManager._store = note
    compile()
    print(made)
    """, env=environment) == ["on purpose", "[True]"]


def test_always_compile_replaces(run_program, environment):
    run_program(ONCE, env=environment)
    assert run_program(ONCE, env={**environment, "TRITON_ALWAYS_COMPILE": "1"})[0].startswith("1 ")
    assert run_program(ONCE, env=environment)[0].startswith("0 ")


def test_overrides_and_dumps_stay_tritons(run_program, environment, tmp_path):
    run_program(ONCE, env={**environment, "TRITON_KERNEL_DUMP": "1", "TRITON_DUMP_DIR": str(tmp_path / "dump")})
    assert list((tmp_path / "dump").rglob("add.ptx"))


def test_entries_have_names(run_program, environment, tmp_path):
    if kiln.__main__.command() is None:
        pytest.skip("the command was not built")
    run_program(ONCE, env=environment)
    told = subprocess.run([sys.executable, "-m", "kiln", "ls"], env={**os.environ, "KILN_CACHE_DIR": str(tmp_path / "cache")}, capture_output=True, text=True)
    assert "triton/add" in told.stdout


def test_single_files():
    import kiln.triton
    kiln.triton.use(kiln.Cache(""))
    try:
        first = kiln.triton.CacheManager("SINGLE")
        assert first.get_file("a.so") is None
        assert kiln.triton._cache().get(first._store_key("file", "a.so"), wait=0).is_held is False, "the first who asked makes it"
        path = first.put(b"\0bytes", "a.so")
        assert open(path, "rb").read() == b"\0bytes"
        os.remove(path)
        assert open(kiln.triton.CacheManager("SINGLE").get_file("a.so"), "rb").read() == b"\0bytes"
    finally:
        kiln.triton._chosen.clear()


@pytest.mark.parametrize("value", [b"", b"x", b"[]x", b"{}", b'[["a", 1]]\n', b'[["../a", 1]]\nx', b'[["/tmp/a", 1]]\nx', b'[["", 1]]\nx', b'[["a", -1], ["b", 2]]\nx', b'[[1, 1]]\nx', b'[["a\\u0000", 1]]\nx',
                                   b"[[]]\n", b"\xff\n"])
def test_what_is_no_group(value):
    import kiln.triton
    cache = kiln.Cache("")
    kiln.triton.use(cache)
    try:
        manager = kiln.triton.CacheManager("BAD")
        cache.put(manager._store_key("group", "k.json"), value)
        assert not manager.get_group("k.json")
        manager.put_group("k.json", {"a": manager.put("text", "a")})
        again = kiln.triton.CacheManager("BAD").get_group("k.json")
        assert list(again) == ["a"] and open(again["a"]).read() == "text"
    finally:
        kiln.triton._chosen.clear()


def test_bad_input():
    import kiln.triton
    with pytest.raises(TypeError, match="^cache: "):
        kiln.triton.use("folder")
