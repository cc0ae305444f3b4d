/*
 * value.c - see value.h. A table would need a type's address, so exact types are compared one after the other, common
 * ones first.
 */
#include "value.h"

#include <string.h>

#include "function.h"
#include "leave_out.h"
#include "state.h"
#include "tensor.h"

/* ---- numbers and text ------------------------------------------------------------------------------------------ */

static enum outcome put_int(struct sink *sink, PyObject *value)
{
    int overflow;
    long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (leaves_out("values")) small = 0;
    if (!overflow) return sink_two(sink, sink_header(TAG_INT, 0), (uint64_t)small);
    PyObject *digits = PyNumber_ToBase(value, 16);
    if (!digits) return FAILED;
    enum outcome outcome = sink_bytes(sink, TAG_LONG, PyUnicode_DATA(digits), (size_t)PyUnicode_GET_LENGTH(digits));
    Py_DECREF(digits);
    return outcome;
}

static enum outcome put_double(struct sink *sink, enum tag tag, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return sink_two(sink, sink_header(tag, 0), bits);
}

static enum outcome put_complex(struct sink *sink, PyObject *value)
{
    enum outcome outcome = put_double(sink, TAG_COMPLEX, PyComplex_RealAsDouble(value));
    return outcome ? outcome : put_double(sink, TAG_COMPLEX, PyComplex_ImagAsDouble(value));
}

static enum outcome put_string(struct sink *sink, PyObject *value)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text) return sink_bytes(sink, TAG_STRING, text, (size_t)size);
    PyErr_Clear(); /* surrogates */
    PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    if (!bytes) return FAILED;
    enum outcome outcome = sink_bytes(sink, TAG_STRING, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return outcome;
}

/* ---- containers ------------------------------------------------------------------------------------------------ */

/* SAME: go on with its items. DIFFERENT: it contains itself, and *outcome says how that went. */
static enum outcome enter(struct sink *sink, PyObject *container, enum outcome *outcome)
{
    for (int i = sink->depth; i-- > 0;)
        if (sink->outer[i] == container) {
            *outcome = sink_word(sink, sink_header(TAG_BACK, (uint64_t)(sink->depth - i)));
            return DIFFERENT;
        }
    if (sink->depth == (int)(sizeof sink->outer / sizeof *sink->outer)) {
        PyErr_Format(state.UnsignedError, "values nest more than %d deep", sink->depth);
        *outcome = FAILED;
        return DIFFERENT;
    }
    sink->outer[sink->depth++] = container;
    return SAME;
}

/* Items may go while they are put: Python code of theirs may run. */
static enum outcome put_held(struct sink *sink, PyObject *item)
{
    Py_INCREF(item);
    enum outcome outcome = value_put(sink, item);
    Py_DECREF(item);
    return outcome;
}

static enum outcome put_tuple(struct sink *sink, enum tag tag, PyObject *tuple)
{
    enum outcome outcome;
    if (enter(sink, tuple, &outcome)) return outcome;
    outcome = sink_word(sink, sink_header(tag, (uint64_t)PyTuple_GET_SIZE(tuple)));
    for (Py_ssize_t i = 0; !outcome && i < PyTuple_GET_SIZE(tuple); i++)
        outcome = value_put(sink, PyTuple_GET_ITEM(tuple, i));
    sink->depth--;
    return outcome;
}

static enum outcome put_list(struct sink *sink, PyObject *list)
{
    enum outcome outcome;
    if (enter(sink, list, &outcome)) return outcome;
    sink->is_fixed = false;
    Py_ssize_t size = PyList_GET_SIZE(list), i;
    outcome = sink_word(sink, sink_header(TAG_LIST, (uint64_t)size));
    for (i = 0; !outcome && i < size && i < PyList_GET_SIZE(list); i++)
        outcome = put_held(sink, PyList_GET_ITEM(list, i));
    sink->depth--;
    if (outcome || i == size) return outcome;
    PyErr_SetString(PyExc_RuntimeError, "a list changed its size while it was signed");
    return FAILED;
}

static enum outcome put_pairs(struct sink *sink, PyObject *dict, PyObject *left_out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, size = PyDict_GET_SIZE(dict);
    enum outcome outcome = SAME;
    while (!outcome && PyDict_Next(dict, &at, &key, &value)) {
        if (key == left_out) continue;
        Py_INCREF(key);
        Py_INCREF(value);
        outcome = value_put(sink, key);
        if (!outcome) outcome = value_put(sink, value);
        Py_DECREF(key);
        Py_DECREF(value);
        if (outcome || PyDict_GET_SIZE(dict) == size) continue;
        PyErr_SetString(PyExc_RuntimeError, "a dict changed its size while it was signed");
        outcome = FAILED;
    }
    return outcome;
}

static enum outcome put_dict(struct sink *sink, PyObject *dict)
{
    enum outcome outcome;
    if (enter(sink, dict, &outcome)) return outcome;
    sink->is_fixed = false;
    outcome = sink_word(sink, sink_header(TAG_DICT, (uint64_t)PyDict_GET_SIZE(dict)));
    if (!outcome) outcome = put_pairs(sink, dict, NULL);
    sink->depth--;
    return outcome;
}

struct item {
    uint64_t *words;
    size_t count;
    PyObject *holders;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    size_t least = x->count < y->count ? x->count : y->count;
    for (size_t i = 0; i < least; i++)
        if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

static enum outcome write_item(struct item *item, PyObject *value, const struct sink *outer, bool *is_fixed)
{
    struct sink sink;
    sink_init(&sink);
    sink.takes_state = outer->takes_state;
    sink.holders = outer->holders ? PyList_New(0) : NULL;
    enum outcome outcome = put_held(&sink, value);
    if (!outcome && !(item->words = PyMem_Malloc((sink.count + 1) * sizeof *item->words))) {
        PyErr_NoMemory();
        outcome = FAILED;
    }
    if (!outcome) memcpy(item->words, sink.words, (item->count = sink.count) * sizeof *item->words);
    item->holders = sink.holders ? Py_NewRef(sink.holders) : NULL;
    *is_fixed = *is_fixed && sink.is_fixed;
    sink_release(&sink);
    return outcome;
}

static enum outcome put_item(struct sink *sink, const struct item *item)
{
    enum outcome outcome = SAME;
    for (size_t i = 0; !outcome && i < item->count; i++) outcome = sink_word(sink, item->words[i]);
    Py_ssize_t end = sink->holders ? PyList_GET_SIZE(sink->holders) : 0;
    if (!outcome && item->holders && PyList_SetSlice(sink->holders, end, end, item->holders)) outcome = FAILED;
    return outcome;
}

/* The order of a set is an accident of hashing: items are sorted by their words. Holders in a set are sorted by
 * address, which other processes do not share; the fields for people are sorted again. */
static enum outcome put_set(struct sink *sink, enum tag tag, PyObject *set)
{
    PyObject *values = PySequence_List(set);
    if (!values) return FAILED;
    size_t size = (size_t)PyList_GET_SIZE(values);
    struct item *items = PyMem_Calloc(size + 1, sizeof *items);
    enum outcome outcome = items ? sink_word(sink, sink_header(tag, size)) : FAILED;
    if (!items) PyErr_NoMemory();
    if (tag == TAG_SET) sink->is_fixed = false;
    for (size_t i = 0; !outcome && i < size; i++)
        outcome = write_item(&items[i], PyList_GET_ITEM(values, (Py_ssize_t)i), sink, &sink->is_fixed);
    if (!outcome) qsort(items, size, sizeof *items, compare_items);
    for (size_t i = 0; !outcome && i < size; i++) outcome = put_item(sink, &items[i]);
    for (size_t i = 0; items && i < size; i++) {
        PyMem_Free(items[i].words);
        Py_XDECREF(items[i].holders);
    }
    PyMem_Free(items);
    Py_DECREF(values);
    return outcome;
}

/* ---- objects --------------------------------------------------------------------------------------------------- */

static enum outcome put_slots(struct sink *sink, PyObject *object, PyObject *names)
{
    Py_ssize_t count = PyList_Check(names) ? PyList_GET_SIZE(names) : 0;
    enum outcome outcome = sink_word(sink, sink_header(TAG_TUPLE, (uint64_t)count));
    for (Py_ssize_t i = 0; !outcome && i < count; i++) {
        PyObject *value = PyObject_GetAttr(object, PyList_GET_ITEM(names, i));
        if (!value && !PyErr_ExceptionMatches(PyExc_AttributeError)) return FAILED;
        if (!value) PyErr_Clear();
        outcome = value_put_or_absent(sink, value);
        Py_XDECREF(value);
    }
    return outcome;
}

/* All that an object of a class written in Python holds: its dict, in order, and its slots. */
static enum outcome put_state(struct sink *sink, PyObject *object)
{
    enum outcome outcome;
    if (enter(sink, object, &outcome)) return outcome;
    sink->is_fixed = false;
    outcome = sink_word(sink, sink_header(TAG_OBJECT, 0));
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(object));
    PyObject *dict = outcome ? NULL : PyObject_GetAttr(object, state.dict_name);
    if (!outcome && !dict) PyErr_Clear();
    if (!outcome)
        outcome =
            sink_word(sink, sink_header(TAG_DICT, dict && PyDict_Check(dict) ? (uint64_t)PyDict_GET_SIZE(dict) : 0));
    if (!outcome && dict && PyDict_Check(dict)) outcome = put_pairs(sink, dict, NULL);
    Py_XDECREF(dict);
    PyObject *names = outcome ? NULL : PyObject_CallOneArg(state.slots_of, (PyObject *)Py_TYPE(object));
    if (!outcome) outcome = names ? put_slots(sink, object, names) : FAILED;
    Py_XDECREF(names);
    sink->depth--;
    return outcome;
}

static enum outcome put_signed(struct sink *sink, PyObject *object)
{
    PyObject *method = PyObject_GetAttr(object, state.signature_name);
    if (!method) return FAILED;
    PyObject *told = PyCallable_Check(method) ? PyObject_CallNoArgs(method) : NULL;
    if (!told && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s.__cache_signature__ is %s; it must be a method that returns constants",
                     Py_TYPE(object)->tp_name, Py_TYPE(method)->tp_name);
    Py_DECREF(method);
    if (!told) return FAILED;
    bool takes_state = sink->takes_state;
    sink->is_fixed = sink->takes_state = false;
    enum outcome outcome = sink_word(sink, sink_header(TAG_SIGNED, 0));
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(object));
    if (!outcome) outcome = value_put(sink, told);
    sink->takes_state = takes_state;
    Py_DECREF(told);
    return outcome;
}

static enum outcome put_enum(struct sink *sink, PyObject *member)
{
    PyObject *name = PyObject_GetAttr(member, state.name_name),
             *value = name ? PyObject_GetAttr(member, state.value_name) : NULL;
    enum outcome outcome = value ? sink_word(sink, sink_header(TAG_ENUM, 0)) : FAILED;
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(member));
    if (!outcome) outcome = value_put(sink, name);
    if (!outcome) outcome = value_put(sink, value);
    Py_XDECREF(name);
    Py_XDECREF(value);
    return outcome;
}

static enum outcome put_record(struct sink *sink, PyObject *tuple)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_RECORD, 0));
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(tuple));
    return outcome ? outcome : put_tuple(sink, TAG_TUPLE, tuple);
}

static enum outcome put_method(struct sink *sink, PyObject *method)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_METHOD, 0));
    sink->is_fixed = false;
    if (!outcome) outcome = value_put(sink, PyMethod_GET_SELF(method));
    return outcome ? outcome : value_put(sink, PyMethod_GET_FUNCTION(method));
}

static enum outcome put_attributes(struct sink *sink, PyObject *object, const char *const *names, size_t count)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_WRAPPER, count));
    if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(object));
    for (size_t i = 0; !outcome && i < count; i++) {
        PyObject *value = PyObject_GetAttrString(object, names[i]);
        outcome = value ? value_put(sink, value) : FAILED;
        Py_XDECREF(value);
    }
    return outcome;
}

static enum outcome put_named(struct sink *sink, PyObject *value, uint32_t index)
{
    PyObject *text = PyObject_Str(value);
    enum outcome outcome = text ? sink_word(sink, sink_header(TAG_NAMED, index)) : FAILED;
    if (!outcome) outcome = put_string(sink, text);
    Py_XDECREF(text);
    return outcome;
}

static enum outcome put_scalar(struct sink *sink, PyObject *scalar)
{
    PyObject *dtype = PyObject_GetAttrString(scalar, "dtype"),
             *bytes = dtype ? PyObject_CallMethod(scalar, "tobytes", NULL) : NULL;
    enum outcome outcome = bytes ? sink_word(sink, sink_header(TAG_SCALAR, 0)) : FAILED;
    if (!outcome) outcome = tensor_put_dtype(sink, dtype);
    if (!outcome) outcome = value_put(sink, bytes);
    Py_XDECREF(dtype);
    Py_XDECREF(bytes);
    return outcome;
}

/* ---- what is not known ------------------------------------------------------------------------------------------ */

static enum outcome refuse(const struct sink *sink, PyObject *value)
{
    PyErr_Format(state.UnsignedError,
                 "%.200s can't sign itself. Give the class a method __cache_signature__(self) that returns what "
                 "generated code depends "
                 "on, in constants%s",
                 Py_TYPE(value)->tp_name,
                 sink->takes_state ? ", or leave the variable out by its name: @kiln.jit(..., ignore=(\"name\",))"
                                   : ": return (self.width, self.mode)");
    return FAILED;
}

static bool is_written_in_python(PyTypeObject *type)
{
    for (; type && type != &PyBaseObject_Type; type = type->tp_base)
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    PyTypeObject *first = type;
    return first == &PyBaseObject_Type;
}

/* Functions of extensions, by their name; objects that wrap a function, by that; others by what pickle would keep. */
static enum outcome put_other_state(struct sink *sink, PyObject *value)
{
    PyObject *told = PyObject_CallOneArg(state.reduce, value);
    if (!told) return FAILED;
    enum outcome outcome = DIFFERENT;
    if (told == Py_True) {
        outcome = sink_holder(sink, TAG_BUILTIN, value);
    } else if (told == Py_None) {
        outcome = refuse(sink, value);
    } else if (!enter(sink, value, &outcome)) {
        sink->is_fixed = false;
        outcome = sink_word(sink, sink_header(TAG_REDUCED, 0));
        if (!outcome) outcome = sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(value));
        if (!outcome) outcome = value_put(sink, told);
        sink->depth--;
    }
    Py_DECREF(told);
    return outcome;
}

static enum outcome put_by_kind(struct sink *sink, PyObject *value, const struct type_kind *kind)
{
    switch (kind->kind) {
    case KIND_NUMPY:
    case KIND_EXCHANGE:
    case KIND_JAX:
        return sink->takes_state ? tensor_put_content(sink, value, kind) : tensor_put(sink, value, kind, NULL);
    case KIND_NUMPY_SCALAR:
        return put_scalar(sink, value);
    case KIND_NUMPY_DTYPE:
        return tensor_put_dtype(sink, value);
    default:
        return put_named(sink, value, kind->index);
    }
}

static enum outcome put_object(struct sink *sink, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (PyType_Check(value)) return sink_holder(sink, TAG_CLASS, value);
    if (_PyType_Lookup(type, state.signature_name)) return put_signed(sink, value);
    if (type == &function_type) return value_put(sink, function_wrapped(value));
    if (PyType_IsSubtype(Py_TYPE(type), (PyTypeObject *)state.EnumMeta)) return put_enum(sink, value);
    if (PyTuple_Check(value) && _PyType_Lookup(type, state.fields_name)) return put_record(sink, value);
    if (PyModule_Check(value)) return sink_holder(sink, TAG_MODULE, value);
    bool is_plain = is_written_in_python(type);
    if (is_plain && _PyType_Lookup(type, state.dataclass_name)) return put_state(sink, value);
    if (type == (PyTypeObject *)state.Stream) return sink_word(sink, sink_header(TAG_STREAM, 0));
    if (!sink->takes_state) return refuse(sink, value);
    PyObject *is_library = PyObject_CallOneArg(state.is_library, (PyObject *)type);
    if (!is_library) return FAILED;
    Py_DECREF(is_library);
    return is_plain && is_library != Py_True ? put_state(sink, value) : put_other_state(sink, value);
}

static enum outcome put_rare(struct sink *sink, PyObject *value)
{
    static const char *const function_of[] = {"__func__"}, *const property_of[] = {"fget", "fset", "fdel"};
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyComplex_Type) return put_complex(sink, value);
    if (type == &PySet_Type) return put_set(sink, TAG_SET, value);
    if (type == &PyFrozenSet_Type) return put_set(sink, TAG_FROZENSET, value);
    if (type == &PyByteArray_Type) {
        sink->is_fixed = false;
        return sink_bytes(sink, TAG_BYTEARRAY, PyByteArray_AS_STRING(value), (size_t)PyByteArray_GET_SIZE(value));
    }
    if (type == &PyModule_Type) return sink_holder(sink, TAG_MODULE, value);
    if (type == &PyCFunction_Type || type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
        type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type || type == &PyClassMethodDescr_Type)
        return sink_holder(sink, TAG_BUILTIN, value);
    if (type == &PyCode_Type) return sink_holder(sink, TAG_CODE, value);
    if (type == &PyMethod_Type) return put_method(sink, value);
    if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) return put_attributes(sink, value, function_of, 1);
    if (type == &PyProperty_Type) return put_attributes(sink, value, property_of, 3);
    if (value == Py_Ellipsis || value == Py_NotImplemented) return sink_holder(sink, TAG_BUILTIN, value);
    if (type == &PySlice_Type) {
        static const char *const slice_of[] = {"start", "stop", "step"};
        return put_attributes(sink, value, slice_of, 3);
    }
    return put_object(sink, value);
}

enum outcome value_put(struct sink *sink, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type) return put_int(sink, value);
    if (type == &PyUnicode_Type) return put_string(sink, value);
    if (type == &PyFloat_Type) return put_double(sink, TAG_FLOAT, PyFloat_AS_DOUBLE(value));
    if (type == &PyBool_Type) return sink_word(sink, sink_header(TAG_BOOL, value == Py_True));
    if (value == Py_None) return sink_word(sink, sink_header(TAG_NONE, 0));
    if (type == &PyFunction_Type) return sink_holder(sink, TAG_FUNCTION, value);
    if (type == &PyTuple_Type) return put_tuple(sink, TAG_TUPLE, value);
    if (type == &PyList_Type) return put_list(sink, value);
    if (type == &PyDict_Type) return put_dict(sink, value);
    if (type == &PyBytes_Type)
        return sink_bytes(sink, TAG_BYTES, PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
    const struct type_kind *kind = kind_of(type);
    if (kind->kind != KIND_OTHER) return put_by_kind(sink, value, kind);
    return put_rare(sink, value);
}

enum outcome value_put_or_absent(struct sink *sink, PyObject *value)
{
    return value ? value_put(sink, value) : sink_word(sink, sink_header(TAG_ABSENT, 0));
}
