"""C declarations of kernels: "void(const float *x, float *out, int64_t n)"."""

import functools
import re

_TYPES = {
    "bool": ("b", 8), "_Bool": ("b", 8), "char": ("i", 8), "float": ("f", 32), "double": ("f", 64), "int": ("i", 32), "unsigned": ("u", 32),
    "unsigned int": ("u", 32), "long": ("i", 64), "unsigned long": ("u", 64), "long long": ("i", 64), "unsigned long long": ("u", 64),
    "short": ("i", 16), "unsigned short": ("u", 16), "unsigned char": ("u", 8), "signed char": ("i", 8), "size_t": ("u", 64),
    "ssize_t": ("i", 64), "ptrdiff_t": ("i", 64), "intptr_t": ("i", 64), "uintptr_t": ("u", 64), "_Float16": ("f", 16),
    **{f"int{bits}_t": ("i", bits) for bits in (8, 16, 32, 64)}, **{f"uint{bits}_t": ("u", bits) for bits in (8, 16, 32, 64)},
}
_DECLARATION = re.compile(r"\s*(?P<result>[\w\s]+?)\s*(?P<name>\b\w+)?\s*\((?P<parameters>[^()]*)\)\s*;?\s*")


def _type(text, where):
    found = _TYPES.get(" ".join(text.split()))
    if found is None:
        raise ValueError(f"signature: {where} has the type {text.strip()!r}; known are {', '.join(_TYPES)}, void and pointers to them")
    return found


def _words(text):
    """A parameter without its name: the longest beginning that is a type."""
    words = text.split()
    for count in range(len(words), 0, -1):
        if " ".join(words[:count]) in _TYPES and len(words) - count <= 1:
            return " ".join(words[:count])
    return text


def _parameter(text, where):
    before, star, name = text.partition("*")
    if "*" in name:
        raise ValueError(f"signature: {where} is a pointer to a pointer, which no tensor is")
    words = [word for word in before.split() if word not in ("restrict", "volatile")]
    is_const = "const" in words
    words = [word for word in words if word != "const"]
    if not star:
        kind, bits = _type(_words(" ".join(words)), where)
        return f"{kind}{bits}"
    if words == ["void"]:
        return "p"
    kind, bits = _type(" ".join(words), where)
    return f"{'P' if is_const else 'p'}{kind}{bits}"


@functools.lru_cache(256)
def parse(declaration):
    """(result, parameters) for C: "f32" is a float, "pf32" a pointer to floats, "Pf32" one to const floats, "p" a pointer to anything.

    >>> parse("void(const float *x, float *out, int64_t n)")
    ('', ('Pf32', 'pf32', 'i64'))
    """
    match = _DECLARATION.fullmatch(declaration)
    if not match:
        raise ValueError(f"signature: {declaration!r} is not like \"void(float *, int64_t)\"")
    result = match["result"] if match["name"] is None or match["result"] in _TYPES or match["result"] == "void" else f"{match['result']} {match['name']}"
    result = "" if result.strip() == "void" else "%s%d" % _type(result, "the result")
    inner = match["parameters"].strip()
    parts = [] if inner in ("", "void") else inner.split(",")
    return result, tuple(_parameter(part, f"parameter {i}") for i, part in enumerate(parts, 1))


def derive(args):
    """Without a declaration: tensors are pointers, int is int64_t, float is double, bool is bool; the result is void."""
    told = []
    for i, value in enumerate(args, 1):
        if isinstance(value, bool):
            told.append("b8")
        elif isinstance(value, int) or (hasattr(value, "__index__") and not hasattr(value, "shape")):
            told.append("i64")
        elif isinstance(value, float):
            told.append("f64")
        elif hasattr(value, "shape"):
            told.append("p")
        else:
            raise TypeError(f"argument {i}: {type(value).__name__} can't be passed to a kernel; declare its C type: @kiln.jit(..., signature=\"void(...)\")")
    return "", tuple(told)
