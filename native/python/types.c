/* The Python types that are written in C, where each step counts: Size, a tuple whose items are read as fast as a tuple's;
 * Memory, which lends memory to NumPy and keeps its owner alive meanwhile; TensorBase, what Tensor inherits. */
#include <stddef.h>
#include <structmember.h>

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

/* ---- TensorBase --------------------------------------------------------------------------------------
 *
 * What Tensor inherits: the slot of its handle, released when the object dies; the buffer protocol; tolist of the usual
 * small tensors. In Python a __del__ and the two steps of making an object cost as much as an operator.
 *
 * The handle is a cffi pointer object. Its address is read from where cffi keeps it, behind the object's type; that is
 * checked on a probe when the types are made. */

typedef struct { PyObject_HEAD PyObject *h; } TensorBase;
typedef struct { PyObject_HEAD void *ctype; void *address; } CffiPointer;

static PyTypeObject *pointer_type; /* cffi's class of plain pointers */
static PyObject *tensor_type, *raise_function;

static fb_tensor *handle_in(PyObject *h)
{
    return h && Py_TYPE(h) == pointer_type ? ((CffiPointer *)h)->address : NULL;
}

static void tensor_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject *h = ((TensorBase *)self)->h;

    ((TensorBase *)self)->h = NULL;
    fb_release(handle_in(h));
    Py_XDECREF(h);
    release(self);
    Py_DECREF(type);
}

/* wrap(handle): a Tensor that takes over the handle's reference; a NULL handle raises the core's error. */
static PyObject *wrap(PyObject *module, PyObject *h)
{
    static allocfunc alloc;
    PyObject *t;

    (void)module;
    if (!handle_in(h)) {
        PyObject *none = PyObject_CallNoArgs(raise_function);
        Py_XDECREF(none);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "wrap: not a handle");
        return NULL;
    }
    if (!alloc) alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)tensor_type, Py_tp_alloc);
    if (!(t = alloc((PyTypeObject *)tensor_type, 0))) {
        fb_release(handle_in(h));
        return NULL;
    }
    Py_INCREF(h);
    ((TensorBase *)t)->h = h;
    return t;
}

/* set_tensor(Tensor, raise_error): what wrap makes, and what it calls on an error. */
static PyObject *set_tensor(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &tensor_type, &raise_function)) return NULL;
    Py_INCREF(tensor_type);
    Py_INCREF(raise_function);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"wrap", wrap, METH_O, "A Tensor that takes over a handle's reference."},
    {"set_tensor", set_tensor, METH_VARARGS, "Says what wrap makes and calls."},
    {NULL, NULL, 0, NULL},
};

static PyObject *tensor_tolist(PyObject *self, PyObject *none)
{
    fb_tensor *t = handle_in(((TensorBase *)self)->h);
    PyObject *list;

    (void)none;
    if (!t || t->ndim != 1 || !fb_contig(t) || !t->storage->data || !(t->dtype == FB_F32 || t->dtype == FB_F64 || t->dtype == FB_I64))
        return PyObject_CallMethod(self, "_tolist", NULL);
    if (!(list = PyList_New((Py_ssize_t)t->numel))) return NULL;
    for (int64_t i = 0; i < t->numel; i++) {
        PyObject *v = t->dtype == FB_I64 ? PyLong_FromLongLong(((int64_t *)fb_ptr(t))[i])
                                         : PyFloat_FromDouble(t->dtype == FB_F32 ? ((float *)fb_ptr(t))[i] : ((double *)fb_ptr(t))[i]);
        if (!v) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, v);
    }
    return list;
}

static int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    static const char *const formats[] = {"?", "B", "b", "h", "i", "q", "H", "I", "Q", "e", NULL, "f", "d", "Zf", "Zd", NULL, NULL};
    fb_tensor *t = handle_in(((TensorBase *)self)->h);
    Py_ssize_t *dims, item;

    view->obj = NULL;
    if (!t || !t->storage->data || fb_ag_requires_grad(t) || !formats[t->dtype]) {
        PyErr_SetString(PyExc_BufferError, "only CPU tensors that don't require grad, of a dtype that Python knows, lend their memory");
        return -1;
    }
    item = (Py_ssize_t)fb_itemsize((fb_dtype)t->dtype);
    if (!fb_contig(t) && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
        return -1;
    }
    if (PyBuffer_FillInfo(view, self, fb_ptr(t), (Py_ssize_t)t->numel * item, 0, flags) < 0) return -1;
    view->internal = NULL;
    if (!(flags & PyBUF_ND) && !(flags & PyBUF_FORMAT)) return 0; /* plain bytes */
    if (!(dims = PyMem_Malloc(sizeof *dims * (size_t)(2 * t->ndim + 1)))) {
        PyBuffer_Release(view);
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < t->ndim; i++) {
        dims[i] = (Py_ssize_t)t->sizes[i];
        dims[t->ndim + i] = (Py_ssize_t)t->strides[i] * item;
    }
    view->internal = dims;
    view->itemsize = item;
    view->ndim = t->ndim;
    view->format = flags & PyBUF_FORMAT ? (char *)formats[t->dtype] : NULL;
    view->shape = flags & PyBUF_ND ? dims : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + t->ndim : NULL;
    return 0;
}

static void tensor_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    PyMem_Free(view->internal);
    view->internal = NULL;
}

static PyMethodDef tensor_methods[] = {
    {"tolist", tensor_tolist, METH_NOARGS, "The elements as nested lists of Python numbers; of a 0-d tensor, its number."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef tensor_members[] = {
    {"_h", T_OBJECT_EX, offsetof(TensorBase, h), 0, "the handle"},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_methods, tensor_methods},
    {Py_tp_members, tensor_members},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_bf_releasebuffer, tensor_releasebuffer},
    {0, NULL},
};
static PyType_Spec tensor_spec = {"flambeau._types.TensorBase", sizeof(TensorBase), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensor_slots};

static int put(PyObject *module, const char *name, PyObject *value) /* takes it over */
{
    int ok = value && PyObject_SetAttrString(module, name, value) == 0;

    Py_XDECREF(value);
    return ok;
}

/* Puts all of these into a module, given by its address (cffi passes no Python objects). probe is the address of a cffi pointer
 * to address. 0; -1 where memory ran out, -2 where cffi's objects are not laid out as we think. */
static int fbp_make_types(intptr_t module, intptr_t probe, intptr_t address)
{
    PyObject *bases, *to = (PyObject *)module;
    int ok;

    if ((intptr_t)((CffiPointer *)probe)->address != address) return -2;
    pointer_type = Py_TYPE((PyObject *)probe);
    if (!(bases = PyTuple_Pack(1, &PyTuple_Type))) return -1;
    size_type = PyType_FromSpecWithBases(&size_spec, bases);
    Py_DECREF(bases);
    Py_XINCREF(size_type);
    ok = put(to, "Size", size_type) && put(to, "Memory", PyType_FromSpec(&memory_spec)) && put(to, "TensorBase", PyType_FromSpec(&tensor_spec));
    for (PyMethodDef *f = functions; ok && f->ml_name; f++) ok = put(to, f->ml_name, PyCFunction_NewEx(f, NULL, NULL));
    if (!ok) PyErr_Clear();
    return ok ? 0 : -1;
}
