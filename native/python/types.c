/* Two small Python types that must be written in C: Size, a tuple whose items are read as fast as a tuple's, and
 * Memory, which lends a tensor's memory to NumPy through the buffer protocol and keeps the tensor alive meanwhile. */

/* ---- Size ------------------------------------------------------------------------------------------- */

static PyObject *size_type;

static PyObject *as_size(PyObject *tuple) /* takes it over */
{
    PyObject *size;

    if (!tuple) return NULL;
    size = PyObject_CallFunctionObjArgs(size_type, tuple, NULL);
    Py_DECREF(tuple);
    return size;
}

static PyObject *size_subscript(PyObject *self, PyObject *key)
{
    Py_ssize_t n = PyTuple_Size(self), start, stop, step, i;
    PyObject *part, *item;

    if (PyLong_Check(key)) {
        i = PyLong_AsSsize_t(key);
        if (i == -1 && PyErr_Occurred()) return NULL;
        if (i < 0) i += n;
        item = PyTuple_GetItem(self, i);
        Py_XINCREF(item);
        return item;
    }
    if (PyIndex_Check(key)) {
        PyObject *number = PyNumber_Index(key), *found;
        if (!number) return NULL;
        found = size_subscript(self, number);
        Py_DECREF(number);
        return found;
    }
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
    n = PySlice_AdjustIndices(n, &start, &stop, step);
    if (!(part = PyTuple_New(n))) return NULL;
    for (i = 0; i < n; i++, start += step) {
        item = PyTuple_GetItem(self, start);
        Py_INCREF(item);
        PyTuple_SetItem(part, i, item);
    }
    return as_size(part);
}

static PyObject *size_concat(PyObject *self, PyObject *other)
{
    PyObject *right = PySequence_Tuple(other), *left = right ? PyList_New(0) : NULL, *both = NULL;

    if (left && PyList_SetSlice(left, 0, 0, self) == 0 && PyList_SetSlice(left, PyList_Size(left), PyList_Size(left), right) == 0)
        both = PyList_AsTuple(left);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return as_size(both);
}

static PyObject *size_numel(PyObject *self, PyObject *none)
{
    long long n = 1;

    (void)none;
    for (Py_ssize_t i = 0; i < PyTuple_Size(self); i++) {
        long long s = PyLong_AsLongLong(PyTuple_GetItem(self, i));
        if (s == -1 && PyErr_Occurred()) return NULL;
        if (__builtin_mul_overflow(n, s, &n)) {
            PyErr_SetString(PyExc_OverflowError, "numel: the sizes multiply beyond int64");
            return NULL;
        }
    }
    return PyLong_FromLongLong(n);
}

static PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this shape."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot size_slots[] = {
    {Py_tp_doc, "A tensor's shape: a tuple of ints with numel(); its slices and sums are sizes, too."},
    {Py_mp_subscript, size_subscript},
    {Py_sq_concat, size_concat},
    {Py_tp_methods, size_methods},
    {0, NULL},
};
static PyType_Spec size_spec = {"flambeau._types.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

/* ---- Memory ------------------------------------------------------------------------------------------ */

typedef struct { PyObject_HEAD PyObject *owner; char *data; Py_ssize_t bytes; } Memory;

static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unsigned long long address;
    Py_ssize_t bytes;
    PyObject *owner;
    Memory *m;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

    (void)keywords;
    if (!PyArg_ParseTuple(args, "KnO", &address, &bytes, &owner)) return NULL;
    if (!(m = (Memory *)alloc(type, 0))) return NULL;
    m->data = (char *)(uintptr_t)address;
    m->bytes = bytes;
    m->owner = owner;
    Py_INCREF(owner);
    return (PyObject *)m;
}

static void memory_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_CLEAR(((Memory *)self)->owner);
    release(self);
    Py_DECREF(type);
}

static int memory_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    Memory *m = (Memory *)self;

    return PyBuffer_FillInfo(view, self, m->data, m->bytes, 0, flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "Memory(address, bytes, owner): a writable buffer; the owner lives as long as it does."},
    {Py_tp_new, memory_new},
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_getbuffer},
    {0, NULL},
};
static PyType_Spec memory_spec = {"flambeau._types.Memory", sizeof(Memory), 0, Py_TPFLAGS_DEFAULT, memory_slots};

/* Puts both types into a module, given by its address (cffi passes no Python objects). 0, or -1 where memory ran out. */
static int fbp_make_types(intptr_t module)
{
    PyObject *bases, *memory, *to = (PyObject *)module;
    int ok = 0;

    if (!size_type) {
        if (!(bases = PyTuple_Pack(1, &PyTuple_Type))) return -1;
        size_type = PyType_FromSpecWithBases(&size_spec, bases);
        Py_DECREF(bases);
    }
    memory = PyType_FromSpec(&memory_spec);
    if (size_type && memory)
        ok = PyObject_SetAttrString(to, "Size", size_type) == 0 && PyObject_SetAttrString(to, "Memory", memory) == 0;
    Py_XDECREF(memory);
    if (!ok) PyErr_Clear();
    return ok ? 0 : -1;
}
