/*
 * tensor.c - see tensor.h.
 *
 * words = TENSOR | rule << 48 | rank, kind << 32 | facts, dtype, then for each axis dim and stride as the rule leaves
 * them facts = device type << 16 | device index << 8 | log2 of the alignment << 2 | writable << 1 | aligned
 */
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

#include "leave_out.h"
#include "state.h"
#include "value.h"

/* ---- what the libraries promise -------------------------------------------------------------------------------- */

struct numpy_array { /* PyArrayObject_fields of numpy 1.7 and later */
    PyObject_HEAD char *data;
    int rank;
    Py_ssize_t *dims, *strides; /* strides in bytes */
    PyObject *base;
    struct numpy_dtype {
        PyObject_HEAD PyTypeObject *type;
        char kind, letter, byte_order, old_flags;
        int number;
    } *dtype;
    int flags;
};
enum { NUMPY_ALIGNED = 0x100, NUMPY_WRITEABLE = 0x400, NUMPY_HALF = 23, NUMPY_FIRST_ODD = 17 };

struct dl_tensor { /* DLPack 1.x */
    void *data;
    struct {
        int32_t type, index;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *dims, *strides; /* strides in elements */
    uint64_t byte_offset;
};
enum { DL_CPU = 1 };
static const char dl_code[] = {'i', 'u', 'f', '?', 'f', 'c', 'b'}; /* 4 is bfloat */

struct dl_exchange {
    uint32_t major, minor;
    void *previous;
    void *functions[3];
    int (*from_object)(void *object, void *tensor);
};

/* ---- kinds of types -------------------------------------------------------------------------------------------- */

enum { MOST_KINDS = 256, SLOTS = 512 };
static struct type_kind kinds[MOST_KINDS];
static uint32_t kind_count;
static struct type_kind *slots[SLOTS];

static struct type_kind **slot_of(PyTypeObject *type)
{
    size_t i = ((uintptr_t)type >> 4) * 0x9E3779B97F4A7C15u >> 55;
    while (slots[i] && slots[i]->type != type) i = (i + 1) % SLOTS;
    return &slots[i];
}

static bool is_named(PyTypeObject *type, const char *module, const char *name)
{
    PyObject *owner = PyObject_GetAttrString((PyObject *)type, "__module__");
    PyObject *named = owner ? PyObject_GetAttrString((PyObject *)type, "__name__") : NULL;
    bool is = named && PyUnicode_Check(owner) && PyUnicode_Check(named);
    if (is) is = !strncmp(PyUnicode_AsUTF8(owner), module, strlen(module));
    if (is) is = !name || !strcmp(PyUnicode_AsUTF8(named), name);
    Py_XDECREF(owner);
    Py_XDECREF(named);
    PyErr_Clear();
    return is;
}

/* The struct must say what the attributes say. */
static bool is_numpy_layout(PyTypeObject *type)
{
    PyObject *made = PyObject_CallFunction((PyObject *)type, "((nn)s)", (Py_ssize_t)3, (Py_ssize_t)5, "int16");
    const struct numpy_array *array = (const void *)made;
    bool is = made && array->rank == 2 && array->dims[0] == 3 && array->dims[1] == 5 && array->strides[0] == 10 &&
              array->strides[1] == 2 && array->dtype->kind == 'i' && array->dtype->number == 3 &&
              (array->flags & (NUMPY_ALIGNED | NUMPY_WRITEABLE)) == (NUMPY_ALIGNED | NUMPY_WRITEABLE);
    PyObject *dtype = made ? PyObject_GetAttrString(made, "dtype") : NULL;
    is = is && dtype == (PyObject *)array->dtype;
    Py_XDECREF(dtype);
    Py_XDECREF(made);
    PyErr_Clear();
    return is;
}

static bool has_base(PyTypeObject *type, const char *name)
{
    PyObject *bases = type->tp_mro;
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++)
        if (!strcmp(((PyTypeObject *)PyTuple_GET_ITEM(bases, i))->tp_name, name)) return true;
    return false;
}

/* On the type itself, or on a class of torch that inherits it: a user's own subclass may carry more. */
static struct dl_exchange *exchange_of(PyTypeObject *type)
{
    PyObject *found = _PyType_Lookup(type, state.exchange_name);
    if (!found || !PyCapsule_IsValid(found, "dlpack_exchange_api")) return NULL;
    PyObject *own = type->tp_dict ? PyDict_GetItemWithError(type->tp_dict, state.exchange_name) : NULL;
    if (!own && !is_named(type, "torch.", NULL)) return NULL;
    struct dl_exchange *exchange = PyCapsule_GetPointer(found, "dlpack_exchange_api");
    while (exchange && exchange->major != 1) exchange = exchange->previous;
    return exchange && exchange->from_object ? exchange : NULL;
}

/* Names of C types hold their module; those of classes written in Python have to be asked for it. A class that is none
 * of these is looked at again each time, so this is quick. */
static enum kind_of_type classify(PyTypeObject *type, struct dl_exchange **exchange)
{
    const char *name = type->tp_name;
    if (!strcmp(name, "numpy.ndarray")) return is_numpy_layout(type) ? KIND_NUMPY : KIND_OTHER;
    if (!strcmp(name, "memmap") && is_named(type, "numpy", NULL)) return KIND_NUMPY;
    if ((*exchange = exchange_of(type))) return KIND_EXCHANGE;
    const char *last = strrchr(name, '.');
    if (!strcmp(last ? last + 1 : name, "ArrayImpl") && is_named(type, "jax", NULL)) return KIND_JAX;
    if (!strcmp(name, "torch.dtype") || !strcmp(name, "torch.device") || !strcmp(name, "torch.layout") ||
        !strcmp(name, "torch.memory_format"))
        return KIND_NAMED;
    if (has_base(type, "numpy.dtype")) return KIND_NUMPY_DTYPE;
    return has_base(type, "numpy.generic") ? KIND_NUMPY_SCALAR : KIND_OTHER;
}

static const struct type_kind *remember(PyTypeObject *type, struct type_kind **slot)
{
    static const struct type_kind other = {NULL, KIND_OTHER, 0, NULL};
    struct dl_exchange *exchange = NULL;
    enum kind_of_type kind = classify(type, &exchange);
    PyErr_Clear();
    if (kind == KIND_OTHER || kind_count == MOST_KINDS) return &other;
    struct type_kind *made = &kinds[kind_count];
    *made = (struct type_kind){(PyTypeObject *)Py_NewRef((PyObject *)type), kind, kind_count,
                               exchange ? exchange->from_object : NULL};
    kind_count++;
    slot = slot_of(type); /* classifying may have run Python code */
    *slot = made;
    return made;
}

const struct type_kind *kind_of(PyTypeObject *type)
{
    struct type_kind **slot = slot_of(type);
    return *slot ? *slot : remember(type, slot);
}

PyObject *kind_name(uint32_t index)
{
    if (index >= kind_count) Py_RETURN_NONE;
    return PyObject_CallOneArg(state.name_of, (PyObject *)kinds[index].type);
}

/* ---- dtypes ---------------------------------------------------------------------------------------------------- */

/* Numbers have one word; what has fields, a unit or a length has words of its own. */
static bool is_plain(const struct numpy_dtype *dtype)
{
    return (dtype->number >= 0 && dtype->number < NUMPY_FIRST_ODD) || dtype->number == NUMPY_HALF;
}

static inline uint64_t plain_word(const struct numpy_dtype *dtype)
{
    return (uint64_t)(unsigned char)dtype->kind << 16 | (uint64_t)(unsigned char)dtype->letter << 8 |
           (unsigned char)dtype->byte_order;
}

static enum outcome put_odd_dtype(struct sink *sink, PyObject *dtype)
{
    PyObject *name = PyObject_CallOneArg(state.dtype_name, dtype);
    if (!name) return FAILED;
    enum outcome outcome = value_put(sink, name);
    Py_DECREF(name);
    return outcome;
}

enum outcome tensor_put_dtype(struct sink *sink, PyObject *dtype)
{
    const struct numpy_dtype *it = (const void *)dtype;
    enum outcome outcome = sink_word(sink, sink_header(TAG_DTYPE, is_plain(it) ? plain_word(it) : 0));
    return outcome || is_plain(it) ? outcome : put_odd_dtype(sink, dtype);
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

struct layout {
    uint32_t rank, item_size;      /* item_size 1: strides are in elements */
    const int64_t *dims, *strides; /* strides NULL: packed */
};

static inline uint64_t alignment(const void *data, uint32_t most)
{
    uint64_t low = (uintptr_t)data | most;
    return (uint64_t)__builtin_ctzll(low);
}

static inline enum outcome put_nothing(struct sink *sink, uint32_t rank)
{
    enum outcome outcome = SAME;
    while (rank-- > 0 && !outcome) outcome = sink_two(sink, 0, 0);
    return outcome;
}

static enum outcome put_static_axes(struct sink *sink, const struct layout *layout)
{
    enum outcome outcome = SAME;
    int64_t packed = 1;
    if (leaves_out("tensors")) return put_nothing(sink, layout->rank);
    for (uint32_t i = layout->rank; i-- > 0 && !outcome; packed *= layout->dims[i])
        outcome = sink_two(sink, (uint64_t)layout->dims[i], (uint64_t)(layout->strides ? layout->strides[i] : packed));
    return outcome;
}

static uint64_t stride_class(int64_t stride, int64_t packed, int64_t one)
{
    return stride == 0 ? 1 : stride == packed ? 3 : stride == one ? 2 : 0;
}

static enum outcome put_dynamic_axes(struct sink *sink, const struct layout *layout)
{
    enum outcome outcome = SAME;
    int64_t packed = layout->item_size;
    for (uint32_t i = layout->rank; i-- > 0 && !outcome; packed *= layout->dims[i])
        outcome = sink_word(sink, layout->strides ? stride_class(layout->strides[i], packed, layout->item_size) : 3);
    return outcome;
}

/* Rule and value are apart, so that what is static never equals what is divisible. */
static enum outcome put_ruled(struct sink *sink, uint32_t divisor, int64_t value)
{
    uint64_t kept = divisor == 1 ? (uint64_t)value : divisor == 0 ? 0 : value % divisor == 0;
    return sink_two(sink, divisor, kept);
}

static enum outcome put_ruled_axes(struct sink *sink, const struct layout *layout, const struct tensor_rule *rule)
{
    enum outcome outcome = SAME;
    int64_t packed = layout->item_size;
    for (uint32_t i = layout->rank; i-- > 0 && !outcome; packed *= layout->dims[i]) {
        int64_t stride = (layout->strides ? layout->strides[i] : packed) / layout->item_size;
        outcome = put_ruled(sink, rule->dim_count < 0 ? 1 : rule->dims[i], layout->dims[i]);
        if (!outcome) outcome = put_ruled(sink, rule->stride_count < 0 ? 1 : rule->strides[i], stride);
    }
    return outcome;
}

static enum outcome check_rank(const struct layout *layout, const struct tensor_rule *rule)
{
    Py_ssize_t wanted = rule->dim_count >= 0 ? rule->dim_count : rule->stride_count;
    if (wanted < 0 || wanted == (Py_ssize_t)layout->rank) return SAME;
    PyErr_Format(PyExc_ValueError, "a tensor of rank %u was given where kiln.Tensor has rules for %zd axes",
                 layout->rank, wanted);
    return FAILED;
}

static enum outcome put_axes(struct sink *sink, const struct layout *layout, const struct tensor_rule *rule)
{
    if (!rule) return put_static_axes(sink, layout);
    if (rule->is_dynamic) return put_dynamic_axes(sink, layout);
    return check_rank(layout, rule) ? FAILED : put_ruled_axes(sink, layout, rule);
}

static inline uint64_t tensor_header(const struct tensor_rule *rule, uint32_t rank)
{
    return sink_header(TAG_TENSOR, (uint64_t)(!rule ? 0 : rule->is_dynamic ? 1 : 2) << 48 | rank);
}

enum { USUAL_ALIGN = 16 }; /* what malloc gives: a fresh array never differs by chance */

static inline uint32_t align_of(const struct tensor_rule *rule)
{
    return rule ? rule->align : USUAL_ALIGN;
}

static enum outcome put_numpy(struct sink *sink, PyObject *tensor, uint32_t index, const struct tensor_rule *rule)
{
    const struct numpy_array *array = (const void *)tensor;
    uint64_t facts = DL_CPU << 16 | alignment(array->data, align_of(rule)) << 2 |
                     (array->flags & NUMPY_WRITEABLE ? 2 : 0) | (array->flags & NUMPY_ALIGNED ? 1 : 0);
    enum outcome outcome = sink_two(sink, tensor_header(rule, (uint32_t)array->rank), (uint64_t)index << 32 | facts);
    if (!outcome) outcome = tensor_put_dtype(sink, (PyObject *)array->dtype);
    if (outcome) return outcome;
    const struct layout layout = {(uint32_t)array->rank, 1, array->dims, array->strides};
    if (!rule) return put_static_axes(sink, &layout);
    PyObject *size = PyObject_GetAttrString((PyObject *)array->dtype, "itemsize");
    Py_ssize_t item = size ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    if (item < 0) return FAILED;
    const struct layout ruled = {layout.rank, item ? (uint32_t)item : 1, layout.dims, layout.strides};
    return put_axes(sink, &ruled, rule);
}

/* What DLPack has no words for: sparse tensors, devices without memory. */
static enum outcome put_by_attributes(struct sink *sink, PyObject *tensor, const struct tensor_rule *rule)
{
    PyErr_Clear();
    if (rule) {
        PyErr_Format(PyExc_TypeError, "a tensor that DLPack can't describe was given where a rule is declared");
        return FAILED;
    }
    PyObject *told = PyObject_CallOneArg(state.tensor_layout, tensor);
    enum outcome outcome = told ? sink_word(sink, sink_header(TAG_REDUCED, 0)) : FAILED;
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(tensor));
    if (!outcome) outcome = value_put(sink, told);
    Py_XDECREF(told);
    return outcome;
}

static enum outcome put_exchanged(struct sink *sink, PyObject *tensor, const struct type_kind *kind,
                                  const struct tensor_rule *rule)
{
    struct dl_tensor view;
    if (kind->exchange(tensor, &view)) return put_by_attributes(sink, tensor, rule);
    uint64_t facts = (uint64_t)(uint16_t)view.device.type << 16 | (uint64_t)(uint8_t)view.device.index << 8 |
                     alignment((char *)view.data + view.byte_offset, align_of(rule)) << 2 | 3;
    uint64_t dtype = (uint64_t)view.dtype.code << 24 | (uint64_t)view.dtype.bits << 16 | view.dtype.lanes;
    enum outcome outcome =
        sink_two(sink, tensor_header(rule, (uint32_t)view.rank), (uint64_t)kind->index << 32 | facts);
    if (!outcome) outcome = sink_word(sink, sink_header(TAG_DTYPE, 1ull << 48 | dtype));
    const struct layout layout = {(uint32_t)view.rank, 1, view.dims, view.strides};
    return outcome ? outcome : put_axes(sink, &layout, rule);
}

/* (dtype, text of sharding and weak type, shape): attributes, remembered by the Python half. */
static enum outcome put_jax(struct sink *sink, PyObject *tensor, const struct type_kind *kind,
                            const struct tensor_rule *rule)
{
    enum { MOST_RANK = 64 };
    int64_t dims[MOST_RANK];
    PyObject *told = PyObject_CallOneArg(state.jax_layout, tensor), *dtype, *text, *shape;
    if (!told || !PyArg_ParseTuple(told, "OOO!", &dtype, &text, &PyTuple_Type, &shape)) {
        Py_XDECREF(told);
        return FAILED;
    }
    uint32_t rank = (uint32_t)(PyTuple_GET_SIZE(shape) > MOST_RANK ? MOST_RANK : PyTuple_GET_SIZE(shape));
    for (uint32_t i = 0; i < rank; i++) dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    const struct layout layout = {rank, 1, dims, NULL};
    enum outcome outcome =
        PyErr_Occurred() ? FAILED : sink_two(sink, tensor_header(rule, rank), (uint64_t)kind->index << 32);
    if (!outcome) outcome = tensor_put_dtype(sink, dtype);
    if (!outcome) outcome = put_axes(sink, &layout, rule);
    if (!outcome) outcome = value_put(sink, text);
    Py_DECREF(told);
    return outcome;
}

enum outcome tensor_put(struct sink *sink, PyObject *tensor, const struct type_kind *kind,
                        const struct tensor_rule *rule)
{
    sink->is_fixed = false;
    if (kind->kind == KIND_NUMPY) return put_numpy(sink, tensor, kind->index, rule);
    if (kind->kind == KIND_EXCHANGE) return put_exchanged(sink, tensor, kind, rule);
    return put_jax(sink, tensor, kind, rule);
}

/* ---- content --------------------------------------------------------------------------------------------------- */

static enum outcome put_buffer(struct sink *sink, PyObject *exporter)
{
    Py_buffer view;
    if (PyObject_GetBuffer(exporter, &view, PyBUF_CONTIG_RO)) {
        PyErr_Clear();
        PyObject *bytes = PyObject_CallMethod(exporter, "tobytes", NULL);
        if (!bytes) return FAILED;
        enum outcome outcome = sink_bytes(sink, TAG_BYTES, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
        Py_DECREF(bytes);
        return outcome;
    }
    enum outcome outcome = sink_bytes(sink, TAG_BYTES, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return outcome;
}

static enum outcome refuse_content(PyObject *tensor, const char *why)
{
    PyErr_Format(state.UnsignedError,
                 "%s is read as a variable, and its content would have to be in the key, but %s; pass it as an "
                 "argument, which is "
                 "signed by its metadata",
                 Py_TYPE(tensor)->tp_name, why);
    return FAILED;
}

static enum outcome put_numpy_content(struct sink *sink, PyObject *tensor)
{
    const struct numpy_dtype *dtype = ((const struct numpy_array *)tensor)->dtype;
    bool is_object = dtype->kind == 'O' || (dtype->kind == 'V' && !is_plain(dtype));
    return is_object ? refuse_content(tensor, "it may hold objects") : put_buffer(sink, tensor);
}

static bool is_packed(const struct dl_tensor *view, int64_t *elements)
{
    bool is = true;
    *elements = 1;
    for (int32_t i = view->rank; i-- > 0; *elements *= view->dims[i])
        is = is && (!view->strides || view->dims[i] == 1 || view->strides[i] == *elements);
    return is;
}

static enum outcome put_exchanged_content(struct sink *sink, PyObject *tensor, const struct type_kind *kind)
{
    struct dl_tensor view;
    int64_t elements;
    if (kind->exchange(tensor, &view)) return FAILED;
    if (view.device.type != DL_CPU) return refuse_content(tensor, "it is on a device, which would have to wait for it");
    if (!is_packed(&view, &elements)) return refuse_content(tensor, "it is not contiguous");
    size_t bits = (size_t)view.dtype.bits * view.dtype.lanes;
    return sink_bytes(sink, TAG_BYTES, (char *)view.data + view.byte_offset, (size_t)elements * bits / 8);
}

enum outcome tensor_put_content(struct sink *sink, PyObject *tensor, const struct type_kind *kind)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_CONTENT, 0));
    if (!outcome) outcome = tensor_put(sink, tensor, kind, NULL);
    if (outcome) return outcome;
    if (kind->kind == KIND_NUMPY) return put_numpy_content(sink, tensor);
    if (kind->kind == KIND_EXCHANGE) return put_exchanged_content(sink, tensor, kind);
    return refuse_content(tensor, "reading it would wait for its device");
}

/* ---- for launches ---------------------------------------------------------------------------------------------- */

static int view_numpy(PyObject *object, struct tensor_view *out)
{
    const struct numpy_array *array = (const void *)object;
    const struct numpy_dtype *dtype = array->dtype;
    static const uint8_t bits[] = {8, 8, 8, 16, 16, 32, 32, 64, 64, 64, 64, 32, 64};
    bool is_known = (dtype->number >= 0 && dtype->number < (int)sizeof bits) || dtype->number == NUMPY_HALF;
    out->data = array->data;
    out->code = is_known && dtype->byte_order != '>' ? dtype->kind : '?';
    out->bits = dtype->number == NUMPY_HALF ? 16 : is_known ? bits[dtype->number] : 0;
    out->is_writable = array->flags & NUMPY_WRITEABLE;
    return 0;
}

static int view_exchanged(PyObject *object, const struct type_kind *kind, struct tensor_view *out)
{
    struct dl_tensor view;
    if (kind->exchange(object, &view)) return -1;
    if (view.device.type != DL_CPU) {
        PyErr_Format(PyExc_ValueError, "%s: its data is not in memory of the CPU", Py_TYPE(object)->tp_name);
        return -1;
    }
    out->data = (char *)view.data + view.byte_offset;
    out->code = view.dtype.code < sizeof dl_code && view.dtype.lanes == 1 ? dl_code[view.dtype.code] : '?';
    out->bits = view.dtype.bits;
    out->is_writable = true;
    return 0;
}

int tensor_view(PyObject *object, struct tensor_view *out)
{
    const struct type_kind *kind = kind_of(Py_TYPE(object));
    if (kind->kind == KIND_NUMPY) return view_numpy(object, out);
    if (kind->kind == KIND_EXCHANGE) return view_exchanged(object, kind, out);
    PyErr_Format(PyExc_TypeError, "%s is no tensor whose data can be passed to a kernel; arrays of numpy and torch are",
                 Py_TYPE(object)->tp_name);
    return -1;
}
