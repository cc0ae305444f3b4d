"""dlopen.py LIBRARY TABLE: what dlopen.c does, from Python with ctypes: handles by value, a callback, an error."""
import ctypes
import sys


class Handle(ctypes.Structure):
    """Every handle of the interface is a struct of one pointer, passed and returned by value."""
    _fields_ = [("ctx", ctypes.c_void_p)]


FLOAT32 = 10
Body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Handle), Handle, ctypes.c_void_p)
Unary = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Handle), Handle, ctypes.c_void_p)
Handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
RETURNS_HANDLE = ("new", "new_data", "new_value", "new_func_payload")


def resolve(library, table):
    """All functions of the table by name."""
    with open(table) as lines:
        names = [line.split("\t")[0] for line in lines][1:]
    functions = {name: getattr(library, name) for name in names}
    for name, function in functions.items():
        if name.endswith(RETURNS_HANDLE):
            function.restype = Handle
    return functions


def array(functions, values):
    data = (ctypes.c_float * len(values))(*values)
    shape = (ctypes.c_int * 1)(len(values))
    return functions["mlx_array_new_data"](data, shape, 1, FLOAT32)


def apply(functions, closure, values, stream):
    """The sum of what the closure makes of the values."""
    x, out, total = array(functions, values), functions["mlx_vector_array_new"](), ctypes.c_float(-1)
    inputs = functions["mlx_vector_array_new_value"](x)
    assert functions["mlx_closure_apply"](ctypes.byref(out), closure, inputs) == 0
    assert functions["mlx_vector_array_get"](ctypes.byref(x), out, ctypes.c_size_t(0)) == 0
    assert functions["mlx_sum"](ctypes.byref(x), x, False, stream) == 0
    assert functions["mlx_array_item_float32"](ctypes.byref(total), x) == 0
    functions["mlx_array_free"](x)
    functions["mlx_vector_array_free"](inputs)
    functions["mlx_vector_array_free"](out)
    return total.value


def compiled_calls(functions, stream):
    calls = []

    def body(res, inputs, _):
        calls.append(1)
        x, square = Handle(), Handle()
        failed = (functions["mlx_vector_array_get"](ctypes.byref(x), inputs, ctypes.c_size_t(0))
                  or functions["mlx_multiply"](ctypes.byref(square), x, x, stream)
                  or functions["mlx_add"](ctypes.byref(square), square, x, stream)
                  or functions["mlx_vector_array_set_data"](res, ctypes.byref(square), ctypes.c_size_t(1)))
        functions["mlx_array_free"](x)
        functions["mlx_array_free"](square)
        return failed

    callback, compiled = Body(body), Handle()
    plain = functions["mlx_closure_new_func_payload"](callback, None, None)
    assert functions["mlx_compile"](ctypes.byref(compiled), plain, False) == 0
    functions["mlx_closure_free"](plain)
    first = apply(functions, compiled, [1, 2, 3], stream)
    second = apply(functions, compiled, [4, 5, 6], stream)
    functions["mlx_closure_free"](compiled)
    print("%g and %g from %d call of the callback" % (first, second, len(calls)))


def named_calls(library, functions, stream):
    """kiln/compile.h, whose functions are not of mlx-c and so not of the table."""
    calls = []

    def square(res, x, _):
        calls.append(1)
        return functions["mlx_multiply"](res, x, x, stream)

    callback, fast, value = Unary(square), Handle(), ctypes.c_float(-1)
    x = array(functions, [3])
    assert library.mlx_kiln_compile_unary(ctypes.byref(fast), b"square", callback, None, None, False) == 0
    assert library.mlx_kiln_call_unary(ctypes.byref(x), fast, x) == 0
    assert library.mlx_kiln_call_unary(ctypes.byref(x), fast, x) == 0
    assert functions["mlx_array_item_float32"](ctypes.byref(value), x) == 0
    functions["mlx_array_free"](x)
    functions["mlx_closure_free"](fast)
    print("%g from %d call of square" % (value.value, len(calls)))


def errors(functions, stream):
    texts = []
    handler = Handler(lambda text, _: texts.append(text.decode()))
    functions["mlx_set_error_handler"](handler, None, None)
    res = Handle()
    code = functions["mlx_add"](ctypes.byref(res), Handle(), Handle(), stream)
    functions["mlx_set_error_handler"](None, None, None)
    assert not res.ctx and len(texts) == 1
    print("code %d: %s" % (code, texts[0].split(" at ")[0]))


def main(path, table):
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | 1)  # 1: RTLD_LAZY
    functions = resolve(library, table)
    print("%d names" % len(functions))
    stream = functions["mlx_default_cpu_stream_new"]()
    compiled_calls(functions, stream)
    named_calls(library, functions, stream)
    errors(functions, stream)
    functions["mlx_stream_free"](stream)
    print("closed")


main(*sys.argv[1:])
