"""Triton's cache in Kiln's folders: TRITON_CACHE_MANAGER=kiln.triton:CacheManager, and nothing else to do.

Triton makes a manager for each key, asks it for a group of files, compiles on a miss, and puts the files. So the first who asks holds a
ticket until the group is put or the manager is freed, as it is when the compile raises; others wait for it. The key is Triton's own:
its version, the source, the target, the options and the environment. A group is one entry: it is there with all of its files, or not.

Triton opens files by path. They are written into a folder of the process, which goes when the process leaves.
"""

import functools
import json
import logging
import multiprocessing.util
import os
import shutil
import tempfile
import threading

import triton
from triton.runtime import cache as _host

from . import Cache, Error

__all__ = ["CacheManager", "use"]

WAIT_SECONDS = 120.0

_chosen = []


def use(cache: Cache) -> None:
    """Triton's entries go to this kiln.Cache from here on, instead of the usual one."""
    if not isinstance(cache, Cache):
        raise TypeError(f"cache: a kiln.Cache, not {type(cache).__name__}")
    _chosen[:] = [cache]


@functools.cache
def _usual():
    return Cache()


def _cache():
    return _chosen[0] if _chosen else _usual()


@functools.cache
def _folder_of(pid):
    folder = tempfile.mkdtemp(prefix="kiln-triton-")
    multiprocessing.util.Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=0)
    return folder


def _is_file_name(name):
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _pack(files):
    """One line of names and sizes, then the contents."""
    line = json.dumps([[name, len(data)] for name, data in files.items()])
    return b"\n".join([line.encode(), b"".join(files.values())])


def _unpack(value):
    """None: not what _pack() wrote. Names with folders in them are not followed."""
    line, _, contents = value.partition(b"\n")
    try:
        sizes = [(name, int(size)) for name, size in json.loads(line)]
    except (ValueError, TypeError):
        return None
    if not all(_is_file_name(name) and size >= 0 for name, size in sizes) or sum(size for _, size in sizes) != len(contents):
        return None
    files, at = {}, 0
    for name, size in sizes:
        files[name] = contents[at:at + size]
        at += size
    return files


class CacheManager(_host.CacheManager):
    """Of one key. Folders for overriding and dumping stay Triton's: people edit them."""

    def __new__(cls, key, override=False, dump=False):
        return _host.FileCacheManager(key, override=override, dump=dump) if override or dump else super().__new__(cls)

    def __init__(self, key, override=False, dump=False):
        self._key = key
        self._entries = {}  # what was asked for; the tickets among them are abandoned when the manager is freed
        self._makes_group = False

    def _store_key(self, kind, name):
        return "\0".join(["triton", kind, self._key, name]).encode(errors="surrogatepass")

    def _ask(self, kind, name):
        key = self._store_key(kind, name)
        if key not in self._entries:
            self._entries[key] = _cache().get(key, name="triton/" + name.removesuffix(".json"), wait=WAIT_SECONDS)
        return self._entries[key]

    def _store(self, kind, name, value):
        key = self._store_key(kind, name)
        options = {"name": "triton/" + name.removesuffix(".json"), "about": {"triton": triton.__version__}}
        try:
            if key in self._entries:
                self._entries.pop(key).put(value, **options)
            else:
                _cache().put(key, value, **options)
        except (Error, ValueError) as error:  # what was compiled is good without being stored
            logging.getLogger("kiln").warning("triton/%s was not stored: %s", name, error)

    def _path(self, name):
        return os.path.join(_folder_of(os.getpid()), self._key, name)

    def _write(self, name, data):
        path = self._path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        unfinished = f"{path}.{threading.get_ident()}"
        with open(unfinished, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
        return path

    def get_file(self, filename):
        path = self._path(filename)
        if os.path.exists(path):
            return path
        value = None if self._makes_group else self._ask("file", filename).value
        return None if value is None else self._write(filename, value)

    def put(self, data, filename, binary=True):
        data = data if isinstance(data, bytes) else str(data).encode()
        if not self._makes_group:
            self._store("file", filename, data)
        return self._write(filename, data)

    def get_group(self, filename):
        value = self._ask("group", filename).value
        files = None if value is None else _unpack(value)
        self._makes_group = True  # what is put from here on is the group's
        return None if files is None else {name: self._write(name, data) for name, data in files.items()}

    def put_group(self, filename, group):
        files = {}
        for name, path in group.items():
            with open(path, "rb") as file:
                files[name] = file.read()
        self._makes_group = False
        self._store("group", filename, _pack(files))
