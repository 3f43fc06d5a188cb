/* Garbage: what no root leads to and nothing keeps alive but a cycle.

   As the collector does, the references among the nodes without a root are taken from the reference
   count of each. Who has some left is kept by C code, and so is all that it leads to. */

#include "scan.h"

/* How often it is asked anew what is kept, once garbage accounts for what it refers to in C: as many
   layers of a model, each with activations of its own. Chosen. */
#define MOST_ROUNDS 100

/* A reference that an adapter has read: the collector does not see it. */
typedef struct {
    int32_t from, to;
} Told;

typedef struct {
    Scan *scan;
    int32_t first;      /* the first node without a root */
    int64_t *left;      /* per node: the references that are not accounted for */
    int32_t *visited;   /* per node: the last node whose traversal visited it */
    uint8_t *kept;
    Told *told;
    Py_ssize_t n_told, cap_told;
    int32_t from;       /* the node that is being traversed */
} Sorting;

/* Return the position of a node among those without a root; -1 for others. */
static int32_t
adrift(const Sorting *sorting, const void *item)
{
    int32_t node = find(sorting->scan, (PyObject *)item);
    return node >= sorting->first ? node - sorting->first : -1;
}

/* Take one reference to an object away; return its position. */
static int32_t
give_up(Sorting *sorting, const void *item)
{
    int32_t at = item == NULL ? -1 : adrift(sorting, item);
    if (at >= 0) {
        sorting->left[at]--;
    }
    return at;
}

static int
account_for(PyObject *item, void *arg)
{
    Sorting *sorting = arg;
    int32_t at = give_up(sorting, item);
    if (at >= 0) {
        sorting->visited[at] = sorting->from;
    }
    return 0;
}

/* Take away the references that the scan has itself. */
static void
give_up_own(Sorting *sorting)
{
    const Scan *scan = sorting->scan;
    for (Py_ssize_t i = 0; i < scan->held.count; i++) {
        give_up(sorting, scan->held.items[i]);
    }
    for (Py_ssize_t i = 0; i < scan->n_classes; i++) {
        give_up(sorting, scan->classes[i].cls);
        give_up(sorting, scan->classes[i].method);
        give_up(sorting, scan->classes[i].read);
    }
}

static int
account_for_references(Sorting *sorting)
{
    const Scan *scan = sorting->scan;
    for (int32_t node = sorting->first; node < scan->count; node++) {
        PyObject *item = scan->objects[node];
        const Class *cls = known_class(scan, Py_TYPE(item));
        sorting->from = node + 1;
        /* Where the scan borrows, an object of its own that is gone by now has no count. */
        int lives = cls != NULL && Py_REFCNT(item) > 0;
        if (lives && may_traverse(cls, item) && traverse(item, account_for, sorting) < 0) {
            return -1;
        }
        for (uint32_t i = 0; i < scan->degrees[node]; i++) {
            int32_t to = scan->edges[scan->starts[node] + i];
            if (to < sorting->first || sorting->visited[to - sorting->first] == node + 1) {
                continue;
            }
            if (reserve((void **)&sorting->told, &sorting->cap_told, sorting->n_told + 1, sizeof(Told))) {
                return -1;
            }
            sorting->told[sorting->n_told++] = (Told){node - sorting->first, to - sorting->first};
        }
    }
    return 0;
}

/* Note what is kept: the nodes with references left, and all that they lead to. */
static int
keep(Sorting *sorting)
{
    const Scan *scan = sorting->scan;
    Nodes waiting = {NULL, 0, 0};
    Py_ssize_t count = scan->count - sorting->first;
    int failed = 0;
    memset(sorting->kept, 0, (size_t)count);
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        if (sorting->left[at] > 0 && !sorting->kept[at]) {
            sorting->kept[at] = 1;
            failed = push(&waiting, (int32_t)at) < 0;
        }
        while (!failed && waiting.count > 0) {
            int32_t node = waiting.nodes[--waiting.count] + sorting->first;
            for (uint32_t i = 0; !failed && i < scan->degrees[node]; i++) {
                int32_t below = scan->edges[scan->starts[node] + i] - sorting->first;
                if (below >= 0 && !sorting->kept[below]) {
                    sorting->kept[below] = 1;
                    failed = push(&waiting, below) < 0;
                }
            }
        }
    }
    pages_free(waiting.nodes);
    return failed ? -1 : 0;
}

/* Account for what garbage refers to in C, such as the gradients of its tensors; return how many
   references that were. What C code alone keeps, a cycle through C among it, accounts for nothing. */
static Py_ssize_t
account_for_told(Sorting *sorting)
{
    Py_ssize_t others = 0, known = sorting->n_told;
    for (Py_ssize_t i = 0; i < known; i++) {
        Told told = sorting->told[i];
        if (sorting->kept[told.from]) {
            sorting->told[others++] = told;
        }
        else {
            sorting->left[told.to]--;
        }
    }
    sorting->n_told = others;
    return known - others;
}

static int
sort_out(Sorting *sorting)
{
    const Scan *scan = sorting->scan;
    for (Py_ssize_t node = sorting->first; node < scan->count; node++) {
        sorting->left[node - sorting->first] = Py_REFCNT(scan->objects[node]) - !scan->borrows;
    }
    give_up_own(sorting);
    if (account_for_references(sorting) < 0) {
        return -1;
    }
    int rounds = 0;
    do {
        if (keep(sorting) < 0) {
            return -1;
        }
    } while (account_for_told(sorting) && ++rounds < MOST_ROUNDS);
    return 0;
}

static PyObject *
rest_of(const Sorting *sorting)
{
    Py_ssize_t count = sorting->scan->count - sorting->first, found = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        found += !sorting->kept[at];
    }
    PyObject *nodes = PyBytes_FromStringAndSize(NULL, found * (Py_ssize_t)sizeof(int32_t));
    int32_t *into = nodes == NULL ? NULL : (int32_t *)(void *)PyBytes_AS_STRING(nodes);
    for (Py_ssize_t at = 0; into != NULL && at < count; at++) {
        if (!sorting->kept[at]) {
            *into++ = sorting->first + (int32_t)at;
        }
    }
    return nodes;
}

PyDoc_STRVAR(garbage_doc,
"garbage(first)\n--\n\n"
"Return the nodes from ``first`` on that nothing keeps alive but a cycle, packed.\n"
"``first`` is the number of nodes that a root leads to.");

static PyObject *
scan_garbage(Scan *scan, PyObject *number)
{
    Py_ssize_t first = PyLong_AsSsize_t(number);
    if (first == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (first < 0 || first > scan->count) {
        PyErr_SetString(PyExc_IndexError, "no such node");
        return NULL;
    }
    size_t count = (size_t)(scan->count - first) + 1;
    Sorting sorting = {.scan = scan, .first = (int32_t)first};
    sorting.left = pages_new(count, sizeof(int64_t));
    sorting.visited = pages_new(count, sizeof(int32_t));
    sorting.kept = pages_new(count, 1);
    PyObject *nodes = NULL;
    if (!sorting.left || !sorting.visited || !sorting.kept) {
        PyErr_NoMemory();
    }
    else if (sort_out(&sorting) == 0) {
        nodes = rest_of(&sorting);
    }
    pages_free(sorting.left);
    pages_free(sorting.visited);
    pages_free(sorting.kept);
    pages_free(sorting.told);
    return nodes;
}

PyMethodDef garbage_methods[] = {
    {"garbage", (PyCFunction)scan_garbage, METH_O, garbage_doc},
    {NULL, NULL, 0, NULL},
};
