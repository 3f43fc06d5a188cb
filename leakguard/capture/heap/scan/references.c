/* What an object refers to: what it tells the collector, what code holds, what an adapter reads. */

#include "scan.h"

static int
collect_visit(PyObject *item, void *arg)
{
    Scan *scan = (Scan *)arg;
    if (item == NULL) {
        return 0;
    }
    if (reserve((void **)&scan->found, &scan->cap_found, scan->n_found + 1, sizeof(PyObject *))) {
        return -1;
    }
    scan->found[scan->n_found++] = item;
    return 0;
}

/* An object that is not tracked may be half made: only tuples and dicts leave the collector's lists
   when they are whole. */
int
may_traverse(const Class *cls, PyObject *item)
{
    if (!cls->traversed || Py_TYPE(item)->tp_traverse == NULL ||
        (cls->wary && is_blank(cls->cls, item))) {
        return 0;
    }
    return PyTuple_CheckExact(item) || PyDict_CheckExact(item) || PyObject_GC_IsTracked(item);
}

/* Only what the visitor says of itself counts: a class may return anything. */
int
traverse(PyObject *item, visitproc visit, void *arg)
{
    int said = Py_TYPE(item)->tp_traverse(item, visit, arg);
    return said != 0 && PyErr_Occurred() ? -1 : 0;
}

int
collect(Scan *scan, const Class *cls, PyObject *item)
{
    scan->n_found = 0;
    if (!may_traverse(cls, item)) {
        return 0;
    }
    return traverse(item, collect_visit, scan);
}

int
collect_code(Scan *scan, PyObject *item)
{
    PyCodeObject *code = (PyCodeObject *)item;
    PyObject *parts[] = {
        code->co_consts, code->co_names, code->co_filename, code->co_name, code->co_linetable,
#if PY_VERSION_HEX >= 0x030B0000
        code->co_qualname, code->co_exceptiontable,
#else
        code->co_code, code->co_varnames, code->co_freevars, code->co_cellvars,
#endif
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i] != NULL && collect_visit(parts[i], scan) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
each(PyObject *iterable, visitproc visit, void *arg)
{
    if (PyTuple_CheckExact(iterable) && PyTuple_GET_SIZE(iterable) == 0) {
        return 0;
    }
    PyObject *iterator = PyObject_GetIter(iterable);
    if (iterator == NULL) {
        return -1;
    }
    PyObject *item;
    int failed = 0;
    while (!failed && (item = PyIter_Next(iterator)) != NULL) {
        failed = visit(item, arg);
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    return failed || PyErr_Occurred() ? -1 : 0;
}

/* Visit what only the adapter of a class sees: (parts, elements). */
int
read_with(PyObject *read, PyObject *item, visitproc visit, void *parts_arg, visitproc visit_element,
          void *elements_arg)
{
    PyObject *pair = PyObject_CallOneArg(read, item);
    if (pair == NULL) {
        return -1;
    }
    int failed = -1;
    if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2) {
        failed = each(PyTuple_GET_ITEM(pair, 0), visit, parts_arg) ||
                 each(PyTuple_GET_ITEM(pair, 1), visit_element, elements_arg);
    }
    else {
        PyErr_SetString(PyExc_TypeError, "a reader returns (parts, elements)");
    }
    Py_DECREF(pair);
    return failed ? -1 : 0;
}
