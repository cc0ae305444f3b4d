"""jit(), and what stands beside it: the checks of what users give."""

import contextlib
import functools
import inspect
import types

from . import _audit, _core, _describe, _parameters, _signature


class _LLVM:
    """LLVM IR text to machine code, by libkiln-llvm.so. The kernel is `define ... @kernel(...)`."""

    def __repr__(self):
        return "kiln.llvm"

    def __reduce__(self):
        return "llvm"


llvm = _LLVM()


def _check_compiler(compiler):
    if compiler is llvm:
        return
    identity = getattr(compiler, "identity", None)
    if not isinstance(identity, str):
        raise TypeError(f"compiler: kiln.llvm, or an object with identity (str), compile(text, request) and link(artifact, device), or a callable "
                        f"bytes -> bytes with an identity; {type(compiler).__name__} has "
                        + ("no identity" if identity is None else f"an identity that is {type(identity).__name__}"))
    for name in ("compile", "link"):
        part = getattr(compiler, name, None)
        if part is not None and not callable(part):
            raise TypeError(f"compiler: {name} is {type(part).__name__}, which can't be called")
    if getattr(compiler, "compile", None) is None and not callable(compiler):
        raise TypeError(f"compiler: {type(compiler).__name__} has no compile(text, request), and can't be called")
    if "\0" in identity:
        raise ValueError("compiler: its identity holds a NUL")
    if not identity:
        raise ValueError("compiler: its identity is empty; it is what tells it from other compilers and versions")


def _names(argument, names):
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{argument}: a tuple of names, not one {type(names).__name__}")
    try:
        told = tuple(names)
    except TypeError:
        raise TypeError(f"{argument}: a tuple of names, not {type(names).__name__}") from None
    for name in told:
        if not isinstance(name, str):
            raise TypeError(f"{argument}: names are str, not {type(name).__name__}")
        if not name:
            raise ValueError(f"{argument}: a name is empty")
    return told


def _check_function(function):
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"f: a {type(function).__name__}; write @{type(function).__name__} above @kiln.jit(...)")
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"f: a function written in Python, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("f: a function that returns text, not a coroutine or a generator")


def _check(drift, device, cache, signature, compiler):
    if not isinstance(drift, str):
        raise TypeError(f"drift: \"follow\" or \"raise\", not {type(drift).__name__}")
    if drift not in ("follow", "raise"):
        raise ValueError(f"drift: \"follow\" or \"raise\", not {drift!r}")
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device: a str or None, not {type(device).__name__}")
    if cache is not None and not isinstance(cache, _core.Cache):
        raise TypeError(f"cache: a kiln.Cache or None, not {type(cache).__name__}")
    if signature is not None:
        if not isinstance(signature, str):
            raise TypeError(f"signature: a str or None, not {type(signature).__name__}")
        if compiler is not llvm:
            raise ValueError("signature: for kiln.llvm; what another compiler links is called with the arguments as they are")
        _signature.parse(signature)


def jit(f=None, /, *, compiler, drift="follow", device=None, cache=None, env=(), packages=(), ignore=(), signature=None):
    """A function that prints kernel text becomes one that calls the kernel.

    compiler: kiln.llvm; an object with `identity`, `compile(text, request)` and `link(artifact, device)`; or a callable bytes -> bytes
        with an `identity`, of which calls return the bytes.
    drift: "follow" makes code for new values of what the function reads; "raise" raises DriftError instead.
    device: its name; None is the thread's current one (kiln.device).
    cache: a kiln.Cache; None is the process's own.
    env: variables of the environment that matter, besides those read through kiln.env().
    packages: installed packages whose versions are in the key.
    ignore: names of variables that do not matter.
    signature: for kiln.llvm, the kernel's C declaration; None passes tensors as pointers, int as int64_t, float as double.

    >>> class Upper:
    ...     identity = "upper 1"
    ...     def compile(self, text, request):
    ...         return text.upper()
    ...     def link(self, artifact, device):
    ...         return lambda x: artifact.decode() * x
    >>> @jit(compiler=Upper(), cache=_core.Cache(""))
    ... def repeat(x):
    ...     return "ab"
    >>> repeat(2)
    'ABAB'
    """
    _check_compiler(compiler)
    _check(drift, device, cache, signature, compiler)
    env, packages, ignore = _names("env", env), _names("packages", packages), _names("ignore", ignore)

    def decorate(function):
        _check_function(function)
        parameters = _parameters.read(function)
        made = _core.Function(function, function.__qualname__, compiler, cache, device, signature, packages, ignore, env, parameters,
                              drift == "raise", compiler is llvm)
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(function, name):
                made.__dict__[name] = getattr(function, name)
        made.__dict__["_parameters"] = parameters
        return made

    return decorate if f is None else decorate(f)


def _check_jitted(function):
    wrapped = getattr(function, "__func__", function)
    if not isinstance(wrapped, _core.Function):
        raise TypeError(f"f: a function made by kiln.jit, not {type(function).__name__}")
    return wrapped


def why(f):
    """Why the last call of f that missed was a miss: the fields of the key that differ from the nearest one known, old and new."""
    return _describe.why(_check_jitted(f))


def audit(f, /, *args, **kwargs):
    """Runs f (not its kernel) and returns what it read that discovery did not find: a list of (kind, module, name).

    Without arguments it runs with those of the last call that missed, as long as they live.
    """
    function = _check_jitted(f)
    if f is not function:
        args = (f.__self__, *args) if args or kwargs else ()
    return _audit.audit(function, args, kwargs)


@contextlib.contextmanager
def device(name):
    """Makes a device this thread's current one: functions without a device of their own run there.

    >>> with device("cpu"):
    ...     _core.current_device().partition(":")[0]
    'cpu'
    """
    before = _core.set_device(name)
    try:
        yield
    finally:
        _core.set_device(before)


@contextlib.contextmanager
def options(**values):
    """Options of code generation on this thread: they are in the key, and compile() may ask for them (request.option)."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"{name}: the value of an option is a str, not {type(value).__name__}")
    pushed = 0
    try:
        for name, value in values.items():
            _core.push_option(name, value)
            pushed += 1
        yield
    finally:
        for _ in range(pushed):
            _core.pop_option()
