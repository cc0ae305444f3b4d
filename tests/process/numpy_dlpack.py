"""numpy_dlpack.py LIBRARY: arrays of Kiln as arrays of numpy and back, by DLPack's capsules, with ctypes. Nothing is copied:
both sides see the same address. Both kinds of capsules are tried; of numpy before 2.1 the older one only."""
import ctypes
import gc
import sys

import numpy

CPU = 1
DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
          "complex64"]
api = ctypes.PyDLL(None)
new_capsule = api.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = api.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
rename_capsule = api.PyCapsule_SetName
rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
# (exports, imports, name of the capsule, its name when it was used)
OLD = ("mlx_kiln_dlpack_export_old", "mlx_kiln_dlpack_import_old", b"dltensor", b"used_dltensor")
VERSIONED = ("mlx_kiln_dlpack_export", "mlx_kiln_dlpack_import", b"dltensor_versioned", b"used_dltensor_versioned")
version = tuple(int(part) for part in numpy.__version__.split(".")[:2])
is_new = version >= (2, 1)
kinds = [OLD, VERSIONED] if is_new else [OLD]
kiln = ctypes.CDLL(sys.argv[1])


class Handle(ctypes.Structure):
    """Every handle of the interface is a struct of one pointer, passed and returned by value."""
    _fields_ = [("ctx", ctypes.c_void_p)]


kiln.mlx_array_new.restype = kiln.mlx_default_cpu_stream_new.restype = Handle
kiln.mlx_array_data_float32.restype = ctypes.c_void_p
stream = kiln.mlx_default_cpu_stream_new()


class Array:
    """An array of Kiln, as far as numpy.from_dlpack() looks at it."""

    def __init__(self, kind=OLD):
        self.handle, self.kind = kiln.mlx_array_new(), kind

    def __del__(self):
        kiln.mlx_array_free(self.handle)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        exports, _, name, _ = self.kind
        tensor = ctypes.c_void_p()
        assert getattr(kiln, exports)(ctypes.byref(tensor), self.handle, bool(copy), ctypes.c_int64(-1)) == 0
        return new_capsule(tensor, name, None)

    def __dlpack_device__(self):
        type_, id_ = ctypes.c_int32(), ctypes.c_int32()
        assert kiln.mlx_kiln_dlpack_device(ctypes.byref(type_), ctypes.byref(id_), self.handle) == 0
        return type_.value, id_.value


def from_numpy(values, kind):
    _, imports, name, used = kind
    array = Array(kind)
    capsule = values.__dlpack__() if kind is OLD else values.__dlpack__(max_version=(1, 0))
    tensor = ctypes.c_void_p(capsule_pointer(capsule, name))
    assert getattr(kiln, imports)(ctypes.byref(array.handle), tensor, ctypes.c_int64(-1)) == 0
    rename_capsule(capsule, used)
    return array


def address(values):
    return values.__array_interface__["data"][0]


def active():
    size = ctypes.c_size_t()
    kiln.mlx_get_active_memory(ctypes.byref(size))
    return size.value


def views(values):
    return [values, values.T, values[::-1], values[:, ::-2], values[1:2], values[:0], values[1, 2]]


def there_and_back(kind):
    for dtype in DTYPES[version < (1, 25):]:  # which had no bool
        base = numpy.arange(24).reshape(4, 6) % 2 == 0 if dtype == "bool" else numpy.arange(24).reshape(4, 6).astype(dtype)
        for values in views(base):
            values = numpy.asarray(values)
            array = from_numpy(values, kind)
            assert array.__dlpack_device__() == (CPU, 0)
            back = numpy.from_dlpack(array)
            assert back.dtype == values.dtype and back.shape == values.shape, (dtype, values.shape, back.shape)
            assert numpy.array_equal(back, values), (dtype, values.strides)
            assert values.size == 0 or address(back) == address(values), dtype
            if kind is VERSIONED:
                assert not back.flags.writeable


def numpy_keeps_ours(kind):
    before = active()
    x, total = from_numpy(numpy.arange(600, dtype="float32"), OLD), Array(kind)
    assert kiln.mlx_add(ctypes.byref(total.handle), x.handle, x.handle, stream) == 0
    shown = numpy.from_dlpack(total)
    assert address(shown) == kiln.mlx_array_data_float32(total.handle)
    del x, total
    gc.collect()
    assert active() - before == 2400, active() - before
    assert numpy.array_equal(shown, 2 * numpy.arange(600))
    part = shown[3:5]
    del shown
    assert active() - before == 2400
    assert part.tolist() == [6, 8]
    del part
    gc.collect()
    assert active() == before, active() - before


def ours_keeps_numpys(kind):
    values = numpy.arange(5, dtype="float32")
    before = sys.getrefcount(values)
    array = from_numpy(values, kind)
    assert sys.getrefcount(values) == before + 1
    del array
    gc.collect()
    assert sys.getrefcount(values) == before


def copies_are_numpys():
    values = numpy.arange(5, dtype="float32")
    array = from_numpy(values, VERSIONED)
    copy = numpy.from_dlpack(array, copy=True)
    assert copy.flags.writeable and address(copy) != address(values)
    copy[:] = 9
    assert values.tolist() == [0, 1, 2, 3, 4]


for each in kinds:
    there_and_back(each)
    numpy_keeps_ours(each)
    ours_keeps_numpys(each)
if is_new:
    copies_are_numpys()
print(len(kinds), "kinds of capsules")
