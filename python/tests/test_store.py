"""Bytes of others: Cache.get(), find() and put(), and tickets among threads, processes and forks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest

import kiln
import kiln.__main__

MAKE = """
    import sys, time, kiln
    cache, made = kiln.Cache(), 0
    with cache.get(b"key", name="others/one") as entry:
        if entry.value is None:
            time.sleep(0.3)
            made += entry.put(b"made")
    print(entry.value.decode(), made)
"""


def test_a_miss_is_made_and_found(cache):
    entry = cache.get(b"key")
    assert entry.value is None and entry.is_held
    assert cache.find(b"key") is None
    assert entry.put(b"made") is True and entry.value == b"made" and not entry.is_held
    assert cache.get(b"key").value == b"made" and cache.find(b"key") == b"made" and cache.find(b"other") is None
    assert not cache.get(b"key").is_held


@pytest.mark.parametrize("value", [b"", b"\0x", bytearray(b"abc"), memoryview(b"abcdef")[::2], os.urandom(1 << 20)])
def test_bytes_come_back_as_they_were(tmp_path, value):
    assert kiln.Cache(tmp_path).put(b"\0key", value) is True
    other = kiln.Cache(tmp_path)
    assert other.find(b"\0key") == bytes(value) and other.counters()["disk_hits"] == 1
    assert other.find(b"\0ke") is None


def test_put_without_a_ticket_replaces(cache):
    cache.put(b"key", b"1")
    cache.put(b"key", b"2")
    assert cache.find(b"key") == b"2"


@pytest.mark.parametrize("end", [lambda entry: entry.abandon(), lambda entry: entry.__exit__(None, None, None), lambda entry: None])
def test_what_is_not_put_is_abandoned(cache, end):
    entry = cache.get(b"key")
    assert not cache.get(b"key", wait=0).is_held
    end(entry)
    del entry
    gc.collect()
    again = cache.get(b"key", wait=0)
    assert again.is_held and again.value is None
    again.abandon()
    again.abandon()
    again.put(b"late")
    assert cache.find(b"key") == b"late"


def test_an_exception_abandons(cache):
    with pytest.raises(KeyError):
        with cache.get(b"key"):
            raise KeyError
    assert cache.get(b"key", wait=0).is_held


def test_a_busy_key_may_be_put(cache):
    held = cache.get(b"key")
    busy = cache.get(b"key")
    assert busy.value is None and not busy.is_held, "a thread does not wait for its own ticket"
    busy.put(b"busy")
    assert cache.find(b"key") == b"busy"
    held.put(b"held")


def test_threads_wait_without_the_gil(cache):
    """One thread makes it while seven wait; were the GIL held by one that waits, nobody could."""
    made, seen = [], []
    start = threading.Barrier(8)

    def work():
        start.wait()
        with cache.get(b"key", wait=30) as entry:
            if entry.value is None:
                made.append(1)
                start_of_put.wait(0.2)
                entry.put(b"made")
        seen.append(entry.value)

    start_of_put = threading.Event()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and seen == [b"made"] * 8


def test_a_deadline_lets_others_go_on(cache):
    held = cache.get(b"key", deadline=0.05)
    got = []
    thread = threading.Thread(target=lambda: got.append(cache.get(b"key", wait=30)))
    thread.start()
    thread.join()
    assert got[0].is_held
    held.put(b"late")
    assert cache.find(b"key") == b"late"


def test_eight_cold_processes_make_it_once(run_program, tmp_path):
    run_program(MAKE, folder="other")
    environment = {**os.environ, "KILN_CACHE_DIR": str(tmp_path / "cache")}
    running = [subprocess.Popen([sys.executable, str(tmp_path / "program.py")], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    lines = [process.communicate(timeout=60)[0].split() for process in running]
    assert sorted(lines) == [["made", "0"]] * 7 + [["made", "1"]]


def test_a_killed_holder_makes_nobody_wait(run_program, tmp_path):
    program = "import kiln, time\nentry = kiln.Cache().get(b'key')\nprint(entry.is_held, flush=True)\ntime.sleep(60)\n"
    holder = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "KILN_CACHE_DIR": str(tmp_path / "cache")}, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    cache = kiln.Cache(tmp_path / "cache")
    assert not cache.get(b"key", wait=0).is_held
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert cache.get(b"key", wait=30).is_held


def test_fork(run_program):
    assert run_program("""
        import os, threading, kiln
        cache = kiln.Cache()
        held = cache.get(b"held")
        threading.Thread(target=cache.get, args=(b"held",), kwargs={"wait": 1}).start()
        child = os.fork()
        if child == 0:
            assert cache.put(b"child", b"1") and cache.find(b"child") == b"1"
            held.abandon()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert held.is_held and not cache.get(b"held", wait=0).is_held
        print(cache.find(b"child"), held.put(b"2"), cache.find(b"held"))
    """) == ["b'1' True b'2'"]


@pytest.mark.parametrize("leave", ["pass", "sys.exit(0)", "os._exit(0)"])
def test_the_interpreter_leaves_while_tickets_are_held_and_waited_for(run_program, leave):
    done = run_program(f"""
        import os, sys, threading, kiln
        cache = kiln.Cache()
        held = cache.get(b"key")
        about = threading.Event()
        def wait():
            about.set()
            cache.get(b"key", wait=50)
        threading.Thread(target=wait, daemon=True).start()
        about.wait()
        {leave}
    """, check=False, timeout=25)
    assert done.returncode == 0 and "Fatal" not in done.stderr, done.stderr


def test_a_ticket_holds_its_cache():
    cache = kiln.Cache("")
    gone = weakref.ref(cache)
    entry = cache.get(b"key")
    del cache
    assert gone() is not None
    entry.put(b"x")
    del entry
    assert gone() is None


def test_references_do_not_grow(cache):
    key, value = b"a key %d" % 1, b"a value %d" % 2
    cache.put(key, value)
    for _ in range(2):
        before = sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(cache)
        for _ in range(100):
            cache.get(key).put(value, name="n", about={"a": "b"})
            cache.find(key)
            for bad in (lambda: cache.put(key, value, about={"": "b"}), lambda: cache.put(key, value, name=3), lambda: cache.get(key, wait=-1), lambda: cache.put(value, 3)):
                pytest.raises((TypeError, ValueError), bad)
        after = sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(cache)
    assert before == after


def test_a_folder_that_takes_nothing_fails_no_call(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = kiln.Cache(tmp_path / "file")
    with cache.get(b"key") as entry:
        entry.put(b"made")
    assert cache.find(b"key") == b"made" and cache.counters()["cache_faults"] > 0


def test_show_prints_what_is_said_about_it(run_program, tmp_path):
    if kiln.__main__.command() is None:
        pytest.skip("the command was not built")
    run_program('import kiln\nprint(kiln.Cache().put(b"key", b"value", name="tuning/softmax", about={"machine": "this one"}))')
    environment = {**os.environ, "KILN_CACHE_DIR": str(tmp_path / "cache")}
    listed = subprocess.run([sys.executable, "-m", "kiln", "ls"], env=environment, capture_output=True, text=True).stdout
    assert "tuning/softmax" in listed
    shown = subprocess.run([sys.executable, "-m", "kiln", "show", "tuning/softmax"], env=environment, capture_output=True, text=True).stdout
    assert "this one" in shown


@pytest.mark.parametrize("call, error, text", [
    (lambda c: c.get("key"), TypeError, "^key: "), (lambda c: c.get(bytearray(b"k")), TypeError, "^key: "), (lambda c: c.get(b""), ValueError, "^key: "),
    (lambda c: c.get(bytes((1 << 20) + 1)), ValueError, "^key: "), (lambda c: c.get(), TypeError, "key"), (lambda c: c.find(None), TypeError, "^key: "),
    (lambda c: c.get(b"k", name=b"n"), TypeError, "^name: "), (lambda c: c.get(b"k", name="a\0b"), ValueError, "^name: "),
    (lambda c: c.get(b"k", wait="1"), TypeError, "^wait: "), (lambda c: c.get(b"k", wait=-1), ValueError, "^wait: "),
    (lambda c: c.get(b"k", wait=float("nan")), ValueError, "^wait: "), (lambda c: c.get(b"k", wait=1 << 40), ValueError, "^wait: "), (lambda c: c.get(b"k", wait=1 << 4000), ValueError, "^wait: "),
    (lambda c: c.get(b"k", deadline=0), ValueError, "^deadline: "), (lambda c: c.get(b"k", deadline=float("inf")), ValueError, "^deadline: "),
    (lambda c: c.put(b"k", "text"), TypeError, "^value: "), (lambda c: c.put(b"k", None), TypeError, "^value: "), (lambda c: c.put(b"k"), TypeError, "value"),
    (lambda c: c.put(b"k", b"v", about="x"), TypeError, "^about: "), (lambda c: c.put(b"k", b"v", about={1: "x"}), TypeError, "^about: "),
    (lambda c: c.put(b"k", b"v", about={"a": "b\n"}), ValueError, "^about: "), (lambda c: c.put(b"k", b"v", about={"a\t": "b"}), ValueError, "^about: "),
    (lambda c: c.put(b"k", b"v", about={"a": "b" * (1 << 16)}), ValueError, "^about: "), (lambda c: c.get(b"t").put(3), TypeError, "^value: "),
    (lambda c: c.get(b"t").put(b"v", name=3), TypeError, "^name: "), (lambda c: kiln.Ticket(), TypeError, "Ticket"),
])
def test_bad_input(cache, call, error, text):
    with pytest.raises(error, match=text):
        call(cache)


def test_bad_input_leaves_the_ticket_held(cache):
    entry = cache.get(b"key")
    pytest.raises(TypeError, entry.put, "text")
    assert entry.is_held
