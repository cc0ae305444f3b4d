"""JAX's persistent compilation cache in Kiln's folders: kiln.jax.use(), before or after the first jit.

JAX has a plug point that says get and put, and nothing of a compile that fails or is not worth keeping. So use() also stands around
jax._src.compiler.compile_or_get_cached: what a compile asked for and did not put is abandoned there, and another process goes on. Where JAX
keeps nothing (host callbacks, processes other than the first), no ticket is taken.

The key is JAX's own: the program, the options, the devices, the versions. JAX on CPU compiles for the features of this processor and does
not say so in its key; here they are in it.
"""

import functools
import hashlib
import inspect
import logging
import pathlib
import platform
import threading

import jax
from jax._src import compilation_cache as _plug
from jax._src import compilation_cache_interface as _interface
from jax._src import compiler as _compiler
from jax._src import distributed as _distributed

from . import Cache, Error

__all__ = ["use"]

WAIT_SECONDS = 120.0

_compiling = threading.local()  # entries: what the compile of this thread has asked for, or None; platform: what it is for


@functools.cache
def _processor():
    """Features of this processor, as Linux names them."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        features = {line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))}
    return hashlib.sha256("".join([platform.machine(), *sorted(features)]).encode()).hexdigest()


class _Entries(_interface.CacheInterface):
    def __init__(self, cache):
        self._cache = cache
        self._path = pathlib.Path(cache.folder or "kiln")

    def _key(self, key):
        target = getattr(_compiling, "platform", None) or jax.default_backend()
        return "\0".join(["jax", key, _processor() if target == "cpu" else ""]).encode()

    def get(self, key):
        asked = getattr(_compiling, "entries", None)
        if asked is None:
            return self._cache.find(self._key(key))
        if key not in asked:
            asked[key] = self._cache.get(self._key(key), name=_name(key), wait=WAIT_SECONDS)
        return asked[key].value

    def put(self, key, value):
        options = {"name": _name(key), "about": {"jax": jax.__version__, "jaxlib": jax.lib.__version__}}
        entry = (getattr(_compiling, "entries", None) or {}).get(key)
        try:
            entry.put(value, **options) if entry else self._cache.put(self._key(key), value, **options)
        except (Error, ValueError) as error:  # what was compiled is good without being stored
            logging.getLogger("kiln").warning("%s was not stored: %s", _name(key), error)


def _name(key):
    return "jax/" + key.rpartition("-")[0].replace("\0", "")


def _stand_around(compile_):
    @functools.wraps(compile_)
    def compile_or_get_cached(backend, computation, devices, compile_options, host_callbacks, *args, **kwargs):
        outer = getattr(_compiling, "entries", None), getattr(_compiling, "platform", None)
        keeps = not host_callbacks and _distributed.global_state.process_id == 0
        _compiling.entries, _compiling.platform = {} if keeps else None, backend.platform
        try:
            return compile_(backend, computation, devices, compile_options, host_callbacks, *args, **kwargs)
        finally:
            for entry in (_compiling.entries or {}).values():
                entry.abandon()
            _compiling.entries, _compiling.platform = outer
    compile_or_get_cached.is_kiln = True
    return compile_or_get_cached


def _can_stand_around(compile_):
    names = list(inspect.signature(compile_).parameters)
    return names[:5] == ["backend", "computation", "devices", "compile_options", "host_callbacks"]


def use(cache: Cache | None = None) -> bool:
    """JAX's executables go to this kiln.Cache; None: the usual one.

    Sets jax_persistent_cache_min_compile_time_secs to 0, since others wait for what is compiled here. Where no
    jax_compilation_cache_dir is set, it is set, as JAX asks for one; nothing is written there.
    True: one process compiles while others wait. False: this version of JAX compiles elsewhere; entries are shared, and 8 cold
    processes may compile 8 times.
    """
    if cache is not None and not isinstance(cache, Cache):
        raise TypeError(f"cache: a kiln.Cache or None, not {type(cache).__name__}")
    entries = _Entries(Cache() if cache is None else cache)
    compile_ = getattr(_compiler, "compile_or_get_cached", None)
    is_around = compile_ is not None and (getattr(compile_, "is_kiln", False) or _can_stand_around(compile_))
    if is_around and not getattr(compile_, "is_kiln", False):
        _compiler.compile_or_get_cached = _stand_around(compile_)
    _plug.get_file_cache = lambda path: (entries, path)
    if not jax.config.jax_compilation_cache_dir:
        jax.config.update("jax_compilation_cache_dir", str(entries._path))
        jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    _plug.reset_cache()
    return is_around
