"""audit(): runs a function, and tells what it read that discovery did not find.

The hooks: every opcode of the thread is traced for names of globals and nonlocals; while that lasts, modules of the program and
os.environ note each attribute that is read of them, also by getattr() and vars(). Nothing stays behind.
"""

import builtins
import os
import sys
import threading
import types
import weakref
from collections import namedtuple

from . import _discover, _values

Read = namedtuple("Read", "kind module name")
Read.__doc__ = "Something that was read: kind is \"global\", \"attribute\", \"namespace\", \"environment\" or \"file\"; module is where it is."


class _Gone:
    def __init__(self, value):
        self.type = type(value).__name__


def _keep(value):
    if value is None or isinstance(value, (int, float, complex, str, bytes, type)):
        return lambda: value
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def example(args, kwargs):
    """Arguments, without keeping tensors alive."""
    return tuple(map(_keep, args)), {name: _keep(value) for name, value in (kwargs or {}).items()}


def _arguments(function, args, kwargs):
    if args or kwargs:
        return args, kwargs
    kept = function.__dict__.get("_example")
    if kept is None:
        return args, kwargs
    shown = tuple(get() for get in kept[0]), {name: get() for name, get in kept[1].items()}
    constants = [None if get() is None and isinstance(get, weakref.ref) else True for get in (*kept[0], *kept[1].values())]
    if None in constants:
        raise TypeError("args: those of the last call are gone; pass some: kiln.audit(f, *args)")
    return shown


class _Hook:
    def __init__(self, function):
        self.function, self.reads, self.thread = function, {}, threading.get_ident()
        self.is_on = False

    def note(self, kind, module, name):
        self.reads[kind, module, name] = None

    def is_here(self):
        return self.is_on and threading.get_ident() == self.thread

    # ---- opcodes

    def trace(self, frame, event, _):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.opcode(frame)
        return self.trace

    def opcode(self, frame):
        code, at = frame.f_code, frame.f_lasti
        name = _names_of(code).get(at)
        module = frame.f_globals.get("__name__")
        if name is None or _values.is_library_file(code.co_filename) or _values.top_package(module) == "kiln":
            return
        if name in frame.f_globals or not hasattr(builtins, name):
            self.note("global", module, name)

    # ---- modules and the environment

    def module_class(self, base):
        hook = self

        class Watched(base):
            def __getattribute__(module, name):
                if hook.is_here():
                    where = types.ModuleType.__getattribute__(module, "__name__")
                    if name == "__dict__":
                        hook.note("namespace", where, name)
                    elif not name.startswith("__"):
                        hook.note("attribute", where, name)
                return base.__getattribute__(module, name)

        return Watched

    def environ_class(self, base):
        hook = self

        class Watched(base):
            def __getitem__(environ, name):
                if hook.is_here():
                    hook.note("environment", "os.environ", name)
                return base.__getitem__(environ, name)

        return Watched

    def opened(self, event, args):
        if event == "open" and self.is_here() and isinstance(args[0], str) and not _values.is_library_file(args[0]):
            self.note("file", "open()", args[0])

    def __enter__(self):
        self.before = []
        for module in list(sys.modules.values()):
            if type(module) is types.ModuleType and not _values.is_library_module(module.__name__):
                self.before.append((module, types.ModuleType))
                module.__class__ = self.module_class(types.ModuleType)
        self.before.append((os.environ, type(os.environ)))
        os.environ.__class__ = self.environ_class(type(os.environ))
        self.tracer = sys.gettrace()
        _listen(self)
        self.is_on = True
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(self.tracer)
        self.is_on = False
        _listen(None)
        for owner, class_ in self.before:
            owner.__class__ = class_


_listener = None
_is_listening = False


def _listen(hook):
    """An audit hook can't be taken back: there is one, and it does nothing while nobody listens."""
    global _listener, _is_listening
    _listener = hook
    if hook is not None and not _is_listening:
        sys.addaudithook(lambda event, args: _listener is not None and _listener.opened(event, args))
        _is_listening = True


_global_names = weakref.WeakKeyDictionary()


def _names_of(code):
    """Offsets of the opcodes that load a global, with its name."""
    found = _global_names.get(code)
    if found is None:
        found = {i.offset: i.argval for i in _discover.dis.get_instructions(code) if i.opname in _discover._LOADS_GLOBAL}
        _global_names[code] = found
    return found


def _is_code(module, name):
    """Functions, classes and modules are followed, so they are no values that code could depend on by themselves."""
    value = getattr(sys.modules.get(module), name, None)
    return isinstance(value, (types.ModuleType, types.BuiltinFunctionType)) or isinstance(value, type) and _values.is_library(value)


def audit(function, args, kwargs):
    args, kwargs = _arguments(function, args, kwargs)
    function.key(*args, **kwargs)  # discovery, for these arguments
    hook = _Hook(function)
    with hook:
        function.__wrapped__(*args, **kwargs)
    known = set(function._labels)
    ignored, variables = set(function._ignored), set(function._variables())
    told = []
    for read in map(Read._make, hook.reads):
        if read.kind in ("global", "attribute") and (f"{read.name} (module {read.module})" in known or read.name in ignored or _is_code(read.module, read.name)):
            continue
        if read.kind == "environment" and read.name in variables:
            continue
        told.append(read)
    return told
