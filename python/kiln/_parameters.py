"""Annotations that say what of a parameter is in the key: Dynamic, Stream, Tensor."""

import inspect

VALUE, DYNAMIC, STREAM, TENSOR = range(4)


class _DynamicOf:
    def __init__(self, type_):
        self.type = type_

    def __repr__(self):
        return f"kiln.Dynamic[{getattr(self.type, '__name__', self.type)}]"


class Dynamic:
    """Dynamic[T]: only the type of the argument is in the key; of a tensor its dtype, rank and the classes of its strides.

    While the function is lowered such a number is a placeholder, because what is printed from its value would be wrong for the next one.

    >>> Dynamic[int]
    kiln.Dynamic[int]
    """

    def __class_getitem__(cls, type_):
        if not isinstance(type_, type):
            raise TypeError(f"Dynamic[...]: a class, not {type(type_).__name__}")
        return _DynamicOf(type_)

    def __init__(self):
        raise TypeError("Dynamic is written in annotations: n: kiln.Dynamic[int]")


class Stream:
    """A stream of a device. As an annotation, a raw int is a stream; Stream(handle) is one wherever it is passed. Never in a key.

    >>> Stream(7).handle
    7
    """

    __slots__ = ("handle",)

    def __init__(self, handle):
        if not isinstance(handle, int):
            raise TypeError(f"handle: an int, not {type(handle).__name__}")
        self.handle = handle

    def __index__(self):
        return self.handle


class Tensor:
    """Tensor(dims=None, strides=None, align=16): a rule for each dim and each stride of a tensor, as in kiln.h.

    "static": the value is in the key. "dynamic": it is not. An int: only whether that divides it. None: all static. Strides are
    counted in elements. align: how much of the alignment of the data is in the key, a power of two up to 64.

    >>> Tensor(dims=("dynamic", 16)).dims
    (0, 16)
    """

    __slots__ = ("dims", "strides", "align")

    def __init__(self, dims=None, strides=None, align=16):
        self.dims, self.strides = self._rules("dims", dims), self._rules("strides", strides)
        if self.dims is not None and self.strides is not None and len(self.dims) != len(self.strides):
            raise ValueError("strides: as many rules as dims has")
        if not isinstance(align, int) or isinstance(align, bool):
            raise TypeError(f"align: an int, not {type(align).__name__}")
        if align not in (1, 2, 4, 8, 16, 32, 64):
            raise ValueError("align: 1, 2, 4, 8, 16, 32 or 64")
        self.align = align

    @staticmethod
    def _rules(name, rules):
        if rules is None:
            return None
        if isinstance(rules, (str, bytes)) or not isinstance(rules, (tuple, list)):
            raise TypeError(f"{name}: a tuple of rules, not {type(rules).__name__}")
        told = []
        for rule in rules:
            if rule in ("static", "dynamic"):
                told.append(1 if rule == "static" else 0)
            elif isinstance(rule, int) and not isinstance(rule, bool) and 2 <= rule < 1 << 32:
                told.append(rule)
            else:
                raise ValueError(f"{name}: \"static\", \"dynamic\" or a divisor of 2 or more, not {rule!r}")
        return tuple(told)


class Placeholder:
    """Stands for a number that is not known while code is made. It can be printed; its value can't be used."""

    __slots__ = ("name", "type")

    def __init__(self, name, type_):
        self.name, self.type = name, type_

    def __repr__(self):
        return f"<{self.type} {self.name}>"

    def _refuse(self, *_):
        raise TypeError(f"{self.name} is {self.type}: its value is not in the key, so code can't be made from it")

    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _refuse
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = _refuse


def _annotation(function, parameter):
    """Text of annotations is evaluated, each by itself: one that can't be is none of ours."""
    note = parameter.annotation
    if isinstance(note, str):
        cells = {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()) if _is_full(cell)}
        try:
            note = eval(note, function.__globals__, cells)
        except Exception:
            return None
    return note


def _is_full(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def read(function):
    """(name, kind, type, align, dims, strides) of each parameter that can be given by its place or by its name."""
    told = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            if parameter.kind == parameter.VAR_POSITIONAL:
                break
            continue
        note = _annotation(function, parameter)
        if isinstance(note, _DynamicOf):
            told.append((parameter.name, DYNAMIC, note.type, 1, None, None))
        elif note is Dynamic:
            told.append((parameter.name, DYNAMIC, None, 1, None, None))
        elif note is Stream:
            told.append((parameter.name, STREAM, None, 1, None, None))
        elif isinstance(note, Tensor):
            told.append((parameter.name, TENSOR, None, note.align, note.dims, note.strides))
        else:
            told.append((parameter.name, VALUE, None, 16, None, None))
    return tuple(told)


def _placeholder(parameter, value):
    name, kind, type_ = parameter[:3]
    if kind == STREAM:
        return Placeholder(name, "a stream")
    if kind == DYNAMIC and isinstance(value, (int, float, complex, str, bytes)) or kind == DYNAMIC and hasattr(value, "__index__") and not hasattr(value, "shape"):
        return Placeholder(name, f"a dynamic {type(value).__name__}")
    return value


def placeholders(function, args, kwargs):
    """Arguments as lowering sees them."""
    parameters = function.__dict__["_parameters"]
    by_name = {parameter[0]: parameter for parameter in parameters}
    shown = tuple(_placeholder(parameters[i], value) if i < len(parameters) else value for i, value in enumerate(args))
    named = {name: _placeholder(by_name[name], value) if name in by_name else value for name, value in (kwargs or {}).items()}
    return shown, named
