"""Discovery: which variables a function can read, found from code objects, closures and classes.

A code object is looked through once, and remembered: which globals, nonlocals and imports it names, with the attributes behind them,
and all names of attributes and constants that are names. What these lead to is looked up for a function: functions are followed,
modules by the attributes that are named, and objects whose class may have any of its methods called (self, classes, modules that are
passed on) by every attribute name that occurs in the code that was reached. That finds more than is read, never less, unless a name is
computed while the program runs; kiln.audit() finds those.

A place is known by name and module, so equal names in two modules are two places.
"""

import builtins
import dis
import sys
import types
import weakref
from collections import deque, namedtuple

from . import _core, _values

DICT, GLOBAL, CELL, TYPE, CODE, DEFAULTS, KEYWORD_DEFAULTS = range(7)

# Methods that return None, or what they were given, and so tell their caller nothing of the object: an object of which nothing
# else is used is written only.
WRITE_ONLY = {
    list: {"append", "extend", "insert", "clear", "reverse", "sort"},
    set: {"add", "update", "discard", "clear"},
    dict: {"update", "clear"},
    deque: {"append", "appendleft", "extend", "extendleft", "clear"},
    bytearray: {"append", "extend", "clear"},
}

Read = namedtuple("Read", "name attributes")
Analysis = namedtuple("Analysis", "globals cells imports names strings")

# Functions that give a namespace, or a module by its name: names that stand in the code as text are looked up there.
NAMESPACES = {"globals", "vars", "locals", "eval", "exec"}
BY_NAME = {"import_module", "__import__", "modules"}
SCALARS = (bool, int, float, complex, str, bytes, type(None))

_analyses = weakref.WeakKeyDictionary()
_absent = object()

_LOADS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_LOADS_CELL = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE"}
_LOADS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"}


def analyse(code):
    """What the code names, functions and classes inside of it included; in the order of the code."""
    found = _analyses.get(code)
    if found is None:
        found = _analyses[code] = _analyse(code)
    return found


def _chain(instructions, start):
    attributes = []
    for instruction in instructions[start:]:
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        attributes.append(instruction.argval)
    return tuple(attributes)


def _import_read(instructions, i):
    """Of IMPORT_NAME: (module, level, names); no names where the module itself is imported."""
    level, names = instructions[i - 2].argval, instructions[i - 1].argval
    return instructions[i].argval, level if isinstance(level, int) else 0, names if isinstance(names, tuple) else ()


def _analyse(code):
    instructions = list(dis.get_instructions(code))
    globals_, cells, imports, names, strings = {}, {}, {}, {}, {}
    for i, instruction in enumerate(instructions):
        operation, value = instruction.opname, instruction.argval
        if operation in _LOADS_GLOBAL:
            globals_[Read(value, _chain(instructions, i + 1))] = None
        elif operation in _LOADS_CELL:
            if value in code.co_freevars:
                cells[Read(value, _chain(instructions, i + 1))] = None
        elif operation in _LOADS_ATTRIBUTE:
            names[value] = None
        elif operation == "IMPORT_NAME":
            imports[_import_read(instructions, i)] = None
    for constant in code.co_consts:
        if isinstance(constant, str) and constant.isidentifier():
            names[constant] = strings[constant] = None
        elif isinstance(constant, str) and all(part.isidentifier() for part in constant.split(".")):
            strings[constant] = None
        elif isinstance(constant, types.CodeType):
            inner = analyse(constant)
            globals_.update(dict.fromkeys(inner.globals))
            cells.update(dict.fromkeys(read for read in inner.cells if read.name in code.co_freevars))
            imports.update(dict.fromkeys(inner.imports))
            names.update(dict.fromkeys(inner.names))
            strings.update(dict.fromkeys(inner.strings))
    return Analysis(*map(tuple, (globals_, cells, imports, names, strings)))


class _Walk:
    """One walk from a function and the owners of a call."""

    def __init__(self, function):
        self.function = function
        self.root = function.__wrapped__
        self.ignored = set(function._ignored)
        self.top = _values.top_package(self.root.__module__)
        self.labels = function.__dict__.setdefault("_label_indexes", {})
        self.watches = {}
        self.written = {}  # places of which nothing was read so far
        self.queue = []
        self.seen = {}
        self.classes, self.modules, self.functions, self.names = {}, {}, {}, {}
        self.done = set()
        self.uses_super = False

    # ---- places

    def label(self, name, where):
        text = f"{name} ({where})"
        index = self.labels.get(text)
        if index is None:
            index = self.labels[text] = len(self.function._labels)
            self.function._labels.append(text)
        return index

    def watch(self, kind, container, key, name, where, more=None):
        place = (kind, id(container), key)
        if place not in self.watches:
            self.watches[place] = (kind, container, key, more, self.label(name, where))

    def reached(self, value):
        """Functions, classes and modules in a value are looked through, too."""
        if value is _absent:
            return
        try:
            holders = _core.holders_of(value)
        except Exception:  # said when the value is signed, with the name of the variable
            return
        self.queue.extend(holders)

    # ---- what a path leads to

    def is_tracked_module(self, module):
        name = getattr(module, "__name__", None)
        return not _values.is_library_module(name) or _values.top_package(name) == self.top

    def follow(self, value, attributes):
        """The value of a place that was read, with the attributes that were read of it."""
        while attributes and type(value) is types.ModuleType or attributes and isinstance(value, types.ModuleType):
            name, attributes = attributes[0], attributes[1:]
            if name in self.ignored:
                return
            space = value.__dict__
            self.watch(DICT, space, name, name, f"module {value.__name__}")
            if name not in space and "__getattr__" in space:
                name, attributes = "__getattr__", ()
                self.watch(DICT, space, name, name, f"module {value.__name__}")
            value = space.get(name, _absent)
        if attributes and isinstance(value, type) and self.is_tracked_class(value):
            self.class_attribute(value, attributes[0])
        self.reached(value)

    def is_write_only(self, value, attributes):
        return bool(attributes) and attributes[0] in WRITE_ONLY.get(type(value), ())

    def read_place(self, kind, container, key, name, where, value, attributes, more=None):
        if name in self.ignored or self.is_write_only(value, attributes):
            return
        self.watch(kind, container, key, name, where, more)
        self.follow(value, attributes)

    # ---- functions

    def is_tracked_function(self, function):
        if _values.top_package(function.__module__) == "kiln":
            return False
        return not _values.is_library_file(function.__code__.co_filename) or _values.top_package(function.__module__) == self.top

    def visit_wrapper(self, function):
        """A function of a library is not looked through, but one of the program may stand in its closure: decorators do that."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
                holders = _core.holders_of(value)
            except Exception:  # empty, or nothing that could be signed
                continue
            found = [holder for holder in holders if isinstance(holder, types.FunctionType) or isinstance(holder, type) and self.is_tracked_class(holder)]
            self.queue.extend(found)
            if found and type(value) in (types.FunctionType, tuple, list, dict):  # other objects are the library's own state
                self.watch(CELL, cell, "", name, f"closure of {function.__module__}.{function.__qualname__}")

    def visit_function(self, function):
        if not self.is_tracked_function(function):
            if _values.top_package(function.__module__) != "kiln":
                self.visit_wrapper(function)
            return
        code, name, module = function.__code__, function.__qualname__, function.__module__
        analysis = analyse(code)
        self.functions[function] = None
        self.watch(CODE, function, "", f"code of {name}", f"module {module}")
        self.watch(DEFAULTS, function, "", f"defaults of {name}", f"module {module}")
        self.watch(KEYWORD_DEFAULTS, function, "", f"keyword defaults of {name}", f"module {module}")
        self.reached(function.__defaults__)
        self.reached(function.__kwdefaults__)
        self.visit_globals(function, analysis)
        self.visit_cells(function, analysis)
        self.visit_imports(function, analysis)
        self.visit_strings(function, analysis)
        self.names.update(dict.fromkeys(analysis.names))

    def visit_globals(self, function, analysis):
        space = function.__globals__
        basic = getattr(function, "__builtins__", None)
        if not isinstance(basic, dict):
            basic = builtins.__dict__
        where = f"module {space.get('__name__', '?')}"
        for name, attributes in analysis.globals:
            if name == "super":
                self.uses_super = True
            value = space.get(name, _absent)
            if value is _absent:
                value = basic.get(name, _absent)
            self.read_place(GLOBAL, space, name, name, where, value, attributes, basic)

    def visit_cells(self, function, analysis):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for name, attributes in analysis.cells:
            try:
                value = cells[name].cell_contents
            except ValueError:
                value = _absent
            where = f"closure of {function.__module__}.{function.__qualname__}"
            self.read_place(CELL, cells[name], "", name, where, value, attributes)

    def visit_imports(self, function, analysis):
        package = function.__globals__.get("__package__") or ""
        for name, level, members in analysis.imports:
            if level:
                parent = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = f"{parent}.{name}" if name else parent
            if _values.top_package(name) in sys.stdlib_module_names:
                continue
            module = sys.modules.get(name)
            self.watch(DICT, sys.modules, name, name, "import")
            if not isinstance(module, types.ModuleType):
                continue
            if not members:
                self.queue.append(module)
                top = sys.modules.get(_values.top_package(name))
                if isinstance(top, types.ModuleType):
                    self.queue.append(top)
            for member in members:
                self.follow(module, (member,))

    def visit_strings(self, function, analysis):
        """globals()["N"], sys.modules["settings"].N: names that stand in the code as text."""
        used = {read.name for read in analysis.globals}
        own = sys.modules.get(function.__globals__.get("__name__"))
        if used & NAMESPACES and isinstance(own, types.ModuleType) and own.__dict__ is function.__globals__:
            self.queue.append(own)
        if BY_NAME & (used | set(analysis.names)):
            for name in analysis.strings:
                if isinstance(sys.modules.get(name), types.ModuleType):
                    self.watch(DICT, sys.modules, name, name, "import")
                    self.queue.append(sys.modules[name])

    # ---- holders whose attributes are looked up by every name that occurs

    def is_tracked_class(self, cls):
        return not _values.is_library(cls) or _values.top_package(cls.__module__) == self.top

    def visit_class(self, cls):
        if not self.is_tracked_class(cls):
            return
        self.classes[cls] = None
        self.queue.append(type(cls))
        for base in cls.__mro__:
            if base is not object and self.is_tracked_class(base):
                for name, value in list(vars(base).items()):
                    if name.startswith("__") and isinstance(value, types.FunctionType) and name != "__cache_signature__":
                        self.class_attribute(cls, name)

    def class_attribute(self, cls, name):
        value = _core.type_lookup(cls, name, _absent)
        if value is _absent or name in self.ignored or (cls, name) in self.done:
            return
        self.done.add((cls, name))
        self.watch(TYPE, cls, name, name, f"class {cls.__module__}.{cls.__qualname__}")
        self.reached(value)

    def module_attribute(self, module, name):
        value = module.__dict__.get(name, _absent)
        if value is _absent or (id(module), name) in self.done:
            return
        if not self.is_tracked_module(module) and type(value) not in SCALARS:
            return  # what a library has under a name that occurs here is as a rule another thing
        self.done.add((id(module), name))
        self.follow(module, (name,))

    def function_attribute(self, function, name):
        """f.n = 1: what a function carries."""
        if name in function.__dict__ and name not in self.ignored and (function, name) not in self.done:
            self.done.add((function, name))
            self.watch(DICT, function.__dict__, name, name, f"function {function.__module__}.{function.__qualname__}")
            self.reached(function.__dict__[name])

    def visit_names(self):
        """Every name at every holder; more of both may be found on the way. Returns whether there were any."""
        before = len(self.watches)
        if self.uses_super:
            for cls in list(self.classes):
                for base in cls.__mro__[1:]:
                    if base is not object and self.is_tracked_class(base):
                        self.classes[base] = None
        for cls in list(self.classes):
            for name in list(self.names):
                if not (name.startswith("__") and name.endswith("__")):
                    self.class_attribute(cls, name)
        for function in list(self.functions):
            for name in function.__dict__ and list(self.names):
                self.function_attribute(function, name)
        for module in list(self.modules.values()):
            for name in list(self.names):
                self.module_attribute(module, name)
        return len(self.watches) != before or bool(self.queue)

    # ---- the walk

    def visit(self, holder):
        if id(holder) in self.seen:
            return
        self.seen[id(holder)] = holder
        if isinstance(holder, types.FunctionType):
            self.visit_function(holder)
        elif isinstance(holder, type):
            self.visit_class(holder)
        elif isinstance(holder, types.ModuleType) and _values.top_package(holder.__name__) != "kiln":
            self.modules[id(holder)] = holder

    def visit_packages(self):
        for name in self.function._packages:
            module = sys.modules.get(name)
            if isinstance(module, types.ModuleType):
                self.watch(DICT, module.__dict__, "__version__", "__version__", f"module {name}")

    def run(self, owners):
        self.queue = [self.root, *owners]
        self.visit_packages()
        while self.queue or self.visit_names():
            while self.queue:
                self.visit(self.queue.pop(0))
        return list(self.watches.values())


def resolve(function, owners):
    """The places that `function` can read on behalf of `owners`: a list of (kind, container, key, builtins, label)."""
    function._count_discovery()
    return _Walk(function).run(owners)
