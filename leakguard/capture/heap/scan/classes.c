/* What is known of a class: asked of Python once, and how its instances are sized. */

#include "scan.h"

/* How instances of classes that were made in Python are traversed. */
traverseproc subtype_traverse;

/* Classes whose own methods take zeros for what they are, nothing; the same as in half_built.py. */
static int
is_safe(PyTypeObject *cls)
{
    PyTypeObject *safe[] = {
        &PyBaseObject_Type, &PyType_Type,       &PyList_Type,       &PyTuple_Type,
        &PyUnicode_Type,    &PyLong_Type,       &PyFloat_Type,      &PyBytes_Type,
        &PyFunction_Type,   &PyCell_Type,       &PyMethod_Type,     &PyModule_Type,
        &PyProperty_Type,   &PyGetSetDescr_Type, &PyMemberDescr_Type, &PyMethodDescr_Type,
        &PyWrapperDescr_Type,
    };
    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
        if (cls == safe[i]) {
            return 1;
        }
    }
    return 0;
}

/* Tell whether instances have fields of a C class that it traverses or sizes them by: it takes them
   to be set. */
static int
has_c_fields(PyTypeObject *cls, PyObject *method)
{
    while (!is_safe(cls) && cls->tp_base != NULL &&
           (cls->tp_traverse == subtype_traverse ||
            cls->tp_traverse == cls->tp_base->tp_traverse)) {
        cls = cls->tp_base;
    }
    int sizes = method != NULL && Py_IS_TYPE(method, &PyMethodDescr_Type);
    return !is_safe(cls) || (sizes && !is_safe(PyDescr_TYPE(method)));
}

/* The same, asking Python where nothing is known: other threads may run meanwhile. */
Class *
class_of(Scan *scan, PyTypeObject *cls)
{
    Class *known = known_class(scan, cls);
    if (known != NULL) {
        return known;
    }
    if (scan->n_classes * 2 >= scan->class_mask) {
        Py_ssize_t size = scan->class_mask ? (scan->class_mask + 1) * 2 : 1024;
        int32_t *table = pages_new((size_t)size, sizeof(int32_t));
        if (table == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        memset(table, 0xff, (size_t)size * sizeof(int32_t));
        for (Py_ssize_t i = 0; i < scan->n_classes; i++) {
            Py_ssize_t at = (Py_ssize_t)mix((uintptr_t)scan->classes[i].cls) & (size - 1);
            while (table[at] >= 0) {
                at = (at + 1) & (size - 1);
            }
            table[at] = (int32_t)i;
        }
        pages_free(scan->class_table);
        scan->class_table = table;
        scan->class_mask = size - 1;
    }
    PyObject *layout = PyObject_CallOneArg(scan->describe, (PyObject *)cls);
    if (layout == NULL) {
        return NULL;
    }
    Class made = {0};
    int kind, hidden, managed, traversed, handed;
    PyObject *method, *read;
    if (!PyArg_ParseTuple(layout, "inOnpppOni", &kind, &made.fixed, &method, &made.header, &hidden,
                          &managed, &traversed, &read, &made.room, &handed)) {
        Py_DECREF(layout);
        return NULL;
    }
    made.kind = kind;
    made.hidden = (char)hidden;
    made.managed = (char)managed;
    made.traversed = (char)traversed;
    made.handed = (char)handed;
    made.item = cls->tp_itemsize;
    made.cls = (PyTypeObject *)Py_NewRef((PyObject *)cls);
    made.method = method == Py_None ? NULL : Py_NewRef(method);
    made.read = read == Py_None ? NULL : Py_NewRef(read);
    Py_DECREF(layout);
    made.wary = (char)(made.read != NULL || has_c_fields(cls, made.method));
    if (kind == shared.list) {
        made.fast = FAST_LIST;
        made.fixed = cls->tp_basicsize + made.header;
    }
    else if (kind == shared.tuple || cls == &PyBytes_Type) {
        made.fast = FAST_VAR;
        made.fixed = cls->tp_basicsize + made.header;
    }
    else if (cls == &PyUnicode_Type) {
        made.fast = FAST_STR;
    }
    else if (cls == &PyLong_Type) {
        made.fast = FAST_INT;
    }
    if (scan->is_deferred != Py_None) {
        PyObject *deferred = PyObject_CallOneArg(scan->is_deferred, (PyObject *)cls);
        made.deferred = deferred == Py_True;
        if (deferred == NULL) {
            goto failed;
        }
        Py_DECREF(deferred);
    }
    if (reserve((void **)&scan->classes, &scan->cap_classes, scan->n_classes + 1, sizeof(Class))) {
        goto failed;
    }
    /* describe ran Python code; nothing else adds classes meanwhile, but the slot is looked up
       again to be sure that it is still free */
    Py_ssize_t at = (Py_ssize_t)mix((uintptr_t)cls) & scan->class_mask;
    while (scan->class_table[at] >= 0) {
        at = (at + 1) & scan->class_mask;
    }
    scan->class_table[at] = (int32_t)scan->n_classes;
    scan->classes[scan->n_classes] = made;
    return &scan->classes[scan->n_classes++];
failed:
    Py_DECREF(made.cls);
    Py_XDECREF(made.method);
    Py_XDECREF(made.read);
    return NULL;
}

Py_ssize_t
size_of(const Class *cls, PyObject *item, Py_ssize_t referents, int only_dict)
{
    if (cls->kind == shared.memory) {
        return PyLong_AsSsize_t(item);
    }
    if (cls->fast == FAST_LIST) {
        return cls->fixed + ((PyListObject *)item)->allocated * (Py_ssize_t)sizeof(PyObject *);
    }
    if (cls->fast == FAST_VAR) {
        return cls->fixed + Py_SIZE(item) * cls->item;
    }
    if (cls->fast == FAST_STR && PyUnicode_IS_COMPACT_ASCII(item)) {
        return (Py_ssize_t)sizeof(PyASCIIObject) + PyUnicode_GET_LENGTH(item) + 1;
    }
#if PY_VERSION_HEX >= 0x030C0000
    if (cls->fast == FAST_INT && PyUnstable_Long_IsCompact((PyLongObject *)item)) {
        return cls->cls->tp_basicsize + cls->item;
    }
#else
    if (cls->fast == FAST_INT && Py_SIZE(item) != 0) {
        Py_ssize_t digits = Py_SIZE(item) < 0 ? -Py_SIZE(item) : Py_SIZE(item);
        return cls->cls->tp_basicsize + digits * cls->item;
    }
#endif
    if (cls->method == NULL) {
        Py_ssize_t size = cls->fixed;
        if (cls->hidden && referents >= 1 && !(referents == 2 && only_dict)) {
#if PY_VERSION_HEX >= 0x030D0000
            size += (3 + referents - 1) * (Py_ssize_t)sizeof(PyObject *);
#else
            size += (2 + referents - 1) * (Py_ssize_t)sizeof(PyObject *);
#endif
        }
        return size;
    }
    if (cls->wary && is_blank(cls->cls, item)) {
        return cls->cls->tp_basicsize + cls->header;
    }
    PyObject *said = PyObject_CallOneArg(cls->method, item);
    if (said == NULL) {
        return -1;
    }
    Py_ssize_t size = PyLong_AsSsize_t(said);
    Py_DECREF(said);
    return size < 0 ? -1 : size + cls->header;
}
