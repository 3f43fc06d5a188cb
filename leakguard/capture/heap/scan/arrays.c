/* Arrays that own plain memory, told in sums and places and not one by one. */

#include "scan.h"

/* The array interface that NumPy documents (__array_struct__). */
typedef struct {
    int two, dimensions;
    char kind;
    int item, flags;
    Py_intptr_t *shape, *strides;
    void *data;
    PyObject *descr;
} ArrayInterface;

static PyObject *
read_getset(PyObject *getset, PyObject *item)
{
    PyGetSetDescrObject *found = (PyGetSetDescrObject *)getset;
    if (!Py_IS_TYPE(getset, &PyGetSetDescr_Type) ||
        !PyObject_TypeCheck(item, PyDescr_TYPE(getset))) {
        PyErr_SetString(PyExc_TypeError, "an attribute of another class");
        return NULL;
    }
    return found->d_getset->get(item, found->d_getset->closure);
}

/* Where the memory of an array lies; 0 where it is not its own, or may hold objects. */
static int
own_extent(const ArrayReader *reader, PyObject *array, Extent *extent)
{
    PyObject *base = read_getset(reader->base, array);
    if (base == NULL) {
        return -1;
    }
    Py_DECREF(base);
    if (base != Py_None) {
        return 0;
    }
    PyObject *capsule = read_getset(reader->interface, array);
    if (capsule == NULL) {
        return -1;
    }
    const ArrayInterface *told =
        PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
                                      : NULL;
    int is_plain = told != NULL && told->two == 2 && told->kind != 'O' && told->kind != 'V';
    if (is_plain) {
        extent->start = (int64_t)(intptr_t)told->data;
        extent->bytes = told->item;
        for (int i = 0; i < told->dimensions; i++) {
            extent->bytes *= told->shape[i];
        }
    }
    Py_DECREF(capsule);
    PyErr_Clear();
    return is_plain;
}

static int
by_start(const void *one, const void *other)
{
    int64_t first = ((const Extent *)one)->start, second = ((const Extent *)other)->start;
    return (first > second) - (first < second);
}

/* Add up an array that owns plain memory; 0 where it has to be looked at on its own. */
int
tell_extent(Scan *scan, Class *cls, PyObject *array, Py_ssize_t large)
{
    Extent extent;
    int is_own = own_extent(&scan->arrays, array, &extent);
    if (is_own <= 0 || extent.bytes >= large) {
        return is_own < 0 ? -1 : 0;
    }
    cls->owners++;
    cls->owned += extent.bytes;
    if (extent.bytes == 0) {
        return 1;
    }
    if (reserve((void **)&scan->extents, &scan->cap_extents, scan->n_extents + 1,
                sizeof(Extent))) {
        return -1;
    }
    scan->extents[scan->n_extents++] = extent;
    return 1;
}

PyDoc_STRVAR(arrays_doc,
"arrays(base, interface)\n--\n\n"
"Give the getters of ndarray by which a census reads arrays that own their memory.");

static PyObject *
scan_arrays(Scan *scan, PyObject *args)
{
    PyObject *base, *interface;
    if (!PyArg_ParseTuple(args, "O!O!", &PyGetSetDescr_Type, &base, &PyGetSetDescr_Type,
                          &interface)) {
        return NULL;
    }
    Py_XSETREF(scan->arrays.base, Py_NewRef(base));
    Py_XSETREF(scan->arrays.interface, Py_NewRef(interface));
    Py_RETURN_NONE;
}

PyDoc_STRVAR(extent_count_doc,
"extent_count()\n--\n\nReturn how many of the owners have any memory.");

static PyObject *
scan_extent_count(Scan *scan, PyObject *unused)
{
    return PyLong_FromSsize_t(scan->n_extents);
}

PyDoc_STRVAR(extents_doc,
"extents(into)\n--\n\n"
"Write into a buffer where the memory of the owners lies: pairs of int64 (start, bytes), sorted.");

/* Write so many extents, `step` bytes apart, into a buffer beside each other. */
PyObject *
write_extents(PyObject *into, const void *first, Py_ssize_t count, size_t step)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(into, &buffer, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    int fits = buffer.len >= count * (Py_ssize_t)sizeof(Extent);
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        ((Extent *)buffer.buf)[i] = *(const Extent *)((const char *)first + (size_t)i * step);
    }
    PyBuffer_Release(&buffer);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the buffer is too small");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
scan_extents(Scan *scan, PyObject *into)
{
    if (scan->n_extents) {
        qsort(scan->extents, (size_t)scan->n_extents, sizeof(Extent), by_start);
    }
    return write_extents(into, scan->extents, scan->n_extents, sizeof(Extent));
}

PyDoc_STRVAR(own_memory_doc,
"own_memory(base, interface, array)\n--\n\n"
"Return (start, bytes) of the memory that an array owns; None where it is not its own, or may hold\n"
"objects. The first two are getters of ndarray.");

static PyObject *
own_memory(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "own_memory takes two getters and an array");
        return NULL;
    }
    ArrayReader reader = {args[0], args[1]};
    Extent extent;
    int is_own = own_extent(&reader, args[2], &extent);
    if (is_own < 0) {
        return NULL;
    }
    if (!is_own) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(LL)", (long long)extent.start, (long long)extent.bytes);
}

PyDoc_STRVAR(block_size_doc,
"block_size(owns, sizeof, within, item)\n--\n\n"
"Return the bytes of the block of memory that a ctypes object owns; 0 where the memory is another's\n"
"or no more than ``within``, which lie in the object. ``owns`` is the getter of _CData.");

static PyObject *
block_size(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "block_size takes a getter, sizeof, a size and an object");
        return NULL;
    }
    descrgetfunc get = Py_TYPE(args[0])->tp_descr_get;
    PyObject *owns = get == NULL ? NULL : get(args[0], args[3], (PyObject *)Py_TYPE(args[3]));
    if (owns == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "block_size takes a getter first");
        }
        return NULL;
    }
    int is_own = PyObject_IsTrue(owns);
    Py_DECREF(owns);
    /* of the class: from 3.13 on sizeof() asks an object for its __class__, which may be anybody's */
    PyObject *size = is_own < 0 ? NULL : PyObject_CallOneArg(args[1], (PyObject *)Py_TYPE(args[3]));
    Py_ssize_t bytes = size == NULL ? -1 : PyLong_AsSsize_t(size), within = PyLong_AsSsize_t(args[2]);
    Py_XDECREF(size);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromSsize_t(is_own && bytes > within ? bytes : 0);
}

PyMethodDef arrays_functions[] = {
    {"block_size", (PyCFunction)(void (*)(void))block_size, METH_FASTCALL, block_size_doc},
    {"own_memory", (PyCFunction)(void (*)(void))own_memory, METH_FASTCALL, own_memory_doc},
    {NULL, NULL, 0, NULL},
};

PyMethodDef arrays_methods[] = {
    {"arrays", (PyCFunction)scan_arrays, METH_VARARGS, arrays_doc},
    {"extent_count", (PyCFunction)scan_extent_count, METH_NOARGS, extent_count_doc},
    {"extents", (PyCFunction)scan_extents, METH_O, extents_doc},
    {NULL, NULL, 0, NULL},
};
