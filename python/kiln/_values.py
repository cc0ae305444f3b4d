"""What C asks Python about values: names that are the same in every process, and the state of objects of libraries.

Nothing here depends on id(), hash() or the order of a set.
"""

import collections
import copyreg
import functools
import hashlib
import importlib.metadata
import inspect
import os
import site
import sys
import sysconfig
import types
import weakref

CacheInfo = collections.namedtuple("CacheInfo", "calls hits lowers compiles discoveries")

_digests = weakref.WeakKeyDictionary()


def _constant(value):
    """A constant of a code object, as bytes; equal for equal constants in every process."""
    if isinstance(value, types.CodeType):
        return b"code " + code_digest(value).encode()
    if isinstance(value, (tuple, frozenset)):
        items = [_constant(item) for item in value]
        if isinstance(value, frozenset):
            items.sort()
        return b"%s %d(%s)" % (type(value).__name__.encode(), len(items), b",".join(b"%d:%s" % (len(item), item) for item in items))
    return f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")


def code_digest(code):
    """What a code object does: not where it stands in which file."""
    found = _digests.get(code)
    if found is None:
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_names, code.co_varnames,
                 code.co_freevars, code.co_cellvars, code.co_name)
        parts = [code.co_code, repr(shape).encode("utf-8", "surrogatepass"), getattr(code, "co_exceptiontable", b""), *map(_constant, code.co_consts)]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(b"%d:" % len(part))
            digest.update(part)
        found = _digests[code] = digest.hexdigest()[:32]
    return found


def name_of(holder):
    """The name by which people know a function, class, module or code object."""
    if isinstance(holder, types.CodeType):
        return code_digest(holder)
    if isinstance(holder, types.ModuleType):
        return str(holder.__name__)
    name = getattr(holder, "__qualname__", None) or getattr(holder, "__name__", None) or type(holder).__name__
    module = getattr(holder, "__module__", None)
    if module is None and isinstance(owner := getattr(holder, "__objclass__", None), type):
        module = owner.__module__
    name = f"{module}.{name}" if isinstance(module, str) else str(name)
    return f"{name} code {code_digest(holder.__code__)[:12]}" if isinstance(holder, types.FunctionType) else name


def dtype_name(dtype):
    """What tells a dtype of numpy from every other one: constants."""
    if dtype.fields is not None:
        fields = tuple((name, dtype.fields[name][1], dtype_name(dtype.fields[name][0])) for name in dtype.names)
        return ("fields", dtype.itemsize, dtype.alignment, fields)
    if dtype.subdtype is not None:
        return ("subarray", dtype_name(dtype.subdtype[0]), tuple(dtype.subdtype[1]))
    return (name_of(type(dtype)), str(dtype), dtype.str, dtype.itemsize)


def slots_of(cls):
    """Names of the slots of a class; its own list, in the order of its MRO."""
    return list(copyreg._slotnames(cls))


_shardings = {}


def jax_layout(array):
    """(dtype, text of sharding and weak type, shape) of an array of JAX, from attributes."""
    sharding = array.sharding
    text = _shardings.get(sharding)
    if text is None:
        if len(_shardings) > 1000:
            _shardings.clear()
        text = _shardings[sharding] = str(sharding)
    return array.dtype, f"{text}, weak type {array.aval.weak_type}", tuple(array.shape)


def tensor_layout(tensor):
    """The metadata of a tensor that DLPack can't describe: constants."""
    layout = str(getattr(tensor, "layout", None))
    strides = tuple(tensor.stride()) if layout == "torch.strided" else None
    return (str(tensor.dtype), str(tensor.device), layout, tuple(tensor.shape), strides)


def reduce(value):
    """Of an object that is not written in Python: True, its name says all; a tuple, its state; None, it can't be told."""
    wrapped = inspect.getattr_static(value, "__wrapped__", None) or getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):
        return (name_of(value), wrapped)
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords)
    if isinstance(value, functools.cached_property):
        return (value.func, value.attrname)
    is_named = isinstance(getattr(value, "__name__", None), str)
    if callable(value) and is_named and not type(value).__flags__ & (1 << 9):  # a type of an extension: ufuncs and the like
        return True
    if isinstance(value, types.MappingProxyType):
        return (dict(value),)
    try:
        registered = copyreg.dispatch_table.get(type(value))  # patterns of re
        told = registered(value) if registered else value.__reduce_ex__(2)
    except Exception:
        return None
    if isinstance(told, str):
        return (told,)
    if not isinstance(told, tuple):
        return None
    items = tuple(None if part is None else tuple(part) for part in told[3:5])
    return (*told[:3], *items)


@functools.lru_cache(None)
def _library_folders():
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths}
    for getter in ("getsitepackages", "getusersitepackages"):
        told = getattr(site, getter, list)()
        found.update([told] if isinstance(told, str) else told)
    return tuple(sorted(os.path.join(os.path.realpath(path), "") for path in found))


@functools.lru_cache(4096)
def is_library_file(path):
    if path.startswith("<frozen"):
        return True
    return not path.startswith("<") and os.path.realpath(path).startswith(_library_folders())


def top_package(module):
    return str(module).partition(".")[0]


def is_library_module(name):
    """Whether a module was installed: what is built in, in the standard library or in site-packages, and this package."""
    if not isinstance(name, str) or top_package(name) == "kiln" or name == "builtins":
        return True
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return module is not None and getattr(module, "__spec__", None) is not None and module.__spec__.origin in ("built-in", "frozen")
    return is_library_file(file)


def is_library(cls):
    """Whether a class comes from an installed module."""
    return is_library_module(getattr(cls, "__module__", None))


_versions = {}


def _distribution_version(name):
    if name not in _versions:
        try:
            _versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            _versions[name] = None
    return _versions[name]


def versions(packages):
    """A line for each named package: what is installed, and what the loaded module says."""
    lines = []
    for name in packages:
        loaded = getattr(sys.modules.get(name), "__version__", None)
        lines.append(f"{name} installed {_distribution_version(name)!r} loaded {loaded!r}")
    return "\n".join(lines)
