"""Keys in words: what C writes as words (docs/python/key.md) is read back here, for kiln_get, for people, and to compare.

The text of a field is the same in every process: no address is in it. It says all that the words say, except that functions, classes and
modules are names: what they hold stands in fields of its own.
"""

import struct
import types
from collections import deque

from . import _audit, _core, _signature, _values

_TAGS = ("?", "none", "bool", "int", "long", "float", "complex", "string", "bytes", "bytearray", "tuple", "list", "dict", "set", "frozenset", "enum",
         "record", "object", "signed", "reduced", "named", "scalar", "dtype", "tensor", "content", "function", "class", "module", "builtin", "code",
         "method", "wrapper", "absent", "dynamic", "stream", "back", "label", "place")
_DL_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DEVICES = {1: "cpu", 2: "cuda", 3: "cuda host", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda managed"}
_NUMPY_SIZES = dict(zip("?bBhHiIlLqQefdgFDG", (1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 2, 4, 8, 16, 8, 16, 32)))
_NUMPY_NAMES = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_LONG_MEMORY = 64  # keys that why() compares with


class _Reader:
    def __init__(self, data):
        self.words = struct.unpack(f"={len(data) // 8}Q", data)
        self.at = 0

    def word(self):
        self.at += 1
        return self.words[self.at - 1]

    def signed(self):
        return struct.unpack("=q", struct.pack("=Q", self.word()))[0]

    def raw(self, size):
        count = (size + 7) // 8
        data = struct.pack(f"={count}Q", *self.words[self.at:self.at + count])[:size]
        self.at += count
        return data

    def more(self):
        return self.at < len(self.words)

    def value(self):
        header = self.word()
        return getattr(self, "_" + _TAGS[header >> 56])(header & (1 << 56) - 1)

    def items(self, count):
        return ", ".join([self.value() for _ in range(count)])

    # ---- constants

    def _none(self, _):
        return "None"

    def _bool(self, info):
        return str(bool(info))

    def _int(self, _):
        return str(self.signed())

    def _long(self, size):
        return str(int(self.raw(size), 16))

    def _number(self):
        bits = self.word()
        value = struct.unpack("=d", struct.pack("=Q", bits))[0]
        return repr(value) if value == value else f"nan:{bits:016x}"

    def _float(self, _):
        return self._number()

    def _complex(self, _):
        real = self._number()
        self.word()
        return f"complex({real}, {self._number()})"

    def _string(self, size):
        return repr(self.raw(size).decode("utf-8", "surrogatepass"))

    def _bytes(self, size):
        data = self.raw(size)
        return repr(data) if size <= 64 else f"{size} bytes {_values.hashlib.sha256(data).hexdigest()[:32]}"

    def _bytearray(self, size):
        return f"bytearray({self._bytes(size)})"

    def _tuple(self, count):
        return f"({self.items(count)})"

    def _list(self, count):
        return f"[{self.items(count)}]"

    def _dict(self, count):
        return "{" + ", ".join([f"{self.value()}: {self.value()}" for _ in range(count)]) + "}"

    def _set(self, count):
        return "{" + ", ".join(sorted(self.value() for _ in range(count))) + "}" if count else "set()"

    def _frozenset(self, count):
        return f"frozenset({self._set(count)})"

    # ---- objects

    def name(self):
        """Of a holder, whose address is left out."""
        self.word()
        self.word()
        return self.raw(self.word() & (1 << 56) - 1).decode("utf-8", "surrogatepass")

    def _holder(self, _):
        self.at -= 1
        return self.name()

    def _function(self, info):
        return "function " + self._holder(info)

    def _class(self, info):
        return "class " + self._holder(info)

    def _module(self, info):
        return "module " + self._holder(info)

    def _builtin(self, info):
        return "builtin " + self._holder(info)

    def _code(self, info):
        return "code " + self._holder(info)

    def _enum(self, _):
        return f"{self.name()}.{self.value()[1:-1]}={self.value()}"

    def _record(self, _):
        return f"{self.name()}{self.value()}"

    def _object(self, _):
        return f"{self.name()} with {self.value()} and slots {self.value()}"

    def _signed(self, _):
        return f"{self.name()} signed {self.value()}"

    def _reduced(self, _):
        return f"{self.name()} of {self.value()}"

    def _named(self, index):
        return f"{_core.kind_name(index)} {self.value()[1:-1]}"

    def _method(self, _):
        return f"method of {self.value()}: {self.value()}"

    def _wrapper(self, count):
        return f"{self.name()}({self.items(count)})"

    def _absent(self, _):
        return "absent"

    def _dynamic(self, _):
        return f"dynamic {self.name()}"

    def _stream(self, _):
        return "stream"

    def _back(self, levels):
        return f"<itself, {levels} out>"

    # ---- tensors

    def _scalar(self, _):
        return f"{self.value()}({self.value()})"

    def _dtype(self, info):
        if not info:
            return f"dtype {self.value()}"
        if info >> 48:
            code, bits, lanes = info >> 24 & 0xff, info >> 16 & 0xff, info & 0xffff
            return _DL_CODES.get(code, f"dlpack{code}:") + (str(bits) if code != 6 else "") + (f"x{lanes}" if lanes != 1 else "")
        kind, letter, order = chr(info >> 16 & 0xff), chr(info >> 8 & 0xff), chr(info & 0xff)
        size = "" if kind == "b" else str(_NUMPY_SIZES[letter] * 8)
        return _NUMPY_NAMES[kind] + size + (f" '{letter}'" if letter in "qQ" else "") + (" big-endian" if order == ">" else "")

    def _tensor(self, info):
        rule, rank = info >> 48, info & 0xffffffff
        facts = self.word()
        kind = _core.kind_name(facts >> 32)
        dtype = self.value()
        axes = [self._axis(rule) for _ in range(rank)][::-1]
        text = f"{kind} {dtype}[{', '.join(axes)}]"
        if facts & 0xffffffff:
            device = facts >> 16 & 0xffff
            text += f" on {_DEVICES.get(device, device)}:{facts >> 8 & 0xff}, aligned {1 << (facts >> 2 & 0x3f)}"
            text += ("" if facts & 1 else ", unaligned") + ("" if facts & 2 else ", read-only")
        else:
            text += f" {self.value()}"
        return text

    def _axis(self, rule):
        if rule == 0:
            return f"{self.signed()} by {self.signed()}"
        if rule == 1:
            return f"dynamic by {('other', 'zero', 'one', 'packed')[self.word()]}"
        return f"{self._ruled()} by {self._ruled()}"

    def _ruled(self):
        divisor, value = self.word(), self.signed()
        return "dynamic" if divisor == 0 else str(value) if divisor == 1 else f"{'' if value else 'not '}divisible by {divisor}"

    def _content(self, _):
        return f"{self.value()} holding {self.value()}"

    def _label(self, index):
        return index


# ---- what C calls

def owners(holders):
    """Those of the holders in arguments that bring code of the program: a tuple, each once."""
    found = {}
    for holder in holders:
        if isinstance(holder, type):
            if not _values.is_library(holder):
                found[id(holder)] = holder
        elif isinstance(holder, types.FunctionType):
            found[id(holder)] = holder
    return tuple(found.values())


def watched(labels, block):
    """(label, text, words) of each value that a function reads."""
    reader, told = _Reader(block), []
    while reader.more():
        label, start = labels[reader.value()], reader.at
        text = reader.value()
        told.append((label, text, reader.words[start:reader.at]))
    return told


def _arguments(function, data):
    reader, names = _Reader(data), [parameter[0] for parameter in function.__dict__["_parameters"]]
    count = reader.word() & (1 << 56) - 1
    told = [(f"argument {names[i] if i < len(names) else i + 1}", reader.value()) for i in range(count)]
    if reader.more():
        count = reader.word() & (1 << 56) - 1
        told += [(f"argument {reader.value()[1:-1]}", reader.value()) for _ in range(count)]
    return told


def fields(function, arguments, device, options, variables, identity, block):
    """A key as a list of texts, "name = value" each."""
    told = _arguments(function, arguments)
    told.append(("device", device))
    if options is not None:
        told.append(("options", options))
    told += [(f"environment {name}", "unset" if value is None else repr(value)) for name, value in variables]
    told.append(("compiler", repr(identity)))
    if function._packages:
        told.append(("packages", repr(_values.versions(function._packages))))
    told += [(label, text) for label, text, _ in watched(function._labels, block)]
    return [f"{name} = {value}".replace("\n", "\\n").replace("\0", "\\0").encode("utf-8", "backslashreplace").decode() for name, value in told]


def note_miss(function, told, args, kwargs):
    """Remembers the key of a miss, for why(), and the arguments, for audit()."""
    known = function.__dict__.setdefault("_known", deque(maxlen=_LONG_MEMORY))
    function.__dict__["_example"] = _audit.example(args, kwargs)
    if not known or known[-1] != told:
        known.append(told)


def _name(function):
    return function.__wrapped__.__qualname__


def drift(function, before, now):
    """The text of a DriftError: each variable, where it is, what it was, what it is."""
    was, changes = {label: rest for label, *rest in before}, []
    for label, text, words in now:
        old, old_words = was.pop(label, ("absent", None))
        if words != old_words:
            changes.append(f"{label} was {old}, is {text}" if text != old else f"{label} was {old}, is another object of that name")
    changes += [f"{label} was {text}, is not read any more" for label, (text, _) in was.items()]
    return f"{_name(function)}: {'; '.join(changes) or 'what it reads is in another order'}; restore it, or call cache_clear()"


def _split(told):
    return dict(field.split(" = ", 1) for field in told)


def difference(before, now):
    """What differs between two keys, field by field."""
    was, new, told = _split(before), _split(now), []
    for name, value in new.items():
        if name not in was:
            told.append(f"{name} is new, {value}")
        elif was[name] != value:
            told.append(f"{name} was {was[name]}, is {value}")
    return told + [f"{name} was {value}, is not there" for name, value in was.items() if name not in new]


def why(function):
    """Why the last call that missed was a miss: what differs from the nearest key that was known."""
    known = list(function.__dict__.get("_known", ()))
    if not known:
        return f"{_name(function)}: no call has missed"
    *others, last = known
    if not others:
        return f"{_name(function)}: the first call"
    nearest = min((difference(other, last) for other in others), key=len)
    return f"{_name(function)}: {'; '.join(nearest) or 'its result had been dropped'}"


def signature(declared, args):
    """(result, parameters) of a kernel of kiln.llvm, for C."""
    return _signature.parse(declared) if declared is not None else _signature.derive(args)
