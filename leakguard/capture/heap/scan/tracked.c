/* What the collector tracks, read from its own lists, and objects by their addresses.

   gc.get_objects() writes a reference count into each object. In a copy of the process every page
   that is written to has to be copied first: a census there took twice as long. Nothing is held
   here, so this is for a copy, where nobody else runs. */

#include "inside.h"
#include "scan.h"

#ifdef HAVE_INSIDE
const int LISTS_TRACKED = 1;
#define FLAGS ((uintptr_t)3)  /* bits of the collector's own in the links of its lists */

static int
take_list(PyGC_Head *head, Tracked *tracked)
{
    PyGC_Head *at = (PyGC_Head *)(head->_gc_next & ~FLAGS);
    for (; at != head; at = (PyGC_Head *)(at->_gc_next & ~FLAGS)) {
        if (reserve((void **)&tracked->items, &tracked->capacity, tracked->count + 1,
                    sizeof(PyObject *))) {
            return -1;
        }
        tracked->items[tracked->count++] = (PyObject *)(at + 1);
    }
    return 0;
}
#else
const int LISTS_TRACKED = 0;
#endif

/* List all tracked objects, frozen ones included, without holding them. */
int
list_tracked(Tracked *tracked)
{
#ifdef HAVE_INSIDE
    struct _gc_runtime_state *collector = &PyInterpreterState_Get()->gc;
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        if (take_list(&collector->generations[i].head, tracked) < 0) {
            return -1;
        }
    }
    return take_list(&collector->permanent_generation.head, tracked);
#else
    (void)tracked;
    PyErr_SetString(PyExc_NotImplementedError, "the collector's lists cannot be read here");
    return -1;
#endif
}

/* List what was made since the last collection, without holding it. */
int
list_young(Tracked *tracked)
{
#ifdef HAVE_INSIDE
    return take_list(&PyInterpreterState_Get()->gc.generations[0].head, tracked);
#else
    (void)tracked;
    PyErr_SetString(PyExc_NotImplementedError, "the collector's lists cannot be read here");
    return -1;
#endif
}

PyDoc_STRVAR(tracked_addresses_doc,
"tracked_addresses()\n--\n\n"
"Return the addresses of all tracked objects, packed; nobody holds the objects.");

static PyObject *
tracked_addresses(PyObject *module, PyObject *unused)
{
    Tracked tracked = {0};
    PyObject *packed = NULL;
    if (list_tracked(&tracked) == 0) {
        packed = PyBytes_FromStringAndSize((const char *)tracked.items,
                                           tracked.count * (Py_ssize_t)sizeof(PyObject *));
    }
    pages_free(tracked.items);
    return packed;
}

PyDoc_STRVAR(tracked_of_doc,
"tracked_of(tracked, cls)\n--\n\n"
"Return the objects of exactly this class among those of ``tracked_addresses``; the others are not\n"
"written to.");

static PyObject *
tracked_of(PyObject *module, PyObject *args)
{
    PyObject *tracked, *cls, *found;
    if (!PyArg_ParseTuple(args, "SO", &tracked, &cls) || (found = PyList_New(0)) == NULL) {
        return NULL;
    }
    PyObject **items = (PyObject **)(void *)PyBytes_AS_STRING(tracked);
    Py_ssize_t count = PyBytes_GET_SIZE(tracked) / (Py_ssize_t)sizeof(PyObject *);
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((PyObject *)Py_TYPE(items[i]) == cls && PyList_Append(found, items[i]) < 0) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

PyDoc_STRVAR(address_of_doc,
"address_of(reference)\n--\n\n"
"Return the address of what a weak reference leads to, 0 where it is gone; nobody holds it meanwhile.");

static PyObject *
address_of(PyObject *module, PyObject *reference)
{
    if (!PyWeakref_Check(reference)) {
        PyErr_SetString(PyExc_TypeError, "address_of takes a weak reference");
        return NULL;
    }
    PyObject *item = PyWeakref_GET_OBJECT(reference);
    return PyLong_FromVoidPtr(item == Py_None ? NULL : item);
}

PyMethodDef tracked_functions[] = {
    {"tracked_addresses", (PyCFunction)tracked_addresses, METH_NOARGS, tracked_addresses_doc},
    {"tracked_of", (PyCFunction)tracked_of, METH_VARARGS, tracked_of_doc},
    {"address_of", (PyCFunction)address_of, METH_O, address_of_doc},
    {NULL, NULL, 0, NULL},
};
