/* Which object a block of memory belongs to: the object that lies in it, or whose parts do.

   An object begins where its block does, or behind the headers of the collector and of its dict. */

#include "scan.h"
#ifdef __linux__
#include <sys/uio.h>
#include <unistd.h>
#endif

static const uintptr_t HEADERS[] = {0, 2 * sizeof(void *), 4 * sizeof(void *)};

typedef struct {
    uintptr_t *addresses;
    int32_t *positions;
    Py_ssize_t mask;
    uintptr_t first, last;
} Wanted;

static Py_ssize_t
slot_of(const Wanted *wanted, uintptr_t address)
{
    Py_ssize_t at = (Py_ssize_t)mix(address) & wanted->mask;
    while (wanted->addresses[at] && wanted->addresses[at] != address) {
        at = (at + 1) & wanted->mask;
    }
    return at;
}

static int32_t
object_in(const Scan *scan, uintptr_t block)
{
    int32_t node = NO_NODE;
    for (size_t i = 0; node == NO_NODE && i < sizeof(HEADERS) / sizeof(*HEADERS); i++) {
        node = find(scan, (PyObject *)(block + HEADERS[i]));
    }
    return node;
}

/* Whether memory can be read: the kernel is asked, since a read that fails would end the process. */
static int
is_readable(uintptr_t address)
{
#ifdef __linux__
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)address, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
#else
    return 0;
#endif
}

/* Where the fields of an object end, as far as they can be read. Some objects are smaller than their
   class says: classes and texts of the interpreter, and what some extensions allocate. What follows
   may not be mapped, so the page behind that of the header is read only if it can be, and no more. */
static const uintptr_t *
end_of_fields(PyObject *item)
{
    const uintptr_t page = 4096;
    uintptr_t end = (uintptr_t)item + (uintptr_t)Py_TYPE(item)->tp_basicsize;
    uintptr_t next_page = ((uintptr_t)item & ~(page - 1)) + page;
    if (PyUnicode_Check(item)) {
        return (const uintptr_t *)item;
    }
    if (end > next_page) {
        uintptr_t readable = is_readable(next_page) ? next_page + page : next_page;
        end = end < readable ? end : readable;
    }
    return (const uintptr_t *)end;
}

/* An object refers to the blocks of its parts from its own fields, whatever its class: the items of a
   list, the table of a dict, the digits of a decimal, what a class of an extension allocates. */
static void
find_parts_of(PyObject *item, const Wanted *wanted, int32_t node, int32_t *nodes)
{
    const uintptr_t *fields = (const uintptr_t *)(item + 1);
    const uintptr_t *end = end_of_fields(item);
    for (; fields + 1 <= end; fields++) {
        uintptr_t part = *fields;
        if (part < wanted->first || part > wanted->last) {
            continue;
        }
        Py_ssize_t at = slot_of(wanted, part);
        if (wanted->addresses[at] && nodes[wanted->positions[at]] == NO_NODE) {
            nodes[wanted->positions[at]] = node;
        }
    }
}

static void
find_parts(const Scan *scan, const Wanted *wanted, int32_t *nodes)
{
    for (Py_ssize_t node = 0; node < scan->count; node++) {
        if (node + AHEAD < scan->count) {
            FETCH(scan->objects[node + AHEAD]);
        }
        find_parts_of(scan->objects[node], wanted, (int32_t)node, nodes);
    }
}

static int
fill(Wanted *wanted, const uint64_t *blocks, Py_ssize_t count)
{
    wanted->mask = 1023;
    while (is_full(count, wanted->mask)) {
        wanted->mask = 2 * wanted->mask + 1;
    }
    wanted->addresses = pages_new((size_t)wanted->mask + 1, sizeof(uintptr_t));
    wanted->positions = pages_new((size_t)wanted->mask + 1, sizeof(int32_t));
    if (wanted->addresses == NULL || wanted->positions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t at = slot_of(wanted, (uintptr_t)blocks[i]);
        wanted->first = blocks[i] < wanted->first ? (uintptr_t)blocks[i] : wanted->first;
        wanted->last = blocks[i] > wanted->last ? (uintptr_t)blocks[i] : wanted->last;
        wanted->addresses[at] = (uintptr_t)blocks[i];
        wanted->positions[at] = (int32_t)i;
    }
    return 0;
}

PyDoc_STRVAR(owners_doc,
"owners(blocks)\n--\n\n"
"Return, for each of these addresses (a buffer of uint64), the node that the block belongs to, or -1.");

static PyObject *
scan_owners(Scan *scan, PyObject *given)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(given, &buffer, PyBUF_CONTIG_RO) < 0) {
        return NULL;
    }
    const uint64_t *blocks = buffer.buf;
    Py_ssize_t count = buffer.len / (Py_ssize_t)sizeof(uint64_t);
    Wanted wanted = {NULL, NULL, 0, UINTPTR_MAX, 0};
    PyObject *found = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t));
    if (found != NULL && fill(&wanted, blocks, count) == 0) {
        int32_t *nodes = (int32_t *)PyBytes_AS_STRING(found);
        for (Py_ssize_t i = 0; i < count; i++) {
            nodes[i] = object_in(scan, (uintptr_t)blocks[i]);
        }
        find_parts(scan, &wanted, nodes);
    }
    else {
        Py_CLEAR(found);
    }
    pages_free(wanted.addresses);
    pages_free(wanted.positions);
    PyBuffer_Release(&buffer);
    return found;
}

/* The next node above another that lies at its path, as the links of a chain do; NO_NODE if none. */
static int32_t
link_above(const Scan *scan, int32_t node)
{
    int32_t path = scan->path_of[node], above = scan->parents[node];
    for (int between = 0; between <= shared.link + 1 && above >= 0; between++) {
        if (scan->path_of[above] == path) {
            return above;
        }
        above = scan->parents[above];
    }
    return NO_NODE;
}

/* The topmost link of the chain that a node is in. `tops` is what was found before: chains are long,
   and many of their links are asked about. */
static int32_t
top_of(const Scan *scan, int32_t node, int32_t *tops)
{
    int32_t top = node, above;
    while (tops[top] == 0 && (above = link_above(scan, top)) >= 0) {
        top = above;
    }
    top = tops[top] ? tops[top] - 1 : top;
    tops[node] = top + 1;
    return top;
}

/* Return [(path, entry)], outermost first, of the wanted paths that lead to a node: the entry is what
   the innermost object at that path leads on to, or the node itself. */
static PyObject *
way_to(const Scan *scan, int32_t node, const char *wanted, int32_t *tops)
{
    PyObject *way = PyList_New(0);
    int32_t below = node, at = node;
    while (way != NULL && at >= 0) {
        int32_t path = scan->path_of[at];
        if (wanted[path] && append_new(way, Py_BuildValue("(ii)", (int)path, (int)below)) < 0) {
            Py_CLEAR(way);
        }
        below = wanted[path] ? top_of(scan, at, tops) : at;
        at = scan->parents[below];
    }
    if (way != NULL && PyList_Reverse(way) < 0) {
        Py_CLEAR(way);
    }
    return way;
}

static PyObject *
ways_to(const Scan *scan, const Nodes *nodes, const char *wanted)
{
    int32_t *tops = pages_new((size_t)scan->count + 1, sizeof(int32_t));
    PyObject *ways = tops == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (Py_ssize_t i = 0; ways != NULL && i < nodes->count; i++) {
        if (append_new(ways, way_to(scan, nodes->nodes[i], wanted, tops)) < 0) {
            Py_CLEAR(ways);
        }
    }
    pages_free(tops);
    return ways;
}

PyDoc_STRVAR(ways_doc,
"ways(nodes, wanted)\n--\n\n"
"Return for each node which of the paths that have a byte set in ``wanted`` lead to it, outermost\n"
"first: (path, entry), where the entry is what the innermost object there leads on to.");

static PyObject *
scan_ways(Scan *scan, PyObject *args)
{
    PyObject *given, *ways = NULL;
    Py_buffer wanted;
    Nodes nodes = {NULL, 0, 0};
    if (!PyArg_ParseTuple(args, "Oy*", &given, &wanted)) {
        return NULL;
    }
    if (wanted.len != scan->n_paths) {
        PyErr_SetString(PyExc_ValueError, "ways takes a byte for each path");
    }
    else if (read_nodes(scan, given, &nodes) == 0) {
        ways = ways_to(scan, &nodes, wanted.buf);
    }
    pages_free(nodes.nodes);
    PyBuffer_Release(&wanted);
    return ways;
}

PyMethodDef owners_methods[] = {
    {"owners", (PyCFunction)scan_owners, METH_O, owners_doc},
    {"ways", (PyCFunction)scan_ways, METH_VARARGS, ways_doc},
    {NULL, NULL, 0, NULL},
};
