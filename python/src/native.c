/*
 * native.c - see native.h. A struct native is a kiln_function and the kiln_compiler it is made with; a compiler that
 * changes its identity, or another version of a named package, makes another one. It lives as long as its function.
 */
#include "native.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "cache.h"
#include "leave_out.h"

struct native {
    struct native *next;
    PyObject *identity; /* str: of the compiler and the named packages */
    PyObject *compiler;
    PyObject
        *linked; /* list: what link() gave. The reference is here and not in the cache, so that the collector sees it */
    kiln_function *handle;
    kiln_compiler table;
    size_t watched; /* variables of the function that the handle watches */
};

static _Thread_local struct miss *running; /* the innermost miss of this thread */

/* ---- compiles in flight, for fork ------------------------------------------------------------------------------- */

static pthread_mutex_t flight_lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards these two; taken without the GIL, or for an instant */
static pthread_cond_t flight_over = PTHREAD_COND_INITIALIZER;
static unsigned in_flight, forks;

static struct timespec in_seconds(long seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return until;
}

/* Without the GIL. Nobody starts while a fork waits; one that waits inside of another compile would wait for itself. */
static void begin_flight(bool is_nested)
{
    const struct timespec until = in_seconds(10);
    pthread_mutex_lock(&flight_lock);
    while (forks && !is_nested && !pthread_cond_timedwait(&flight_over, &flight_lock, &until)) continue;
    in_flight += !is_nested;
    pthread_mutex_unlock(&flight_lock);
}

static void end_flight(bool is_nested)
{
    pthread_mutex_lock(&flight_lock);
    if (!is_nested && in_flight) in_flight--;
    pthread_cond_broadcast(&flight_over);
    pthread_mutex_unlock(&flight_lock);
}

static PyObject *before_fork(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    const struct timespec until = in_seconds(10);
    unsigned own = running ? 1 : 0; /* a fork inside of a callback does not wait for itself */
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&flight_lock);
    forks++;
    while (in_flight > own && !pthread_cond_timedwait(&flight_over, &flight_lock, &until)) continue;
    pthread_mutex_unlock(&flight_lock);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *after_fork_in_parent(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    pthread_mutex_lock(&flight_lock);
    if (forks) forks--;
    pthread_cond_broadcast(&flight_over);
    pthread_mutex_unlock(&flight_lock);
    Py_RETURN_NONE;
}

static PyObject *after_fork_in_child(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    pthread_mutex_init(&flight_lock, NULL);
    pthread_cond_init(&flight_over, NULL);
    in_flight = running ? 1 : 0;
    forks = 0;
    Py_RETURN_NONE;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static const char changed_text[] =
    "what it reads changed while it was lowered"; /* also told to those who wait: they make their keys again */

/* Keeps the exception for native_get(), and its text for those who wait. */
static kiln_status keep_error(struct miss *miss, kiln_status status, kiln_error *err)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
    if (err) {
        err->status = status;
        snprintf(err->text, sizeof err->text, "%s: %.800s",
                 type && PyType_Check(type) ? ((PyTypeObject *)type)->tp_name : "an exception", words ? words : "");
    }
    Py_XDECREF(text);
    PyErr_Clear();
    if (miss && !miss->error[0]) {
        miss->error[0] = type;
        miss->error[1] = value;
        miss->error[2] = trace;
        return status;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return status;
}

static void drop_error(struct miss *miss)
{
    for (int i = 0; i < 3; i++) Py_CLEAR(miss->error[i]);
}

/* ---- what compile() may ask ---------------------------------------------------------------------------------------
 */

struct request {
    PyObject_HEAD const kiln_request *request; /* NULL: the callback is over */
};

static const kiln_request *request_of(PyObject *self)
{
    const kiln_request *request = ((struct request *)self)->request;
    if (!request) PyErr_SetString(PyExc_RuntimeError, "the request is valid inside of compile() only");
    return request;
}

static PyObject *text_or_none(const char *text)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape") : Py_NewRef(Py_None);
}

static PyObject *request_target(PyObject *self, void *none)
{
    const kiln_request *request = request_of(self);
    (void)none;
    return request ? text_or_none(kiln_request_target(request)) : NULL;
}

static PyObject *ask(PyObject *self, PyObject *name, const char *(*answer)(const kiln_request *, const char *))
{
    const kiln_request *request = request_of(self);
    if (!request) return NULL;
    const char *text = state_text("name", name);
    return text ? text_or_none(answer(request, text)) : NULL;
}

static PyObject *request_option(PyObject *self, PyObject *name)
{
    return ask(self, name, kiln_request_option);
}

static PyObject *request_env(PyObject *self, PyObject *name)
{
    return ask(self, name, kiln_request_env);
}

static PyGetSetDef request_attributes[] = {
    {"target", request_target, NULL, "What is compiled for, as resolved: \"x86-64-v3\".", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef request_methods[] = {
    {"option", request_option, METH_O,
     "option(name): a pushed option, or \"opt_level\" and \"fast_math\"; None: not set."},
    {"env", request_env, METH_O,
     "env(name): a variable that the function declares (env=...), as the key has it; None: unset."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject request_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln.Request",
    .tp_doc = "What is being compiled: what its key holds besides the text. Valid inside of compile().",
    .tp_basicsize = sizeof(struct request),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = request_attributes,
    .tp_methods = request_methods,
};

/* ---- callbacks ------------------------------------------------------------------------------------------------- */

static int append_text(PyObject *function_name, PyObject *told, kiln_text *text)
{
    Py_ssize_t size;
    const char *data = NULL;
    if (PyUnicode_Check(told))
        data = PyUnicode_AsUTF8AndSize(told, &size);
    else if (PyBytes_Check(told))
        PyBytes_AsStringAndSize(told, (char **)&data, &size);
    else
        PyErr_Format(PyExc_TypeError, "%U returned %s; kernel text is a str or bytes", function_name,
                     Py_TYPE(told)->tp_name);
    if (!data) return -1;
    if (!kiln_text_append(text, data, (size_t)size)) return 0;
    PyErr_NoMemory();
    return -1;
}

/* What it read must still be what the key was made from. */
static int check_changed(struct miss *miss)
{
    struct function *function = miss->function;
    struct watches *watches = &miss->owner->watches;
    enum outcome outcome = watches->generation == miss->generation
                               ? watches_match_block(watches, (uint64_t *)(void *)PyBytes_AS_STRING(miss->block),
                                                     (size_t)PyBytes_GET_SIZE(miss->block) / 8)
                               : DIFFERENT;
    if (outcome == FAILED) return -1;
    if (variables_see(&function->variables)) return -1;
    if (leaves_out("meanwhile")) return 0;
    miss->has_changed = outcome == DIFFERENT || function->variables.stamp != miss->variables_stamp;
    return 0;
}

static PyObject *call_wrapped(struct miss *miss)
{
    struct function *function = miss->function;
    function->lowers++;
    if (!function->is_dynamic) return PyObject_Call(function->wrapped, miss->args, miss->kwargs);
    PyObject *pair = PyObject_CallFunctionObjArgs(state.placeholders, (PyObject *)function, miss->args,
                                                  miss->kwargs ? miss->kwargs : Py_None, NULL);
    PyObject *told = pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2
                         ? PyObject_Call(function->wrapped, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1))
                         : NULL;
    Py_XDECREF(pair);
    return told;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    struct miss *miss = running;
    (void)payload, (void)request;
    miss->has_lowered = miss->is_lowering = true;
    PyObject *told = call_wrapped(miss);
    miss->is_lowering = false;
    int failed = !told || append_text(miss->function->name, told, text) || check_changed(miss);
    Py_XDECREF(told);
    kiln_status status = failed              ? keep_error(miss, KILN_LOWER_FAILED, err)
                         : miss->has_changed ? KILN_LOWER_FAILED
                                             : KILN_OK;
    if (!failed && miss->has_changed && err) snprintf(err->text, sizeof err->text, "%s", changed_text);
    PyGILState_Release(gil);
    return status;
}

static PyObject *call_compiler(struct native *native, const kiln_request *request, PyObject *text)
{
    PyObject *compile = PyObject_GetAttr(native->compiler, state.compile_name), *told;
    if (!compile) {
        PyErr_Clear();
        return PyObject_CallOneArg(native->compiler, text);
    }
    struct request *asked = PyObject_New(struct request, &request_type);
    if (!asked) return NULL;
    asked->request = request;
    told = PyObject_CallFunctionObjArgs(compile, text, (PyObject *)asked, NULL);
    asked->request = NULL;
    Py_DECREF(asked);
    Py_DECREF(compile);
    return told;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    struct native *native = self;
    struct miss *miss = running;
    kiln_status status = KILN_OK;
    PyObject *bytes = PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.size), *told = NULL;
    if (miss) miss->function->compiles++;
    if (bytes) told = call_compiler(native, request, bytes);
    if (told && !PyBytes_Check(told))
        PyErr_Format(PyExc_TypeError, "compile() returned %s; an artifact is bytes", Py_TYPE(told)->tp_name);
    if (told && PyBytes_Check(told)) {
        status = kiln_artifact_put(out, "artifact", PyBytes_AS_STRING(told), (size_t)PyBytes_GET_SIZE(told));
        if (!status) status = kiln_artifact_set_entry(out, "artifact");
    } else {
        status = keep_error(miss, KILN_COMPILE_FAILED, err);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(told);
    PyGILState_Release(gil);
    return status;
}

static PyObject *call_link(struct native *native, PyObject *artifact, kiln_device *device)
{
    PyObject *link = PyObject_GetAttr(native->compiler, state.link_name);
    if (!link) {
        PyErr_Clear();
        return Py_NewRef(artifact);
    }
    PyObject *told = PyObject_CallFunction(link, "Os", artifact, kiln_device_name(device));
    if (told && !PyCallable_Check(told)) {
        PyErr_Format(PyExc_TypeError, "link() returned %s, which can't be called", Py_TYPE(told)->tp_name);
        Py_CLEAR(told);
    }
    Py_DECREF(link);
    return told;
}

static kiln_status link_artifact(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                 kiln_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    kiln_bytes data = kiln_artifact_get(artifact, "artifact");
    PyObject *bytes = PyBytes_FromStringAndSize(data.data, (Py_ssize_t)data.size), *told = NULL;
    if (running) drop_error(running); /* of a link that is tried again */
    if (bytes) told = call_link(self, bytes, device);
    if (told && PyList_Append(((struct native *)self)->linked, told)) Py_CLEAR(told);
    kiln_status status = told ? KILN_OK : keep_error(running, KILN_LINK_FAILED, err);
    if (told) *executable = told;
    Py_XDECREF(told);
    Py_XDECREF(bytes);
    PyGILState_Release(gil);
    return status;
}

static bool is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

static void unlink_callable(void *self, void *executable)
{
    if (!Py_IsInitialized() || is_finalizing()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *linked = ((struct native *)self)->linked;
    Py_ssize_t i = PyList_GET_SIZE(linked);
    while (i-- > 0 && PyList_GET_ITEM(linked, i) != executable) continue;
    if (i >= 0 && PyList_SetSlice(linked, i, i + 1, NULL)) PyErr_Clear();
    PyGILState_Release(gil);
}

/* ---- natives --------------------------------------------------------------------------------------------------- */

/* The compiler's identity, then a line for each named package. */
static PyObject *identity_now(struct function *function)
{
    if (leaves_out("packages") || !PyTuple_GET_SIZE(function->packages)) return Py_NewRef(function->identity);
    PyObject *versions = PyObject_CallOneArg(state.versions, function->packages);
    PyObject *all = versions ? PyUnicode_FromFormat("%U\n%U", function->identity, versions) : NULL;
    Py_XDECREF(versions);
    return all;
}

static int watch_variables(struct native *native, const struct function *function)
{
    kiln_error error = {KILN_OK, ""};
    for (; native->watched < function->variables.count; native->watched++) {
        kiln_status status =
            kiln_watch_env(native->handle, PyUnicode_AsUTF8(function->variables.all[native->watched].name), &error);
        if (status) return state_raise(status, error.text), -1;
    }
    return 0;
}

static int make_handle(struct native *native, struct function *function)
{
    kiln_error error = {KILN_OK, ""};
    const kiln_function_options options = {
        .struct_size = sizeof options,
        .name = PyUnicode_AsUTF8(function->name),
        .compiler = function->is_llvm ? kiln_compiler_llvm() : &native->table,
        .lower = lower,
        .payload = native,
        .flags = function->is_llvm ? 0 : KILN_RECLAIM, /* callables are counted by Python, addresses by nobody */
    };
    kiln_cache *cache = cache_handle(function->cache);
    if (!cache) return -1;
    kiln_status status = kiln_function_new(cache, &options, &native->handle, &error);
    if (status) state_raise(status, error.text);
    return status ? -1 : 0;
}

static void free_native(struct native *native)
{
    if (native->handle) {
        Py_BEGIN_ALLOW_THREADS kiln_function_free(native->handle);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(native->identity);
    Py_XDECREF(native->compiler);
    Py_XDECREF(native->linked);
    PyMem_Free(native);
}

static struct native *new_native(struct function *function, PyObject *identity)
{
    struct native *native = PyMem_Calloc(1, sizeof *native);
    if (!native) {
        PyErr_NoMemory();
        return NULL;
    }
    native->identity = Py_NewRef(identity);
    native->compiler = Py_NewRef(function->compiler);
    native->linked = PyList_New(0);
    native->table = (kiln_compiler){.struct_size = sizeof native->table,
                                    .name = "python",
                                    .digest = state_text("compiler: its identity", identity),
                                    .compile = compile,
                                    .link = link_artifact,
                                    .unlink = unlink_callable,
                                    .self = native};
    if (!native->linked || !native->table.digest || make_handle(native, function)) {
        free_native(native);
        return NULL;
    }
    native->next = function->natives;
    function->natives = native;
    return native;
}

static struct native *native_of(struct function *function)
{
    PyObject *identity = identity_now(function);
    if (!identity) return NULL;
    struct native *native = function->natives;
    while (native && PyUnicode_Compare(native->identity, identity)) native = native->next;
    if (!native) native = new_native(function, identity);
    Py_DECREF(identity);
    return native && watch_variables(native, function) ? NULL : native;
}

void native_free(struct function *function)
{
    for (struct native *native = function->natives, *next; native; native = next) {
        next = native->next;
        function->natives = next;
        free_native(native);
    }
}

int native_traverse(struct function *function, visitproc visit, void *arg)
{
    for (struct native *native = function->natives; native; native = native->next) {
        Py_VISIT(native->compiler);
        Py_VISIT(native->linked);
    }
    return 0;
}

void native_trim(struct function *function)
{
    for (struct native *native = function->natives; native; native = native->next) {
        kiln_function *handle = native->handle;
        Py_BEGIN_ALLOW_THREADS kiln_function_trim(handle);
        Py_END_ALLOW_THREADS
    }
}

/* ---- getting --------------------------------------------------------------------------------------------------- */

struct outcome_of_get {
    void *executable;
    kiln_status status;
    kiln_error error;
    uint64_t compiles;
};

/* What is given may go once it is dropped from the cache (KILN_RECLAIM), so it is taken before the thread leaves. */
static void get(struct native *native, struct miss *miss, const kiln_arg *args, size_t count, bool is_llvm,
                struct outcome_of_get *out)
{
    kiln_counters before, after;
    kiln_cache *cache = cache_handle(miss->function->cache);
    miss->outer = running;
    running = miss;
    Py_BEGIN_ALLOW_THREADS begin_flight(miss->outer);
    kiln_enter();
    if (is_llvm) kiln_cache_counters(cache, &before);
    out->status = kiln_get(native->handle, args, count, miss->device, &out->executable, &out->error);
    if (is_llvm) {
        kiln_cache_counters(cache, &after);
        out->compiles = after.compiles - before.compiles;
    }
    end_flight(miss->outer);
    Py_END_ALLOW_THREADS running = miss->outer;
}

static PyObject *take(struct miss *miss, struct outcome_of_get *got)
{
    if (got->status == KILN_COMPILED) Py_RETURN_NONE; /* KILN_MODE=compile-only */
    if (got->status == KILN_OK) {
        if (!miss->function->is_llvm) return Py_NewRef((PyObject *)got->executable);
        miss->function->compiles += got->compiles != 0;
        return PyLong_FromVoidPtr(got->executable);
    }
    miss->has_changed |= got->status == KILN_LOWER_FAILED && !miss->error[0] && strstr(got->error.text, changed_text);
    if (miss->has_changed) return NULL;
    if (!miss->error[0]) return state_raise(got->status, got->error.text);
    PyErr_Restore(miss->error[0], miss->error[1], miss->error[2]);
    miss->error[0] = miss->error[1] = miss->error[2] = NULL;
    return NULL;
}

PyObject *native_get(struct miss *miss)
{
    struct native *native = native_of(miss->function);
    Py_ssize_t count = PyList_GET_SIZE(miss->fields);
    kiln_arg *args = native ? PyMem_Malloc(((size_t)count + 1) * sizeof *args) : NULL;
    if (!args) return native ? PyErr_NoMemory() : NULL;
    Py_ssize_t i = 0;
    for (const char *text; i < count && (text = PyUnicode_AsUTF8(PyList_GET_ITEM(miss->fields, i))); i++)
        args[i] = (kiln_arg){&kiln_const_string, text};
    PyObject *given = NULL;
    if (i == count) {
        struct outcome_of_get got = {.error = {KILN_OK, ""}};
        get(native, miss, args, (size_t)count, miss->function->is_llvm, &got);
        given = take(miss, &got);
        kiln_leave();
    }
    drop_error(miss);
    PyMem_Free(args);
    return given;
}

/* ---- kiln.env ---------------------------------------------------------------------------------------------------- */

int check_variable_name(PyObject *name)
{
    Py_ssize_t size;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    if (!text && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "env: names are str, not %s", Py_TYPE(name)->tp_name);
    if (!text) return -1;
    if (size && !strchr(text, '=') && (Py_ssize_t)strlen(text) == size) return 0;
    PyErr_Format(PyExc_ValueError, "env: %R can't be the name of a variable of the environment", name);
    return -1;
}

PyObject *native_env(PyObject *module, PyObject *name)
{
    (void)module;
    if (check_variable_name(name)) return NULL;
    if (running && !running->is_lowering)
        return PyErr_Format(state.Error,
                            "env: for the function that prints the text; compile() asks its request: request.env(%R), "
                            "of variables that "
                            "@kiln.jit(..., env=(%R,)) declares; link() serves every value",
                            name, name);
    for (struct miss *miss = running; miss && miss->is_lowering; miss = miss->outer) {
        struct variables *variables = &miss->function->variables;
        if (variables_have(variables, name)) continue;
        if (variables_see(variables)) return NULL;
        bool is_unchanged = miss->variables_stamp == variables->stamp;
        if (variables_add(variables, name) || variables_see(variables)) return NULL;
        if (is_unchanged) miss->variables_stamp = variables->stamp; /* one more to depend on is no change */
    }
    return text_or_none(getenv(PyUnicode_AsUTF8(name)));
}

PyMethodDef native_methods[] = {
    {"env", native_env, METH_O,
     "env(name): the variable of the environment as it is now, or None. Read while a function is lowered, it becomes "
     "part of the key of\n"
     "that function: when its value is another, the function is lowered again.\n\n>>> env(\"KILN_NO_SUCH_VARIABLE\") "
     "is None\nTrue\n"},
    {"before_fork", before_fork, METH_NOARGS, "Waits, without the GIL, until no other thread compiles."},
    {"after_fork_in_parent", after_fork_in_parent, METH_NOARGS, "Lets them go on."},
    {"after_fork_in_child", after_fork_in_child, METH_NOARGS, "Forgets the threads that are not there."},
    {NULL, NULL, 0, NULL},
};
