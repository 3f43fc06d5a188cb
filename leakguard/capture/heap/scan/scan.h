/* What the rooms of the compiled scan share: its record, and what is asked once an object.

   Only the public C API is used here; what needs more says so (inside.h). Every object that is seen is
   held by a strong reference until the scan is closed, so that neither another thread nor an adapter
   can free what is being looked at; but for a census in a copy of the process, which holds nothing.
   No Python object is made per object that is walked; adapters (readers) make theirs. */

#ifndef LEAKGUARD_SCAN_H
#define LEAKGUARD_SCAN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdint.h>
#include <string.h>
#include "pages.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

#define NO_NODE (-1)

/* ---- constants that the pure twin has too: read from it once, when the module is loaded -------- */

typedef struct {
    /* layout.py: what an instance is made of */
    int plain, list, tuple, dict, elements, named, memory, autograd;
    /* path_tree.py: kinds of edges, and where a path stays as it is */
    int root, element, key, namespace, name, position, instance;
    int max_depth, nested, link;
    /* graph.py */
    int max_record, first_part;
    /* retention.py */
    int empty_container, empty_elements;
} Shared;

extern Shared shared;

/* Checksum (31 bits) of _scan.pyi; see compiled_part.py. */
#define INTERFACE 0x341F6422

/* How many fields of layout.py's ClassLayout class_of reads: Python does without a scan that was
   built for another number. */
#define LAYOUT_FIELDS 9

/* Whether a census can list what the collector tracks by itself; see tracked.c. */
extern const int LISTS_TRACKED;

/* Whether locals_of reads the locals of a frame; see frames.c. */
extern const int READS_LOCALS;

/* ---- the record ------------------------------------------------------------------------------ */

typedef struct {
    PyTypeObject *cls;
    PyObject *method;    /* sizes an instance without its headers, or NULL */
    PyObject *read;      /* the adapter, or NULL */
    Py_ssize_t fixed, header, item;
    Py_ssize_t room;     /* references that fit into an instance; more are its elements */
    Py_ssize_t live, bytes, tally, owners, owned;
    int kind;
    char hidden, managed, traversed, deferred, handed, fast, wary;
} Class;

enum { FAST_NONE, FAST_LIST, FAST_VAR, FAST_STR, FAST_INT };

/* How ndarray itself tells the base and the interface of an array, whatever a subclass says. */
typedef struct {
    PyObject *base, *interface;
} ArrayReader;

typedef struct {
    int64_t start, bytes;
} Extent;

/* Where torch keeps what is read of a tensor: in bytes from the start of what has it. */
typedef struct {
    int64_t tensor;    /* in the Python object: the pointer to torch's own */
    int64_t storage;   /* in torch's own: the pointer to the storage */
    int64_t graph;     /* the one to its part in a backward graph, NULL where it has none */
    int64_t keys;
    int64_t start;     /* in the storage */
    int64_t bytes;
    int64_t release;   /* the function that frees the memory */
    uint64_t plain;    /* the keys of a plain tensor */
    uint64_t released; /* the function of torch's own allocator */
} TensorLayout;

typedef struct {
    Extent extent; /* first: it is written out by itself */
    Py_ssize_t order;
    int32_t cls;
} Storage;

/* A slot of the table of nodes: most of a search is decided without looking at the object. */
typedef struct {
    uint32_t tag;
    int32_t node;
} Slot;

typedef struct Path {
    uint64_t key, label;
    int64_t entries;
    int32_t parent, sample, depth;
    uint8_t kind;
} Path;

typedef struct PathSlot {
    uint64_t label;
    int32_t parent, path;
    uint8_t kind, used;
} PathSlot;

/* Objects that the collector tracks, held by nobody. */
typedef struct {
    PyObject **items;
    Py_ssize_t count, capacity;
} Tracked;

typedef struct {
    PyObject_HEAD
    PyObject *describe, *is_deferred;
    Class *classes;
    Py_ssize_t n_classes, cap_classes;
    int32_t *class_table;
    Py_ssize_t class_mask;

    PyObject **objects;
    Py_ssize_t count, cap_objects;
    Slot *table;
    Py_ssize_t mask;
    char walks;    /* follows references; a census alone has most objects from the collector */
    char borrows;  /* holds nothing: no page is written to that a copy shares with the process */
    char fresh;    /* what is added now may be held by nobody else: it is held all the same */
    Tracked held;  /* what is held although the scan borrows */
    PyObject *rest;  /* addresses of what was tracked before the walk, which makes its own objects */

    /* per node */
    int32_t *parents, *path_of;
    uint32_t *degrees, *starts;  /* how many references it has, and the first of them in edges */
    int64_t *sizes;
    uint8_t *kinds;
    Py_ssize_t cap_parents, cap_path_of, cap_degrees, cap_sizes, cap_starts, cap_kinds;

    int32_t *edges;
    Py_ssize_t n_edges, cap_edges;

    int32_t *deferred;
    Py_ssize_t n_deferred, cap_deferred;
    /* memory that arrays own, where it is plain: told in sums and places, not one by one */
    ArrayReader arrays;
    Extent *extents;
    Py_ssize_t n_extents, cap_extents;
    TensorLayout tensors;
    char reads_tensors;
    Storage *storages;
    Py_ssize_t n_storages, cap_storages;

    PyObject *roots;     /* list of (name, is namespace); parents hold -2 - position */
    Py_ssize_t next;

    /* paths */
    Path *paths;
    Py_ssize_t n_paths, cap_paths;
    PathSlot *path_table;
    Py_ssize_t path_mask, path_used;

    /* children of the object that is being expanded */
    PyObject **found;
    Py_ssize_t n_found, cap_found;
} Scan;

/* ---- lists for Python ------------------------------------------------------------------------ */

/* Append a new reference and give it up; -1 where it could not be made (NULL) or appended. */
static inline int
append_new(PyObject *list, PyObject *entry)
{
    int failed = entry == NULL || PyList_Append(list, entry) < 0;
    Py_XDECREF(entry);
    return failed ? -1 : 0;
}

/* ---- growing arrays and hashing -------------------------------------------------------------- */

static inline int
reserve(void **data, Py_ssize_t *capacity, Py_ssize_t wanted, size_t item)
{
    if (wanted <= *capacity) {
        return 0;
    }
    Py_ssize_t larger = *capacity + *capacity / 2 + 1024;
    if (larger < wanted) {
        larger = wanted;
    }
    void *moved = pages_resize(*data, (size_t)larger, item);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *data = moved;
    *capacity = larger;
    return 0;
}

static inline uint64_t
mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}

/* Neighbours in memory stay neighbours in the table of nodes: objects that were made together are
   looked up together, and the cache is what a walk waits for. Where they crowd, a search hops to
   another place after a few steps. */
static inline uint64_t
place(const void *item)
{
    return (uint64_t)(uintptr_t)item >> 4;
}

#define STEPS 16

static inline Py_ssize_t
after(Py_ssize_t at, const void *item, unsigned *step, Py_ssize_t mask)
{
    if (++*step % STEPS) {
        return (at + 1) & mask;
    }
    return (Py_ssize_t)mix((uint64_t)(uintptr_t)item + *step) & mask;
}

static inline uint32_t
tag_of(const void *item)
{
    return (uint32_t)((uint64_t)(uintptr_t)item >> 4);
}

/* A list of nodes in pages of its own. */
typedef struct {
    int32_t *nodes;
    Py_ssize_t count, capacity;
} Nodes;

static inline int
push(Nodes *nodes, int32_t node)
{
    if (reserve((void **)&nodes->nodes, &nodes->capacity, nodes->count + 1, sizeof(int32_t))) {
        return -1;
    }
    nodes->nodes[nodes->count++] = node;
    return 0;
}

/* ---- single objects -------------------------------------------------------------------------- */

static inline int
is_singleton(PyObject *item)
{
    return item == Py_None || item == Py_True || item == Py_False || item == Py_Ellipsis ||
           item == Py_NotImplemented;
}

/* Tell whether a reference leads to no object: a slot that is not filled yet (PyList_New gives such
   a list), or what a wrong tp_traverse shows. Counts of 0 and less are those of freed objects. */
static inline int
is_vacant(PyObject *item)
{
    return item == NULL || ((uintptr_t)item & (sizeof(void *) - 1)) || Py_REFCNT(item) <= 0 ||
           Py_TYPE(item) == NULL;
}

/* Tell whether an instance was allocated and nothing more: then it refers to nothing, and what its
   class does with it (traversal and size of a dict, a set, a deque, a frame) would read NULL. */
static inline int
is_blank(PyTypeObject *cls, PyObject *item)
{
    const uintptr_t *words = (const uintptr_t *)item;
    Py_ssize_t count = cls->tp_basicsize / (Py_ssize_t)sizeof(uintptr_t);
    Py_ssize_t at = (Py_ssize_t)(sizeof(PyObject) / sizeof(uintptr_t));
    if (at >= count) {
        return 0;
    }
    while (at < count && words[at] == 0) {
        at++;
    }
    return at == count;
}

/* Tell whether objects of a class may lie between two wrappers of a function; see path_tree.py. */
static inline int
is_link(PyTypeObject *cls)
{
    return cls == &PyTuple_Type || cls == &PyCell_Type;
}

/* ---- what is known already ------------------------------------------------------------------- */

/* Return what is known of a class; NULL, without an error, when nothing is yet. */
static inline Class *
known_class(const Scan *scan, PyTypeObject *cls)
{
    if (scan->class_mask == 0) {
        return NULL;
    }
    Py_ssize_t at = (Py_ssize_t)mix((uintptr_t)cls) & scan->class_mask;
    while (scan->class_table[at] >= 0) {
        Class *known = &scan->classes[scan->class_table[at]];
        if (known->cls == cls) {
            return known;
        }
        at = (at + 1) & scan->class_mask;
    }
    return NULL;
}

static inline int32_t
find(const Scan *scan, PyObject *item)
{
    if (scan->mask == 0) {
        return NO_NODE;
    }
    uint32_t tag = tag_of(item);
    unsigned step = 0;
    Py_ssize_t at = (Py_ssize_t)place(item) & scan->mask;
    while (scan->table[at].node >= 0) {
        if (scan->table[at].tag == tag && scan->objects[scan->table[at].node] == item) {
            return scan->table[at].node;
        }
        at = after(at, item, &step, scan->mask);
    }
    return NO_NODE;
}

#if defined(__GNUC__) || defined(__clang__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif
#define AHEAD 8

/* Begin to load what a search for an object needs soon: first its slot, then what that leads to. */
static inline void
expect(const Scan *scan, PyObject *const *items, Py_ssize_t at, Py_ssize_t count)
{
    if (at + 2 * AHEAD < count && scan->mask) {
        FETCH(&scan->table[(Py_ssize_t)place(items[at + 2 * AHEAD]) & scan->mask]);
    }
    if (at + AHEAD < count && scan->mask) {
        int32_t node = scan->table[(Py_ssize_t)place(items[at + AHEAD]) & scan->mask].node;
        if (node >= 0) {
            FETCH(&scan->objects[node]);
        }
    }
}

/* ---- the rooms ------------------------------------------------------------------------------- */

/* classes.c */
Class * class_of(Scan *scan, PyTypeObject *cls);
Py_ssize_t size_of(const Class *cls, PyObject *item, Py_ssize_t referents, int only_dict);
extern traverseproc subtype_traverse;

/* nodes.c */
int is_full(Py_ssize_t used, Py_ssize_t slots);
Py_ssize_t larger_table(Py_ssize_t mask, Py_ssize_t least, Py_ssize_t usual);
int hold(Scan *scan, PyObject *item);
int32_t add_object(Scan *scan, PyObject *item);
extern Py_ssize_t usual_objects[2], usual_paths;

/* references.c */
int may_traverse(const Class *cls, PyObject *item);
int traverse(PyObject *item, visitproc visit, void *arg);
int collect(Scan *scan, const Class *cls, PyObject *item);
int collect_code(Scan *scan, PyObject *item);
int read_with(PyObject *read, PyObject *item, visitproc visit, void *parts_arg, visitproc visit_element, void *elements_arg);

/* arrays.c */
int tell_extent(Scan *scan, Class *cls, PyObject *array, Py_ssize_t large);
PyObject *write_extents(PyObject *into, const void *first, Py_ssize_t count, size_t step);
extern PyMethodDef arrays_methods[];
extern PyMethodDef arrays_functions[];

/* tensors.c */
int tell_storage(Scan *scan, Class *cls, PyObject *item, Py_ssize_t large);
void settle_storages(Scan *scan);
extern PyMethodDef tensors_methods[];
extern PyMethodDef tensors_functions[];

/* copy.c */
extern PyMethodDef copy_functions[];

/* tracked.c */
int list_tracked(Tracked *tracked);
int list_young(Tracked *tracked);
extern PyMethodDef tracked_functions[];
extern PyMethodDef spare_functions[];
extern PyMethodDef population_functions[];

/* frames.c */
extern PyMethodDef frames_functions[];

/* census.c */
extern PyMethodDef census_methods[];

/* paths.c */
int32_t path_child(Scan *scan, int32_t parent, uint8_t kind, uint64_t label, PyTypeObject *cls);
extern PyMethodDef paths_methods[];

/* graph.c */
extern PyMethodDef graph_methods[];

/* questions.c */
int as_node(const Scan *scan, PyObject *number, int32_t *node);
int read_nodes(const Scan *scan, PyObject *given, Nodes *nodes);
extern PyMethodDef questions_methods[];

/* owners.c */
extern PyMethodDef owners_methods[];

/* garbage.c */
extern PyMethodDef garbage_methods[];

/* retention.c */
extern PyMethodDef retention_methods[];

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
