/*
 * kernel.c - see kernel.h. A signature is a str per parameter, made by _signature.py: kind (p, i, u, f, b), bits, and
 * for a pointer what it points to: "i64", "f32", "pf32" (const: "Pf32"), "p" to anything.
 */
#include "kernel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor.h"

#ifdef __aarch64__
enum { INTEGERS = 8, FLOATS = 8, STACK = 16, MOST = 24 };
#define INTEGER_ROW(v) v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
typedef int64_t integers_function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double,
                                  double, double, double, double, double, double, double, int64_t, int64_t, int64_t,
                                  int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                  int64_t, int64_t, int64_t, int64_t);
typedef double floats_function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double,
                               double, double, double, double, double, double, int64_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t);
#else
enum { INTEGERS = 6, FLOATS = 8, STACK = 16, MOST = 22 };
#define INTEGER_ROW(v) v[0], v[1], v[2], v[3], v[4], v[5]
typedef int64_t integers_function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double, double,
                                  double, double, double, double, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                  int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                  int64_t);
typedef double floats_function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double, double,
                               double, double, double, double, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                               int64_t);
#endif

struct c_type {
    char kind, pointee; /* pointee '\0': anything, or no pointer */
    bool is_const;
    uint32_t bits;
};

struct kernel {
    PyObject_HEAD vectorcallfunc call;
    void *address;
    PyObject *name;
    struct c_type result;
    Py_ssize_t count;
    struct c_type parameters[MOST];
};

struct registers {
    int64_t integers[8], stack[STACK];
    double floats[FLOATS];
    int integer_count, float_count, stack_count;
};

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static int refuse(const struct kernel *kernel, Py_ssize_t i, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%U: parameter %zd is %s in the kernel's signature, and %s was given", kernel->name,
                 i + 1, wanted, Py_TYPE(value)->tp_name);
    return -1;
}

static int put_word(struct registers *registers, int64_t word)
{
    if (registers->integer_count < INTEGERS)
        registers->integers[registers->integer_count++] = word;
    else if (registers->stack_count < STACK)
        registers->stack[registers->stack_count++] = word;
    else
        return PyErr_SetString(PyExc_ValueError, "a kernel has too many parameters"), -1;
    return 0;
}

static int put_double(struct registers *registers, double value)
{
    if (registers->float_count < FLOATS) {
        registers->floats[registers->float_count++] = value;
        return 0;
    }
    int64_t word;
    memcpy(&word, &value, sizeof word);
    if (registers->stack_count == STACK)
        return PyErr_SetString(PyExc_ValueError, "a kernel has too many parameters"), -1;
    registers->stack[registers->stack_count++] = word;
    return 0;
}

static int put_pointer(const struct kernel *kernel, struct registers *registers, Py_ssize_t i, PyObject *value)
{
    const struct c_type *type = &kernel->parameters[i];
    struct tensor_view view;
    if (PyLong_Check(value) && !type->pointee) { /* an address or a stream */
        void *address = PyLong_AsVoidPtr(value);
        return !address && PyErr_Occurred() ? -1 : put_word(registers, (int64_t)(intptr_t)address);
    }
    if (tensor_view(value, &view)) return -1;
    char code = view.code == 'b' ? 'u' : view.code, wanted = type->pointee == 'b' ? 'u' : type->pointee;
    if (type->pointee && (code != wanted || view.bits != type->bits)) {
        PyErr_Format(PyExc_TypeError,
                     "%U: parameter %zd points to %c%u in the kernel's signature, and the tensor has elements of %c%u",
                     kernel->name, i + 1, type->pointee, type->bits, view.code, view.bits);
        return -1;
    }
    if (type->pointee && !type->is_const && !view.is_writable) {
        PyErr_Format(PyExc_ValueError,
                     "%U: parameter %zd is not const in the kernel's signature, and the array is read-only",
                     kernel->name, i + 1);
        return -1;
    }
    return put_word(registers, (int64_t)(intptr_t)view.data);
}

static int put_integer(const struct kernel *kernel, struct registers *registers, Py_ssize_t i, PyObject *value)
{
    const struct c_type *type = &kernel->parameters[i];
    if (!PyIndex_Check(value)) return refuse(kernel, i, "an integer", value);
    PyObject *index = PyNumber_Index(value);
    if (!index) return -1;
    int64_t word = type->kind == 'i' ? PyLong_AsLongLong(index) : (int64_t)PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (word == -1 && PyErr_Occurred()) return -1;
    uint32_t unused = 64 - (type->kind == 'b' ? 1 : type->bits);
    int64_t cut = type->kind == 'i' ? (int64_t)((uint64_t)word << unused) >> unused
                                    : (int64_t)((uint64_t)word << unused >> unused);
    if (cut == word) return put_word(registers, word);
    PyErr_Format(PyExc_OverflowError, "%U: parameter %zd has %u bits in the kernel's signature, which can't hold %R",
                 kernel->name, i + 1, 64 - unused, value);
    return -1;
}

static int put_float(const struct kernel *kernel, struct registers *registers, Py_ssize_t i, PyObject *value)
{
    double wide = PyFloat_AsDouble(value);
    if (wide == -1.0 && PyErr_Occurred())
        return PyErr_ExceptionMatches(PyExc_TypeError) ? refuse(kernel, i, "a floating-point number", value) : -1;
    if (kernel->parameters[i].bits == 64) return put_double(registers, wide);
    float narrow[2] = {(float)wide, 0};
    memcpy(&wide, narrow, sizeof wide); /* the low half of the register */
    return put_double(registers, wide);
}

static int put_all(const struct kernel *kernel, PyObject *const *args, struct registers *registers)
{
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < kernel->count; i++) {
        char kind = kernel->parameters[i].kind;
        failed = kind == 'p'   ? put_pointer(kernel, registers, i, args[i])
                 : kind == 'f' ? put_float(kernel, registers, i, args[i])
                               : put_integer(kernel, registers, i, args[i]);
    }
    return failed;
}

/* ---- the call -------------------------------------------------------------------------------------------------- */

#define ALL(r)                                                                                                         \
    INTEGER_ROW((r)->integers), (r)->floats[0], (r)->floats[1], (r)->floats[2], (r)->floats[3], (r)->floats[4],        \
        (r)->floats[5], (r)->floats[6], (r)->floats[7], (r)->stack[0], (r)->stack[1], (r)->stack[2], (r)->stack[3],    \
        (r)->stack[4], (r)->stack[5], (r)->stack[6], (r)->stack[7], (r)->stack[8], (r)->stack[9], (r)->stack[10],      \
        (r)->stack[11], (r)->stack[12], (r)->stack[13], (r)->stack[14], (r)->stack[15]

static PyObject *integer_result(const struct c_type *type, int64_t word)
{
    if (!type->kind) Py_RETURN_NONE;
    if (type->kind == 'b') return PyBool_FromLong((unsigned char)word != 0);
    uint32_t unused = 64 - type->bits;
    if (type->kind == 'i') return PyLong_FromLongLong((int64_t)((uint64_t)word << unused) >> unused);
    return PyLong_FromUnsignedLongLong((uint64_t)word << unused >> unused);
}

static PyObject *launch(const struct kernel *kernel, const struct registers *r)
{
    int64_t word = 0;
    double number = 0;
    bool is_float = kernel->result.kind == 'f';
    integers_function *integers;
    floats_function *floats;
    memcpy(&integers, &kernel->address, sizeof integers);
    memcpy(&floats, &kernel->address, sizeof floats);
    Py_BEGIN_ALLOW_THREADS if (is_float) number = floats(ALL(r));
    else word = integers(ALL(r));
    Py_END_ALLOW_THREADS if (!is_float) return integer_result(&kernel->result, word);
    float narrow[2];
    memcpy(narrow, &number, sizeof number);
    return PyFloat_FromDouble(kernel->result.bits == 32 ? (double)narrow[0] : number);
}

static PyObject *kernel_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    const struct kernel *kernel = (const struct kernel *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    struct registers registers;
    memset(&registers, 0, sizeof registers);
    if (names && PyTuple_GET_SIZE(names))
        return PyErr_Format(PyExc_TypeError, "%U: a kernel of kiln.llvm takes its arguments by position", kernel->name);
    if (count != kernel->count)
        return PyErr_Format(PyExc_TypeError, "%U: the kernel's signature has %zd parameters, and %zd were given",
                            kernel->name, kernel->count, count);
    return put_all(kernel, args, &registers) ? NULL : launch(kernel, &registers);
}

/* ---- making one ------------------------------------------------------------------------------------------------ */

static int read_type(PyObject *told, struct c_type *out, bool is_result)
{
    const char *text = PyUnicode_Check(told) ? PyUnicode_AsUTF8(told) : NULL;
    char kind = text ? *text : '?';
    bool is_pointer = kind == 'p' || kind == 'P';
    if (text && is_result && !kind) return *out = (struct c_type){0}, 0;
    if (text && strchr("pPiufb", kind) && kind && !(is_result && is_pointer)) {
        const char *rest = is_pointer && text[1] ? text + 2 : text + 1;
        *out = (struct c_type){is_pointer ? 'p' : kind, is_pointer ? text[1] : 0, kind == 'P', (uint32_t)atoi(rest)};
        return 0;
    }
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "signature: %R is no type of a parameter", told);
    return -1;
}

PyObject *kernel_make(PyObject *address, PyObject *name, PyObject *types)
{
    PyObject *result, *parameters;
    if (!PyTuple_Check(types) || !PyArg_ParseTuple(types, "UO!:signature", &result, &PyTuple_Type, &parameters))
        return NULL;
    if (PyTuple_GET_SIZE(parameters) > MOST)
        return PyErr_Format(PyExc_ValueError, "signature: at most %d parameters", MOST);
    struct kernel *kernel = PyObject_New(struct kernel, &kernel_type);
    if (!kernel) return NULL;
    memset((char *)kernel + sizeof(PyObject), 0, sizeof *kernel - sizeof(PyObject));
    kernel->call = kernel_call;
    kernel->name = Py_NewRef(name);
    kernel->address = PyLong_AsVoidPtr(address);
    kernel->count = PyTuple_GET_SIZE(parameters);
    int failed = !kernel->address || read_type(result, &kernel->result, true);
    for (Py_ssize_t i = 0; !failed && i < kernel->count; i++)
        failed = read_type(PyTuple_GET_ITEM(parameters, i), &kernel->parameters[i], false);
    if (failed) Py_CLEAR(kernel);
    return (PyObject *)kernel;
}

static void kernel_dealloc(struct kernel *kernel)
{
    Py_XDECREF(kernel->name);
    PyObject_Free(kernel);
}

PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln._core.Kernel",
    .tp_doc = "Machine code behind a C signature. Its code lives as long as the function that it was made for.",
    .tp_basicsize = sizeof(struct kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)kernel_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(struct kernel, call),
};
