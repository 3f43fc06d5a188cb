/* The census: every object counted and sized by its class. */

#include "scan.h"

/* What objects refer to, waiting to be told from what was seen: looked at in batches, so that memory
   is asked for long before it is needed. Nobody holds what waits, so no Python may run until it is
   flushed. Most of it is what many refer to (classes, names, globals) and was seen shortly before:
   that is known by its address alone. */
#define BATCH 4096
#define RECENT 4096

typedef struct {
    Scan *scan;
    Py_ssize_t large;
    PyTypeObject *unknown;  /* a leaf's class to ask Python about, once nothing waits */
    Py_ssize_t referents;
    PyObject *first[2];
    int all_listed;
    Py_ssize_t waiting;
    PyObject *batch[BATCH];
    PyObject *recent[RECENT];  /* by place: none that may be freed meanwhile */
} Leaves;

static inline PyObject **
recently(Leaves *leaves, PyObject *item)
{
    return &leaves->recent[place(item) % RECENT];
}

/* Tell whether an object was in the list that the collector gave. */
static inline int
is_listed(const Leaves *leaves, PyObject *item)
{
    return leaves->all_listed && PyType_IS_GC(Py_TYPE(item)) && PyObject_GC_IsTracked(item);
}

/* Count a leaf that has one reference, by which it was found, and so comes no second time: it need
   not be remembered. Return 0 for others, and for classes that Python has to be asked about. */
static inline int
count_alone(Leaves *leaves, PyObject *item)
{
    if (Py_REFCNT(item) != 1 || PyType_IS_GC(Py_TYPE(item))) {
        return 0;
    }
    Class *cls = known_class(leaves->scan, Py_TYPE(item));
    if (cls == NULL) {
        leaves->unknown = Py_TYPE(item);
        return 0;
    }
    if (cls->handed || cls->read != NULL || Py_TYPE(item) == &PyCode_Type) {
        return 0;
    }
    Py_ssize_t size = size_of(cls, item, 0, 0);
    if (size < 0 || size >= leaves->large) {
        return size < 0 ? -1 : 0;
    }
    cls->live++;
    cls->bytes += size;
    *recently(leaves, item) = NULL;  /* nobody but its owner holds it */
    return 1;
}

/* Add what the collector did not list: with nothing frozen, that is what it does not track. */
static int
flush(Leaves *leaves)
{
    Scan *scan = leaves->scan;
    Py_ssize_t kept = 0;
    for (Py_ssize_t i = 0; i < leaves->waiting; i++) {
        if (i + 2 * AHEAD < leaves->waiting) {
            FETCH(leaves->batch[i + 2 * AHEAD]);
        }
        PyObject *item = leaves->batch[i];
        if (is_vacant(item)) {
            continue;
        }
        int is_told = is_listed(leaves, item) ? 1 : count_alone(leaves, item);
        if (is_told < 0) {
            return -1;
        }
        if (!is_told) {
            leaves->batch[kept++] = item;
        }
    }
    leaves->waiting = 0;
    for (Py_ssize_t i = 0; i < kept; i++) {
        expect(scan, leaves->batch, i, kept);
        PyObject *item = leaves->batch[i];
        if (find(scan, item) < 0 && add_object(scan, item) == -2) {
            return -1;
        }
    }
    return 0;
}

/* Ask about the class of a leaf, which is held by now. */
static int
learn(Leaves *leaves)
{
    PyTypeObject *cls = leaves->unknown;
    leaves->unknown = NULL;
    return flush(leaves) < 0 || class_of(leaves->scan, cls) == NULL ? -1 : 0;
}

static int
leaf_visit(PyObject *item, void *arg)
{
    Leaves *leaves = (Leaves *)arg;
    if (item == NULL) {
        return 0;
    }
    if (leaves->referents < 2) {
        leaves->first[leaves->referents] = item;
    }
    leaves->referents++;
    PyObject **recent = recently(leaves, item);
    if (*recent == item) {
        return 0;
    }
    *recent = item;
    leaves->batch[leaves->waiting++] = item;
    return leaves->waiting == BATCH ? flush(leaves) : 0;
}

/* The same for what only an adapter holds: it is gone after the call, so it is taken at once, and held
   for good where nothing else is. */
static int
leaf_visit_at_once(PyObject *item, void *arg)
{
    if (((Leaves *)arg)->scan->borrows) {
        Py_XINCREF(item);
    }
    return leaf_visit(item, arg) < 0 ? -1 : flush((Leaves *)arg);
}

static int
count_object(Leaves *leaves, PyObject *item, PyObject **handed, PyObject *big)
{
    Scan *scan = leaves->scan;
    Py_ssize_t large = leaves->large;
    Class *cls = known_class(scan, Py_TYPE(item));
    if (cls == NULL) {
        if (flush(leaves) < 0 || (cls = class_of(scan, Py_TYPE(item))) == NULL) {
            return -1;
        }
    }
    leaves->referents = 0;
    if (may_traverse(cls, item)) {
        if (traverse(item, leaf_visit, leaves) < 0) {
            return -1;
        }
    }
    int only_dict = cls->hidden && leaves->referents == 2 &&
                    (PyDict_CheckExact(leaves->first[0]) || PyDict_CheckExact(leaves->first[1]));
    Py_ssize_t size = size_of(cls, item, leaves->referents, only_dict);
    if (size < 0) {
        return -1;
    }
    cls->live++;
    cls->bytes += size;
    if (cls->wary && is_blank(cls->cls, item)) {
        return 0;
    }
    if (cls->handed == 1 && scan->arrays.base != NULL) {
        int is_told = tell_extent(scan, cls, item, large);
        if (is_told) {
            return is_told < 0 ? -1 : 0;
        }
    }
    if (cls->handed == 2 && scan->reads_tensors) {
        int is_told = tell_storage(scan, cls, item, large);
        if (is_told) {
            return is_told < 0 ? -1 : 0;
        }
    }
    if (cls->handed && PyList_Append(handed[cls->handed - 1], item) < 0) {
        return -1;
    }
    if (size >= large && append_new(big, Py_BuildValue("(On)", cls->cls, size)) < 0) {
        return -1;
    }
    if (Py_TYPE(item) == &PyCode_Type) {
        scan->n_found = 0;
        if (collect_code(scan, item) < 0) {
            return -1;
        }
        for (Py_ssize_t i = 0; i < scan->n_found; i++) {
            if (leaf_visit(scan->found[i], leaves) < 0) {
                return -1;
            }
        }
        return 0;
    }
    if (cls->read != NULL) {
        PyObject *read = cls->read;
        if (flush(leaves) < 0) {
            return -1;
        }
        return read_with(read, item, leaf_visit_at_once, leaves, leaf_visit_at_once, leaves);
    }
    return 0;
}

PyDoc_STRVAR(census_doc,
"census(tracked, beside, all_listed, large)\n--\n\n"
"``tracked`` lists what the collector tracks; None has it read from the collector's own lists, with\n"
"nothing held: in a copy of the process only.\n"
"Count all objects by exact class: [(class, live, bytes, owners, owned bytes)], the objects of\n"
"classes that are handed over as 1 and as 2, and [(class, bytes)] of large ones. Owners are arrays\n"
"that own plain memory, once ``arrays`` was called, and tensors with such memory that are in no\n"
"backward graph, once ``tensors`` was; they are not handed over.");

static PyObject *
scan_census(Scan *scan, PyObject *args)
{
    PyObject *tracked, *beside;
    Py_ssize_t large;
    int all_listed;
    if (!PyArg_ParseTuple(args, "OO!pn", &tracked, &PyList_Type, &beside, &all_listed, &large)) {
        return NULL;
    }
    if (tracked != Py_None && !PyList_Check(tracked)) {
        PyErr_SetString(PyExc_TypeError, "tracked is a list or None");
        return NULL;
    }
    Tracked listed = {0};
    PyObject *handed[2] = {PyList_New(0), PyList_New(0)};
    PyObject *big = PyList_New(0), *result = NULL, *classes = NULL;
    Leaves *leaves = pages_new(1, sizeof(Leaves));
    if (handed[0] == NULL || handed[1] == NULL || big == NULL || leaves == NULL) {
        goto done;
    }
    if (tracked == Py_None) {
        scan->borrows = 1;
        if (list_tracked(&listed) < 0) {
            goto done;
        }
    }
    PyObject **items = tracked == Py_None ? listed.items : ((PyListObject *)tracked)->ob_item;
    Py_ssize_t count = tracked == Py_None ? listed.count : PyList_GET_SIZE(tracked);
    leaves->scan = scan;
    leaves->all_listed = all_listed;
    leaves->large = large;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = items[i];
        if (i + AHEAD < count) {
            FETCH(items[i + AHEAD]);
        }
        if (all_listed) {
            if (count_object(leaves, item, handed, big) < 0 ||
                (leaves->unknown != NULL && learn(leaves) < 0)) {
                goto done;
            }
        }
        else if (leaf_visit(item, leaves) < 0) {
            goto done;
        }
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(beside); i++) {
        if (leaf_visit(PyList_GET_ITEM(beside, i), leaves) < 0) {
            goto done;
        }
    }
    do {
        if (flush(leaves) < 0) {
            goto done;
        }
        for (; scan->next < scan->count; scan->next++) {
            if (scan->next + AHEAD < scan->count) {
                FETCH(scan->objects[scan->next + AHEAD]);
            }
            if (count_object(leaves, scan->objects[scan->next], handed, big) < 0) {
                goto done;
            }
        }
    } while (leaves->waiting > 0);
    settle_storages(scan);
    classes = PyList_New(0);
    for (Py_ssize_t i = 0; classes != NULL && i < scan->n_classes; i++) {
        Class *cls = &scan->classes[i];
        if (append_new(classes, Py_BuildValue("(Onnnn)", cls->cls, cls->live, cls->bytes,
                                              cls->owners, cls->owned)) < 0) {
            Py_CLEAR(classes);
        }
    }
    if (classes != NULL) {
        result = PyTuple_Pack(4, classes, handed[0], handed[1], big);
    }
done:
    pages_free(listed.items);
    pages_free(leaves);
    Py_XDECREF(classes);
    Py_XDECREF(handed[0]);
    Py_XDECREF(handed[1]);
    Py_XDECREF(big);
    return result;
}

PyMethodDef census_methods[] = {
    {"census", (PyCFunction)scan_census, METH_VARARGS, census_doc},
    {NULL, NULL, 0, NULL},
};
