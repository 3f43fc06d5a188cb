/* Questions about the graph once it was walked. */

#include "scan.h"

int
as_node(const Scan *scan, PyObject *number, int32_t *node)
{
    long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (value < 0 || value >= scan->count) {
        PyErr_SetString(PyExc_IndexError, "no such node");
        return -1;
    }
    *node = (int32_t)value;
    return 0;
}

/* Append the nodes of a buffer of int32, which is what members() gives. */
static int
read_buffer(const Scan *scan, PyObject *given, Nodes *nodes)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(given, &buffer, PyBUF_CONTIG_RO) < 0) {
        return -1;
    }
    const int32_t *numbers = buffer.buf;
    Py_ssize_t count = buffer.len / (Py_ssize_t)sizeof(int32_t);
    int failed = buffer.itemsize != sizeof(int32_t);
    if (failed) {
        PyErr_SetString(PyExc_TypeError, "nodes in a buffer are int32");
    }
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        if (numbers[i] < 0 || numbers[i] >= scan->count) {
            PyErr_SetString(PyExc_IndexError, "no such node");
            failed = 1;
        }
        else {
            failed = push(nodes, numbers[i]) < 0;
        }
    }
    PyBuffer_Release(&buffer);
    return failed ? -1 : 0;
}

/* Append the nodes that Python gives: a sequence of numbers, or a buffer, for which no object is
   made a node. */
int
read_nodes(const Scan *scan, PyObject *given, Nodes *nodes)
{
    if (PyObject_CheckBuffer(given)) {
        return read_buffer(scan, given, nodes);
    }
    PyObject *sequence = PySequence_Fast(given, "nodes must be a sequence");
    for (Py_ssize_t i = 0; sequence != NULL && i < PySequence_Fast_GET_SIZE(sequence); i++) {
        int32_t node;
        if (as_node(scan, PySequence_Fast_GET_ITEM(sequence, i), &node) < 0 ||
            push(nodes, node) < 0) {
            Py_CLEAR(sequence);
        }
    }
    Py_XDECREF(sequence);
    return sequence == NULL ? -1 : 0;
}

static PyObject *
scan_find(Scan *scan, PyObject *item)
{
    return PyLong_FromLong(find(scan, item));
}

static PyObject *
scan_find_at(Scan *scan, PyObject *address)
{
    void *at = PyLong_AsVoidPtr(address);
    return at == NULL && PyErr_Occurred() ? NULL : PyLong_FromLong(find(scan, at));
}

/* A question about one node that a single expression answers. */
#define NODE_GETTER(name, answer)                                                                  \
    static PyObject *name(Scan *scan, PyObject *number)                                            \
    {                                                                                              \
        int32_t node;                                                                              \
        return as_node(scan, number, &node) < 0 ? NULL : (answer);                                 \
    }

NODE_GETTER(scan_object_at, Py_NewRef(scan->objects[node]))
NODE_GETTER(scan_class_of, Py_NewRef((PyObject *)Py_TYPE(scan->objects[node])))
NODE_GETTER(scan_path_of, PyLong_FromLong(scan->path_of[node]))
NODE_GETTER(scan_size_of, PyLong_FromLongLong(scan->sizes[node]))
NODE_GETTER(scan_kind_of, PyLong_FromLong(scan->kinds[node]))

static PyObject *
scan_chain_to(Scan *scan, PyObject *args)
{
    int32_t node;
    PyObject *number;
    Py_ssize_t most = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(args, "O|n", &number, &most)) {
        return NULL;
    }
    PyObject *chain = as_node(scan, number, &node) < 0 ? NULL : PyList_New(0);
    while (chain != NULL && node >= 0 && PyList_GET_SIZE(chain) < most) {
        if (append_new(chain, PyLong_FromLong(node)) < 0) {
            Py_CLEAR(chain);
        }
        node = scan->parents[node];
    }
    if (chain != NULL && PyList_Reverse(chain) < 0) {
        Py_CLEAR(chain);
    }
    return chain;
}

static PyObject *
root_entry(Scan *scan, PyObject *number, Py_ssize_t which)
{
    int32_t node;
    if (as_node(scan, number, &node) < 0) {
        return NULL;
    }
    if (scan->parents[node] >= 0) {
        PyErr_SetString(PyExc_KeyError, "not a root");
        return NULL;
    }
    PyObject *entry = PyList_GET_ITEM(scan->roots, -2 - scan->parents[node]);
    return Py_NewRef(PyTuple_GET_ITEM(entry, which));
}

static PyObject *
scan_root_name(Scan *scan, PyObject *number)
{
    return root_entry(scan, number, 0);
}

static PyObject *
scan_is_namespace_root(Scan *scan, PyObject *number)
{
    return root_entry(scan, number, 1);
}

static PyObject *
scan_children(Scan *scan, PyObject *number)
{
    int32_t node;
    if (as_node(scan, number, &node) < 0) {
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)(scan->edges + scan->starts[node]),
                                     (Py_ssize_t)scan->degrees[node] * (Py_ssize_t)sizeof(int32_t));
}

static PyObject *
scan_total_bytes(Scan *scan, PyObject *unused)
{
    int64_t total = 0;
    for (Py_ssize_t i = 0; i < scan->count; i++) {
        total += scan->sizes[i];
    }
    return PyLong_FromLongLong(total);
}

PyDoc_STRVAR(heavy_doc,
"heavy(threshold)\n--\n\n"
"Return nodes that were the first way to at least this many bytes, themselves included.");

static PyObject *
scan_heavy(Scan *scan, PyObject *arg)
{
    int64_t threshold = PyLong_AsLongLong(arg);
    if (threshold == -1 && PyErr_Occurred()) {
        return NULL;
    }
    int64_t *below = pages_new((size_t)scan->count + 1, sizeof(int64_t));
    if (below == NULL) {
        return PyErr_NoMemory();
    }
    memcpy(below, scan->sizes, (size_t)scan->count * sizeof(int64_t));
    for (Py_ssize_t i = scan->count - 1; i >= 0; i--) {
        if (scan->parents[i] >= 0) {
            below[scan->parents[i]] += below[i];
        }
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < scan->count; i++) {
        if (below[i] >= threshold && append_new(found, PyLong_FromSsize_t(i)) < 0) {
            Py_CLEAR(found);
        }
    }
    pages_free(below);
    return found;
}

static int
compare_tally(const void *left, const void *right)
{
    Py_ssize_t a = (*(Class *const *)left)->tally, b = (*(Class *const *)right)->tally;
    return (a < b) - (a > b);
}

static PyObject *
ranked_classes(Scan *scan)
{
    Class **ranked = pages_new((size_t)scan->n_classes + 1, sizeof(Class *));
    PyObject *result = ranked == NULL ? PyErr_NoMemory() : PyList_New(0);
    Py_ssize_t used = 0;
    for (Py_ssize_t i = 0; result != NULL && i < scan->n_classes; i++) {
        if (scan->classes[i].tally > 0) {
            ranked[used++] = &scan->classes[i];
        }
    }
    if (result != NULL) {
        qsort(ranked, (size_t)used, sizeof(Class *), compare_tally);
    }
    for (Py_ssize_t i = 0; result != NULL && i < used; i++) {
        if (append_new(result, Py_BuildValue("(On)", ranked[i]->cls, ranked[i]->tally)) < 0) {
            Py_CLEAR(result);
        }
    }
    pages_free(ranked);
    return result;
}

static int
tally_class(Scan *scan, PyObject *item)
{
    if (is_vacant(item) || is_singleton(item)) {
        return 0;
    }
    Class *cls = class_of(scan, Py_TYPE(item));
    if (cls == NULL) {
        return -1;
    }
    cls->tally++;
    return 0;
}

static int
tally_elements(Scan *scan, int32_t node)
{
    PyObject *item = scan->objects[node];
    if (PyDict_Check(item) && !is_blank(Py_TYPE(item), item)) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Next(item, &at, &key, &value)) {
            if (tally_class(scan, value) < 0) {
                return -1;
            }
        }
        return 0;
    }
    for (uint32_t i = 0; i < scan->degrees[node]; i++) {
        if (tally_class(scan, scan->objects[scan->edges[scan->starts[node] + i]]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Mark and sum a node once. */
static int64_t
take(const Scan *scan, uint8_t *marked, int32_t node)
{
    if (marked[node]) {
        return 0;
    }
    marked[node] = 1;
    return scan->sizes[node];
}

PyDoc_STRVAR(entries_doc,
"entries(nodes)\n--\n\n"
"Return what containers hold, [(class, count)] by falling count, and its bytes.");

static PyObject *
scan_entries(Scan *scan, PyObject *arg)
{
    PyObject *ranked = NULL;
    Nodes given = {NULL, 0, 0};
    uint8_t *marked = pages_new((size_t)scan->count + 1, 1);
    int64_t bytes = 0;
    if (marked == NULL || read_nodes(scan, arg, &given) < 0) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < scan->n_classes; i++) {
        scan->classes[i].tally = 0;
    }
    for (Py_ssize_t n = 0; n < given.count; n++) {
        int32_t node = given.nodes[n];
        if (tally_elements(scan, node) < 0) {
            goto done;
        }
        for (uint32_t i = 0; i < scan->degrees[node]; i++) {
            int32_t child = scan->edges[scan->starts[node] + i];
            bytes += take(scan, marked, child);
            for (uint32_t k = 0; k < scan->degrees[child]; k++) {
                int32_t part = scan->edges[scan->starts[child] + k];
                if (scan->kinds[part] == shared.memory) {
                    bytes += take(scan, marked, part);
                }
            }
        }
    }
    ranked = ranked_classes(scan);
done:
    pages_free(given.nodes);
    pages_free(marked);
    if (ranked == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("(NL)", ranked, (long long)bytes);
}

PyMethodDef questions_methods[] = {
    {"find", (PyCFunction)scan_find, METH_O, "Return the node of an object, or -1."},
    {"find_at", (PyCFunction)scan_find_at, METH_O,
     "find_at(address)\n--\n\nReturn the node of the object that lies there, or -1."},
    {"object_at", (PyCFunction)scan_object_at, METH_O, "Return the object of a node."},
    {"class_of", (PyCFunction)scan_class_of, METH_O, "Return the class of a node's object."},
    {"chain_to", (PyCFunction)scan_chain_to, METH_VARARGS, "Return the nodes from a root to a node, or the last ones."},
    {"path_of", (PyCFunction)scan_path_of, METH_O, "Return the path at which a node lies."},
    {"size_of", (PyCFunction)scan_size_of, METH_O, "Return the bytes of a node itself."},
    {"kind_of", (PyCFunction)scan_kind_of, METH_O, "Return what a node is."},
    {"root_name", (PyCFunction)scan_root_name, METH_O, "Return the name of a root."},
    {"is_namespace_root", (PyCFunction)scan_is_namespace_root, METH_O,
     "Tell whether a root is a namespace."},
    {"children", (PyCFunction)scan_children, METH_O,
     "Return the nodes that a node refers to, packed."},
    {"total_bytes", (PyCFunction)scan_total_bytes, METH_NOARGS, "Return the bytes of all nodes."},
    {"heavy", (PyCFunction)scan_heavy, METH_O, heavy_doc},
    {"entries", (PyCFunction)scan_entries, METH_O, entries_doc},
    {NULL, NULL, 0, NULL},
};
