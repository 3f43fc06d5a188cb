/* The compiled heap scan: the same walks as walk.py and graph.py, with the same results.

   Only the public C API is used. Every object that is seen is held by a strong reference until the
   scan is closed, so that neither another thread nor an adapter can free what is being looked at.
   No Python object is made per object that is walked; adapters (readers) make theirs. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdint.h>
#include <string.h>
#include "_pages.h"

enum { PLAIN, LIST, TUPLE, DICT, ELEMENTS, NAMED, MEMORY, AUTOGRAD };
enum { P_ROOT, P_ELEMENT, P_KEY, P_NAMESPACE, P_NAME, P_POSITION, P_INSTANCE };

#define NO_NODE (-1)
#define MAX_RECORD 64
#define MAX_DEPTH 64
#define NESTED 8
#define FIRST_PART 1000

/* ---- growing arrays and hashing ---------------------------------------------------------- */

static int
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

/* A slot of the table of nodes: most of a search is decided without looking at the object. */
typedef struct {
    uint32_t tag;
    int32_t node;
} Slot;

static inline uint32_t
tag_of(const void *item)
{
    return (uint32_t)((uint64_t)(uintptr_t)item >> 4);
}

/* ---- half-built objects ------------------------------------------------------------------ */

/* Tell whether a reference leads to no object: a slot that is not filled yet (PyList_New gives such
   a list), or what a wrong tp_traverse shows. Counts of 0 and less are those of freed objects. */
static inline int
is_vacant(PyObject *item)
{
    return item == NULL || ((uintptr_t)item & (sizeof(void *) - 1)) || Py_REFCNT(item) <= 0 ||
           Py_TYPE(item) == NULL;
}

/* How instances of classes that were made in Python are traversed. */
static traverseproc subtype_traverse;

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

/* ---- classes ----------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *cls;
    PyObject *method;    /* sizes an instance without its headers, or NULL */
    PyObject *read;      /* the adapter, or NULL */
    Py_ssize_t fixed, header, item;
    Py_ssize_t live, bytes, tally, owners, owned;
    int kind;
    char hidden, managed, traversed, deferred, handed, fast, wary;
} Class;

enum { FAST_NONE, FAST_LIST, FAST_VAR, FAST_STR, FAST_INT };

/* ---- arrays that own their memory -------------------------------------------------------- */

/* The array interface that NumPy documents (__array_struct__). */
typedef struct {
    int two, dimensions;
    char kind;
    int item, flags;
    Py_intptr_t *shape, *strides;
    void *data;
    PyObject *descr;
} ArrayInterface;

/* How ndarray itself tells the base and the interface of an array, whatever a subclass says. */
typedef struct {
    PyObject *base, *interface;
} ArrayReader;

typedef struct {
    int64_t start, bytes;
} Extent;

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

/* ---- the scan ---------------------------------------------------------------------------- */

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
    char walks;  /* follows references; a census alone has most objects from the collector */

    /* per node */
    int32_t *parents, *path_of;
    uint32_t *degrees;
    int64_t *sizes, *starts;
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

    PyObject *roots;     /* list of (name, is namespace); parents hold -2 - position */
    Py_ssize_t next;

    /* paths */
    struct Path *paths;
    Py_ssize_t n_paths, cap_paths;
    struct PathSlot *path_table;
    Py_ssize_t path_mask, path_used;

    /* children of the object that is being expanded */
    PyObject **found;
    Py_ssize_t n_found, cap_found;
} Scan;

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

/* The same, asking Python where nothing is known: other threads may run meanwhile. */
static Class *
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
    if (!PyArg_ParseTuple(layout, "inOnpppOi", &kind, &made.fixed, &method, &made.header, &hidden,
                          &managed, &traversed, &read, &handed)) {
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
    if (kind == LIST) {
        made.fast = FAST_LIST;
        made.fixed = cls->tp_basicsize + made.header;
    }
    else if (kind == TUPLE || cls == &PyBytes_Type) {
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

static Py_ssize_t
size_of(const Class *cls, PyObject *item, Py_ssize_t referents, int only_dict)
{
    if (cls->kind == MEMORY) {
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

/* ---- nodes ------------------------------------------------------------------------------- */

static void
put(Scan *scan, PyObject *item, int32_t node)
{
    Py_ssize_t at = (Py_ssize_t)place(item) & scan->mask;
    unsigned step = 0;
    while (scan->table[at].node >= 0) {
        at = after(at, item, &step, scan->mask);
    }
    scan->table[at] = (Slot){tag_of(item), node};
}

/* What the last census and the last walk found: the next one begins with tables that large. */
static Py_ssize_t usual_objects[2], usual_paths;

/* Return the slots of a larger table, or of the first one. */
static Py_ssize_t
larger_table(Py_ssize_t mask, Py_ssize_t least, Py_ssize_t usual)
{
    Py_ssize_t size = mask ? (mask + 1) * 2 : least;
    while (!mask && size <= usual * 2) {
        size *= 2;
    }
    return size;
}

static int
grow_table(Scan *scan)
{
    Py_ssize_t size = larger_table(scan->mask, 1 << 16, usual_objects[(int)scan->walks]);
    Slot *table = pages_new((size_t)size, sizeof(Slot));
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(table, 0xff, (size_t)size * sizeof(Slot));
    pages_free(scan->table);
    scan->table = table;
    scan->mask = size - 1;
    for (Py_ssize_t i = 0; i < scan->count; i++) {
        put(scan, scan->objects[i], (int32_t)i);
    }
    return 0;
}

static int32_t
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

/* Add an object that is not known yet; its slot in the table is searched anew. */
static int32_t
add_object(Scan *scan, PyObject *item)
{
    if (scan->count * 2 >= scan->mask && grow_table(scan) < 0) {
        return -2;
    }
    if (scan->count >= INT32_MAX - 1) {
        PyErr_SetString(PyExc_OverflowError, "more objects than a heap scan can number");
        return -2;
    }
    if (reserve((void **)&scan->objects, &scan->cap_objects, scan->count + 1,
                sizeof(PyObject *))) {
        return -2;
    }
    put(scan, item, (int32_t)scan->count);
    scan->objects[scan->count] = Py_NewRef(item);
    return (int32_t)scan->count++;
}

static inline int
is_singleton(PyObject *item)
{
    return item == Py_None || item == Py_True || item == Py_False || item == Py_Ellipsis ||
           item == Py_NotImplemented;
}

/* ---- what an object refers to ------------------------------------------------------------ */

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
static int
may_traverse(const Class *cls, PyObject *item)
{
    if (!cls->traversed || Py_TYPE(item)->tp_traverse == NULL ||
        (cls->wary && is_blank(cls->cls, item))) {
        return 0;
    }
    return PyTuple_CheckExact(item) || PyDict_CheckExact(item) || PyObject_GC_IsTracked(item);
}

/* Only what the visitor says of itself counts: a class may return anything. */
static int
traverse(PyObject *item, visitproc visit, void *arg)
{
    int said = Py_TYPE(item)->tp_traverse(item, visit, arg);
    return said != 0 && PyErr_Occurred() ? -1 : 0;
}

static int
collect(Scan *scan, const Class *cls, PyObject *item)
{
    scan->n_found = 0;
    if (!may_traverse(cls, item)) {
        return 0;
    }
    return traverse(item, collect_visit, scan);
}

static int
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

/* ---- the census -------------------------------------------------------------------------- */

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

/* The same for what only an adapter holds: it is gone after the call, so it is taken at once. */
static int
leaf_visit_at_once(PyObject *item, void *arg)
{
    return leaf_visit(item, arg) < 0 ? -1 : flush((Leaves *)arg);
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
static int
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

/* Add up an array that owns plain memory; 0 where it has to be looked at on its own. */
static int
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
    if (cls->handed && PyList_Append(handed[cls->handed - 1], item) < 0) {
        return -1;
    }
    if (size >= large) {
        PyObject *entry = Py_BuildValue("(On)", cls->cls, size);
        if (entry == NULL || PyList_Append(big, entry) < 0) {
            Py_XDECREF(entry);
            return -1;
        }
        Py_DECREF(entry);
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

static PyObject *
scan_extents(Scan *scan, PyObject *into)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(into, &buffer, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    Py_ssize_t size = scan->n_extents * (Py_ssize_t)sizeof(Extent);
    int fits = buffer.len >= size;
    if (fits && size) {
        qsort(scan->extents, (size_t)scan->n_extents, sizeof(Extent), by_start);
        memcpy(buffer.buf, scan->extents, (size_t)size);
    }
    PyBuffer_Release(&buffer);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the buffer is too small");
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(census_doc,
"census(tracked, beside, all_listed, large)\n--\n\n"
"Count all objects by exact class: [(class, live, bytes, owners, owned bytes)], the objects of\n"
"classes that are handed over as 1 and as 2, and [(class, bytes)] of large ones. Owners are arrays\n"
"that own plain memory, once ``arrays`` was called; they are not handed over.");

static PyObject *
scan_census(Scan *scan, PyObject *args)
{
    PyObject *tracked, *beside;
    Py_ssize_t large;
    int all_listed;
    if (!PyArg_ParseTuple(args, "O!O!pn", &PyList_Type, &tracked, &PyList_Type, &beside,
                          &all_listed, &large)) {
        return NULL;
    }
    PyObject *handed[2] = {PyList_New(0), PyList_New(0)};
    PyObject *big = PyList_New(0), *result = NULL, *classes = NULL;
    Leaves *leaves = pages_new(1, sizeof(Leaves));
    if (handed[0] == NULL || handed[1] == NULL || big == NULL || leaves == NULL) {
        goto done;
    }
    leaves->scan = scan;
    leaves->all_listed = all_listed;
    leaves->large = large;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tracked); i++) {
        PyObject *item = PyList_GET_ITEM(tracked, i);
        if (i + AHEAD < PyList_GET_SIZE(tracked)) {
            FETCH(PyList_GET_ITEM(tracked, i + AHEAD));
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
    classes = PyList_New(0);
    for (Py_ssize_t i = 0; classes != NULL && i < scan->n_classes; i++) {
        Class *cls = &scan->classes[i];
        PyObject *entry = Py_BuildValue("(Onnnn)", cls->cls, cls->live, cls->bytes, cls->owners,
                                        cls->owned);
        if (entry == NULL || PyList_Append(classes, entry) < 0) {
            Py_CLEAR(classes);
        }
        Py_XDECREF(entry);
    }
    if (classes != NULL) {
        result = PyTuple_Pack(4, classes, handed[0], handed[1], big);
    }
done:
    pages_free(leaves);
    Py_XDECREF(classes);
    Py_XDECREF(handed[0]);
    Py_XDECREF(handed[1]);
    Py_XDECREF(big);
    return result;
}

/* ---- paths ------------------------------------------------------------------------------- */

static inline uint64_t
path_hash(int32_t parent, uint8_t kind, uint64_t label)
{
    return mix(label ^ ((uint64_t)(uint32_t)parent << 20) ^ ((uint64_t)kind << 60));
}

static int
grow_path_table(Scan *scan)
{
    Py_ssize_t size = larger_table(scan->path_mask, 1 << 14, usual_paths);
    PathSlot *table = pages_new((size_t)size, sizeof(PathSlot));
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; scan->path_mask && i <= scan->path_mask; i++) {
        PathSlot *slot = &scan->path_table[i];
        if (slot->used) {
            Py_ssize_t at =
                (Py_ssize_t)path_hash(slot->parent, slot->kind, slot->label) & (size - 1);
            while (table[at].used) {
                at = (at + 1) & (size - 1);
            }
            table[at] = *slot;
        }
    }
    pages_free(scan->path_table);
    scan->path_table = table;
    scan->path_mask = size - 1;
    return 0;
}

/* Where a chain of equal objects (node.next.next) or a very deep path stays; NO_NODE if not. */
static int32_t
same_again(const Scan *scan, int32_t path, uint8_t kind, uint64_t label, PyTypeObject *cls)
{
    const Path *paths = scan->paths;
    if (path == NO_NODE) {
        return NO_NODE;
    }
    if (paths[path].depth >= MAX_DEPTH) {
        return path;
    }
    if (kind == P_ELEMENT && paths[path].depth < NESTED) {
        return NO_NODE;
    }
    int is_dict = paths[path].kind == P_NAMESPACE || paths[path].kind == P_INSTANCE;
    if (is_dict && paths[path].parent != NO_NODE) {
        path = paths[path].parent;
    }
    int same = paths[path].kind == kind && paths[path].label == label &&
               Py_TYPE(scan->objects[paths[path].sample]) == cls;
    return same ? path : NO_NODE;
}

/* Return the path that an edge leads to, -2 on failure. */
static int32_t
path_child(Scan *scan, int32_t parent, uint8_t kind, uint64_t label, PyTypeObject *cls)
{
    if (scan->path_used * 2 >= scan->path_mask && grow_path_table(scan) < 0) {
        return -2;
    }
    Py_ssize_t at = (Py_ssize_t)path_hash(parent, kind, label) & scan->path_mask;
    while (scan->path_table[at].used) {
        PathSlot *slot = &scan->path_table[at];
        if (slot->label == label && slot->parent == parent && slot->kind == kind) {
            return slot->path;
        }
        at = (at + 1) & scan->path_mask;
    }
    int32_t path = same_again(scan, parent, kind, label, cls);
    if (path == NO_NODE) {
        if (reserve((void **)&scan->paths, &scan->cap_paths, scan->n_paths + 1, sizeof(Path))) {
            return -2;
        }
        path = (int32_t)scan->n_paths++;
        Path *made = &scan->paths[path];
        made->label = label;
        made->kind = kind;
        made->entries = 0;
        made->parent = parent;
        made->sample = NO_NODE;
        made->depth = parent == NO_NODE ? 0 : scan->paths[parent].depth + 1;
        uint64_t above = parent == NO_NODE ? 0 : scan->paths[parent].key;
        made->key = mix(above * 31 + mix(label + kind));
    }
    scan->path_table[at] = (PathSlot){label, parent, path, kind, 1};
    scan->path_used++;
    return path;
}

/* ---- the graph --------------------------------------------------------------------------- */

static int32_t
add_node(Scan *scan, PyObject *item, int32_t parent, int32_t path)
{
    Py_ssize_t wanted = scan->count + 1;
    if (reserve((void **)&scan->parents, &scan->cap_parents, wanted, sizeof(int32_t)) ||
        reserve((void **)&scan->path_of, &scan->cap_path_of, wanted, sizeof(int32_t)) ||
        reserve((void **)&scan->degrees, &scan->cap_degrees, wanted, sizeof(uint32_t)) ||
        reserve((void **)&scan->sizes, &scan->cap_sizes, wanted, sizeof(int64_t)) ||
        reserve((void **)&scan->starts, &scan->cap_starts, wanted, sizeof(int64_t)) ||
        reserve((void **)&scan->kinds, &scan->cap_kinds, wanted, sizeof(uint8_t))) {
        return -2;
    }
    int32_t node = add_object(scan, item);
    if (node < 0) {
        return -2;
    }
    scan->parents[node] = parent;
    scan->path_of[node] = path;
    scan->degrees[node] = 0;
    scan->sizes[node] = 0;
    scan->starts[node] = 0;
    scan->kinds[node] = PLAIN;
    if (scan->paths[path].sample == NO_NODE) {
        scan->paths[path].sample = node;
    }
    return node;
}

typedef struct {
    Scan *scan;
    int32_t node;
    uint64_t cls;       /* of the holder: positions are those of its class */
    Py_ssize_t position;
} Link;

static int
link_to(Link *link, PyObject *item, uint8_t kind, uint64_t label)
{
    if (item == NULL || is_singleton(item)) {
        return 0;
    }
    Scan *scan = link->scan;
    int32_t child = find(scan, item);
    if (child < 0) {
        if (is_vacant(item)) {
            return 0;
        }
        int32_t above = scan->path_of[link->node];
        int32_t path = path_child(scan, above, kind, label, Py_TYPE(item));
        if (path < 0) {
            return -1;
        }
        if (path <= above) { /* a chain of equal objects that stays where it is */
            scan->paths[path].entries++;
        }
        child = add_node(scan, item, link->node, path);
        if (child < 0) {
            return -1;
        }
    }
    if (reserve((void **)&scan->edges, &scan->cap_edges, scan->n_edges + 1, sizeof(int32_t))) {
        return -1;
    }
    scan->edges[scan->n_edges++] = child;
    scan->degrees[link->node]++;
    return 0;
}

static int
link_element(PyObject *item, void *arg)
{
    Link *link = (Link *)arg;
    if (item == NULL) {
        return 0;
    }
    if (!is_singleton(item)) {
        link->scan->paths[link->scan->path_of[link->node]].entries++;
    }
    return link_to(link, item, P_ELEMENT, 0);
}

static int
link_position(PyObject *item, void *arg)
{
    Link *link = (Link *)arg;
    return link_to(link, item, P_POSITION, mix(link->cls + (uint64_t)link->position++));
}

static int
is_record(PyObject *dict)
{
    if (PyDict_GET_SIZE(dict) > MAX_RECORD) {
        return 0;
    }
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (!PyUnicode_CheckExact(key)) {
            return 0;
        }
    }
    return 1;
}

static int
link_items(Link *link, PyObject *dict)
{
    Scan *scan = link->scan;
    int32_t path = scan->path_of[link->node];
    int named = scan->paths[path].kind == P_NAMESPACE || is_record(dict);
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (link_to(link, key, P_KEY, 0) < 0) {
            return -1;
        }
        int failed = named && PyUnicode_CheckExact(key)
                         ? link_to(link, value, P_NAME, (uint64_t)PyObject_Hash(key))
                         : link_to(link, value, P_ELEMENT, 0);
        if (failed) {
            return -1;
        }
    }
    scan->paths[path].entries += PyDict_GET_SIZE(dict);
    return 0;
}

static int
link_attributes(Link *link, const Class *cls)
{
    Scan *scan = link->scan;
    PyObject *namespace = NULL;
    if (cls->kind == NAMED && (scan->n_found == 2 || !cls->managed)) {
        for (Py_ssize_t i = 0; i < scan->n_found && namespace == NULL; i++) {
            if (PyDict_CheckExact(scan->found[i])) {
                namespace = scan->found[i];
            }
        }
    }
    for (Py_ssize_t i = 0; i < scan->n_found; i++) {
        PyObject *item = scan->found[i];
        expect(scan, scan->found, i, scan->n_found);
        if (item == namespace) {
            namespace = NULL;
            if (link_to(link, item, cls->managed ? P_INSTANCE : P_NAMESPACE, 0) < 0) {
                return -1;
            }
            link->position++;
        }
        else if (link_position(item, link) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
link_found(Link *link, PyObject *cls, int as_elements)
{
    Scan *scan = link->scan;
    for (Py_ssize_t i = 0; i < scan->n_found; i++) {
        PyObject *item = scan->found[i];
        expect(scan, scan->found, i, scan->n_found);
        if (as_elements && item == cls) {
            continue;
        }
        if (as_elements ? link_element(item, link) : link_position(item, link)) {
            return -1;
        }
    }
    return 0;
}

static int
link_contents(Link *link, PyObject *item, const Class *cls)
{
    switch (cls->kind) {
    case DICT:
        if (link_items(link, item) < 0) {
            return -1;
        }
        return PyDict_CheckExact(item) ? 0 : link_found(link, NULL, 0);
    case LIST:
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(item); i++) {
            expect(link->scan, ((PyListObject *)item)->ob_item, i, PyList_GET_SIZE(item));
            if (link_element(PyList_GET_ITEM(item, i), link) < 0) {
                return -1;
            }
        }
        return PyList_CheckExact(item) ? 0 : link_found(link, NULL, 0);
    case TUPLE:
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(item); i++) {
            if (link_element(PyTuple_GET_ITEM(item, i), link) < 0) {
                return -1;
            }
        }
        return PyTuple_CheckExact(item) ? 0 : link_found(link, NULL, 0);
    case ELEMENTS:
        return link_found(link, (PyObject *)Py_TYPE(item), 1);
    default:
        return link_attributes(link, cls);
    }
}

static int
expand(Scan *scan, int32_t node)
{
    PyObject *item = scan->objects[node];
    Class *cls = class_of(scan, Py_TYPE(item));
    if (cls == NULL) {
        return -1;
    }
    if (cls->deferred && scan->is_deferred != Py_None) {
        if (reserve((void **)&scan->deferred, &scan->cap_deferred, scan->n_deferred + 1,
                    sizeof(int32_t))) {
            return -1;
        }
        scan->deferred[scan->n_deferred++] = node;
        return 0;
    }
    scan->kinds[node] = (uint8_t)cls->kind;
    scan->starts[node] = scan->n_edges;
    int is_exact = PyList_CheckExact(item) || PyDict_CheckExact(item) || PyTuple_CheckExact(item);
    scan->n_found = 0;
    if (!is_exact && collect(scan, cls, item) != 0) {
        return -1;
    }
    int only_dict = scan->n_found == 2 && (PyDict_CheckExact(scan->found[0]) ||
                                           PyDict_CheckExact(scan->found[1]));
    Py_ssize_t size = size_of(cls, item, scan->n_found, only_dict);
    if (size < 0) {
        return -1;
    }
    scan->sizes[node] = size;
    Link link = {scan, node, (uint64_t)(uintptr_t)Py_TYPE(item), 0};
    if (cls->wary && is_blank(cls->cls, item)) {
        return 0;
    }
    if (link_contents(&link, item, cls) < 0) {
        return -1;
    }
    link.position = FIRST_PART;
    if (Py_TYPE(item) == &PyCode_Type) {
        scan->n_found = 0;
        return collect_code(scan, item) < 0 ? -1 : link_found(&link, NULL, 0);
    }
    if (cls->read != NULL) {
        PyObject *read = Py_NewRef(cls->read);
        int failed = read_with(read, item, link_position, &link, link_element, &link);
        Py_DECREF(read);
        return failed;
    }
    return 0;
}

static int
expand_all(Scan *scan)
{
    while (scan->next < scan->count) {
        if (scan->next + AHEAD < scan->count) {
            FETCH(scan->objects[scan->next + AHEAD]);
        }
        if (expand(scan, (int32_t)scan->next++) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_root(Scan *scan, PyObject *item, PyObject *name, int is_namespace, int32_t root)
{
    Py_hash_t hash = PyObject_Hash(name);
    if (hash == -1 && PyErr_Occurred()) {
        return -1;
    }
    int32_t path = path_child(scan, NO_NODE, is_namespace ? P_NAMESPACE : P_ROOT, (uint64_t)hash,
                              Py_TYPE(item));
    return path < 0 || add_node(scan, item, -2 - root, path) < 0 ? -1 : 0;
}

static int32_t
name_root(Scan *scan, PyObject *name, int is_namespace)
{
    PyObject *entry = Py_BuildValue("(OO)", name, is_namespace ? Py_True : Py_False);
    if (entry == NULL || PyList_Append(scan->roots, entry) < 0) {
        Py_XDECREF(entry);
        return -1;
    }
    Py_DECREF(entry);
    return (int32_t)PyList_GET_SIZE(scan->roots) - 1;
}

PyDoc_STRVAR(walk_doc,
"walk(roots)\n--\n\n"
"Add (object, name, is a namespace) roots and everything that only they lead to.");

static PyObject *
scan_walk(Scan *scan, PyObject *roots)
{
    scan->walks = 1;
    PyObject *iterator = PyObject_GetIter(roots);
    if (iterator == NULL) {
        return NULL;
    }
    PyObject *root;
    while ((root = PyIter_Next(iterator)) != NULL) {
        PyObject *item, *name;
        int is_namespace, failed = 0;
        if (!PyArg_ParseTuple(root, "OUp", &item, &name, &is_namespace)) {
            failed = 1;
        }
        else if (find(scan, item) < 0) {
            int32_t named = name_root(scan, name, is_namespace);
            failed = named < 0 || add_root(scan, item, name, is_namespace, named) < 0;
        }
        Py_DECREF(root);
        if (failed) {
            break;
        }
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred() || expand_all(scan) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(walk_rest_doc,
"walk_rest(items, name, skipped)\n--\n\n"
"Add, under one name, objects that no root led to; all but ``skipped``.");

static PyObject *
scan_walk_rest(Scan *scan, PyObject *args)
{
    PyObject *items, *name, *skipped;
    if (!PyArg_ParseTuple(args, "O!UO", &PyList_Type, &items, &name, &skipped)) {
        return NULL;
    }
    int32_t root = name_root(scan, name, 0);
    if (root < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        if (item != skipped && find(scan, item) < 0) {
            if (add_root(scan, item, name, 0, root) < 0 || expand_all(scan) < 0) {
                return NULL;
            }
        }
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(walk_deferred_doc,
"walk_deferred()\n--\n\n"
"Follow what was put off: the objects that belong to the watcher itself.");

static PyObject *
scan_walk_deferred(Scan *scan, PyObject *unused)
{
    Py_SETREF(scan->is_deferred, Py_NewRef(Py_None));
    for (Py_ssize_t i = 0; i < scan->n_deferred; i++) {
        if (expand(scan, scan->deferred[i]) < 0) {
            return NULL;
        }
    }
    scan->n_deferred = 0;
    if (expand_all(scan) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- questions --------------------------------------------------------------------------- */

static int
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

static PyObject *
scan_find(Scan *scan, PyObject *item)
{
    return PyLong_FromLong(find(scan, item));
}

static PyObject *
scan_object_at(Scan *scan, PyObject *number)
{
    int32_t node;
    return as_node(scan, number, &node) < 0 ? NULL : Py_NewRef(scan->objects[node]);
}

static PyObject *
scan_chain_to(Scan *scan, PyObject *number)
{
    int32_t node;
    PyObject *chain = as_node(scan, number, &node) < 0 ? NULL : PyList_New(0);
    while (chain != NULL && node >= 0) {
        PyObject *entry = PyLong_FromLong(node);
        if (entry == NULL || PyList_Append(chain, entry) < 0) {
            Py_CLEAR(chain);
        }
        Py_XDECREF(entry);
        node = scan->parents[node];
    }
    if (chain != NULL && PyList_Reverse(chain) < 0) {
        Py_CLEAR(chain);
    }
    return chain;
}

static PyObject *
scan_path_of(Scan *scan, PyObject *number)
{
    int32_t node;
    return as_node(scan, number, &node) < 0 ? NULL : PyLong_FromLong(scan->path_of[node]);
}

static PyObject *
scan_size_of(Scan *scan, PyObject *number)
{
    int32_t node;
    return as_node(scan, number, &node) < 0 ? NULL : PyLong_FromLongLong(scan->sizes[node]);
}

static PyObject *
scan_kind_of(Scan *scan, PyObject *number)
{
    int32_t node;
    return as_node(scan, number, &node) < 0 ? NULL : PyLong_FromLong(scan->kinds[node]);
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
numbers(const int32_t *values, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = PyLong_FromLong(values[i]);
        if (value == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, value);
    }
    return list;
}

static PyObject *
scan_children(Scan *scan, PyObject *number)
{
    int32_t node;
    if (as_node(scan, number, &node) < 0) {
        return NULL;
    }
    return numbers(scan->edges + scan->starts[node], (Py_ssize_t)scan->degrees[node]);
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

PyDoc_STRVAR(members_doc,
"members(paths)\n--\n\nReturn, for each path, the nodes that lie at it.");

static PyObject *
scan_members(Scan *scan, PyObject *paths)
{
    PyObject *sequence = PySequence_Fast(paths, "paths must be a sequence"), *result = NULL;
    PyObject **lists = pages_new((size_t)scan->n_paths + 1, sizeof(PyObject *));
    if (sequence == NULL || lists == NULL) {
        goto done;
    }
    result = PyList_New(0);
    for (Py_ssize_t i = 0; result != NULL && i < PySequence_Fast_GET_SIZE(sequence); i++) {
        long path = PyLong_AsLong(PySequence_Fast_GET_ITEM(sequence, i));
        PyObject *list = NULL;
        if (path < 0 || path >= scan->n_paths) {
            PyErr_SetString(PyExc_IndexError, "no such path");
        }
        else {
            list = lists[path] != NULL ? Py_NewRef(lists[path]) : PyList_New(0);
            lists[path] = list;
        }
        if (list == NULL || PyList_Append(result, list) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(list);
    }
    for (Py_ssize_t i = 0; result != NULL && i < scan->count; i++) {
        PyObject *list = lists[scan->path_of[i]];
        if (list != NULL) {
            PyObject *node = PyLong_FromSsize_t(i);
            if (node == NULL || PyList_Append(list, node) < 0) {
                Py_CLEAR(result);
            }
            Py_XDECREF(node);
        }
    }
done:
    Py_XDECREF(sequence);
    pages_free(lists);
    return result;
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
        if (below[i] >= threshold) {
            PyObject *node = PyLong_FromSsize_t(i);
            if (node == NULL || PyList_Append(found, node) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(node);
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
        PyObject *entry = Py_BuildValue("(On)", ranked[i]->cls, ranked[i]->tally);
        if (entry == NULL || PyList_Append(result, entry) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(entry);
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
    PyObject *nodes = PySequence_Fast(arg, "nodes must be a sequence"), *ranked = NULL;
    uint8_t *marked = pages_new((size_t)scan->count + 1, 1);
    int64_t bytes = 0;
    if (nodes == NULL || marked == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < scan->n_classes; i++) {
        scan->classes[i].tally = 0;
    }
    for (Py_ssize_t n = 0; n < PySequence_Fast_GET_SIZE(nodes); n++) {
        int32_t node;
        if (as_node(scan, PySequence_Fast_GET_ITEM(nodes, n), &node) < 0 ||
            tally_elements(scan, node) < 0) {
            goto done;
        }
        for (uint32_t i = 0; i < scan->degrees[node]; i++) {
            int32_t child = scan->edges[scan->starts[node] + i];
            bytes += take(scan, marked, child);
            for (uint32_t k = 0; k < scan->degrees[child]; k++) {
                int32_t part = scan->edges[scan->starts[child] + k];
                if (scan->kinds[part] == MEMORY) {
                    bytes += take(scan, marked, part);
                }
            }
        }
    }
    ranked = ranked_classes(scan);
done:
    Py_XDECREF(nodes);
    pages_free(marked);
    if (ranked == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("(NL)", ranked, (long long)bytes);
}

PyDoc_STRVAR(columns_doc,
"columns(into)\n--\n\n"
"Write the tree of paths into a buffer, as columns of int64 in the order of ``PathColumns``.");

enum { KEY_OF, KIND, ABOVE, SAMPLE, OBJECTS, ENTRIES, BYTES, BELOW, COLUMNS };

static PyObject *
scan_columns(Scan *scan, PyObject *into)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(into, &buffer, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (buffer.len < scan->n_paths * COLUMNS * 8) {
        PyBuffer_Release(&buffer);
        PyErr_SetString(PyExc_ValueError, "the buffer is too small");
        return NULL;
    }
    int64_t *out[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        out[c] = (int64_t *)buffer.buf + c * scan->n_paths;
    }
    for (Py_ssize_t i = 0; i < scan->n_paths; i++) {
        const Path *path = &scan->paths[i];
        out[KEY_OF][i] = (int64_t)path->key;
        out[KIND][i] = path->kind;
        out[ABOVE][i] = path->parent;
        out[SAMPLE][i] = path->sample;
        out[ENTRIES][i] = path->entries;
        out[OBJECTS][i] = out[BYTES][i] = 0;
    }
    for (Py_ssize_t i = 0; i < scan->count; i++) {
        out[OBJECTS][scan->path_of[i]]++;
        out[BYTES][scan->path_of[i]] += scan->sizes[i];
    }
    if (scan->n_paths) {
        memcpy(out[BELOW], out[BYTES], (size_t)scan->n_paths * sizeof(int64_t));
    }
    for (Py_ssize_t i = scan->n_paths - 1; i >= 0; i--) {
        if (scan->paths[i].parent >= 0) {
            out[BELOW][scan->paths[i].parent] += out[BELOW][i];
        }
    }
    PyBuffer_Release(&buffer);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(path_count_doc, "path_count()\n--\n\nReturn how many paths there are.");

static PyObject *
scan_path_count(Scan *scan, PyObject *unused)
{
    return PyLong_FromSsize_t(scan->n_paths);
}

/* Append to a list; clear it where that fails. */
static void
append_number(PyObject **list, Py_ssize_t value)
{
    PyObject *number = PyLong_FromSsize_t(value);
    if (number == NULL || PyList_Append(*list, number) < 0) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(number);
}

/* How many nodes lie at each path; the caller frees it. */
static int64_t *
objects_by_path(const Scan *scan)
{
    int64_t *objects = pages_new((size_t)scan->n_paths + 1, sizeof(int64_t));
    for (Py_ssize_t i = 0; objects != NULL && i < scan->count; i++) {
        objects[scan->path_of[i]]++;
    }
    return objects;
}

PyDoc_STRVAR(containers_doc,
"containers()\n--\n\n"
"Return the paths whose objects hold elements: what may grow.");

static PyObject *
scan_containers(Scan *scan, PyObject *unused)
{
    int64_t *objects = objects_by_path(scan);
    PyObject *found = objects == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < scan->n_paths; i++) {
        const Path *path = &scan->paths[i];
        int kind = path->sample >= 0 ? scan->kinds[path->sample] : PLAIN;
        int is_record = kind == TUPLE || path->kind == P_NAMESPACE;
        if (path->entries > 0 && (!is_record || path->entries > MAX_RECORD * objects[i])) {
            append_number(&found, i);
        }
    }
    pages_free(objects);
    return found;
}

PyDoc_STRVAR(large_paths_doc,
"large_paths(size)\n--\n\n"
"Return the paths whose objects have at least this many bytes of their own on average.");

static PyObject *
scan_large_paths(Scan *scan, PyObject *arg)
{
    int64_t size = PyLong_AsLongLong(arg);
    if (size == -1 && PyErr_Occurred()) {
        return NULL;
    }
    int64_t *objects = objects_by_path(scan);
    int64_t *bytes = pages_new((size_t)scan->n_paths + 1, sizeof(int64_t));
    PyObject *found = objects == NULL || bytes == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < scan->count; i++) {
        bytes[scan->path_of[i]] += scan->sizes[i];
    }
    for (Py_ssize_t i = 0; found != NULL && i < scan->n_paths; i++) {
        if (objects[i] > 0 && bytes[i] / objects[i] >= size) {
            append_number(&found, i);
        }
    }
    pages_free(objects);
    pages_free(bytes);
    return found;
}

PyDoc_STRVAR(places_doc,
"places(paths)\n--\n\n"
"Return where the only container at each path lies in memory; 0 where there are several, or\n"
"something else.");

static PyObject *
scan_places(Scan *scan, PyObject *arg)
{
    PyObject *paths = PySequence_Fast(arg, "paths must be a sequence"), *found = NULL;
    int64_t *objects = objects_by_path(scan);
    if (paths == NULL || objects == NULL) {
        goto done;
    }
    found = PyList_New(0);
    for (Py_ssize_t n = 0; found != NULL && n < PySequence_Fast_GET_SIZE(paths); n++) {
        Py_ssize_t path = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(paths, n));
        if (path < 0 || path >= scan->n_paths) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "no such path");
            }
            Py_CLEAR(found);
            break;
        }
        int32_t sample = scan->paths[path].sample;
        int kind = sample >= 0 ? scan->kinds[sample] : PLAIN;
        int stays = kind == LIST || kind == DICT || kind == ELEMENTS;
        append_number(&found, stays && objects[path] == 1 ? (Py_ssize_t)scan->objects[sample] : 0);
    }
done:
    Py_XDECREF(paths);
    pages_free(objects);
    if (found == NULL && !PyErr_Occurred()) {
        return PyErr_NoMemory();
    }
    return found;
}

/* ---- retained bytes: see retention.py for the method ------------------------------------- */

enum { OPEN, GATE_BEYOND, GATE_WHOLE };

typedef struct {
    int32_t *nodes;
    Py_ssize_t count, capacity;
} Nodes;

static int
push(Nodes *nodes, int32_t node)
{
    if (reserve((void **)&nodes->nodes, &nodes->capacity, nodes->count + 1, sizeof(int32_t))) {
        return -1;
    }
    nodes->nodes[nodes->count++] = node;
    return 0;
}

static int
push_children(const Scan *scan, Nodes *nodes, int32_t node)
{
    for (uint32_t i = 0; i < scan->degrees[node]; i++) {
        if (push(nodes, scan->edges[scan->starts[node] + i]) < 0) {
            return -1;
        }
    }
    return 0;
}

typedef struct {
    Nodes nodes, reached;
    int whole;
} Group;

typedef struct {
    Scan *scan;
    Group *groups;
    Py_ssize_t count;
    uint8_t *held, *marked, *gates;
    uint16_t *sharers;
    Nodes waiting, blocked;
} Retention;

/* Mark what the waiting nodes lead to, in ``marked``, and push it on ``found``. With gates, a gate
   is entered not at all (whole) or not beyond. */
static int
flood(Retention *r, uint8_t *marked, int gated, Nodes *found, int note_blocked)
{
    const Scan *scan = r->scan;
    while (r->waiting.count > 0) {
        int32_t node = r->waiting.nodes[--r->waiting.count];
        if (marked[node]) {
            continue;
        }
        uint8_t gate = gated ? r->gates[node] : OPEN;
        if (gate == GATE_WHOLE) {
            if (note_blocked && push(&r->blocked, node) < 0) {
                return -1;
            }
            continue;
        }
        marked[node] = 1;
        if (found != NULL && push(found, node) < 0) {
            return -1;
        }
        if (gate == OPEN) {
            for (uint32_t i = 0; i < scan->degrees[node]; i++) {
                int32_t child = scan->edges[scan->starts[node] + i];
                if (!marked[child] && push(&r->waiting, child) < 0) {
                    return -1;
                }
            }
        }
    }
    return 0;
}

static void
set_gates(Retention *r, const Group *group, int on)
{
    for (Py_ssize_t i = 0; i < group->nodes.count; i++) {
        r->gates[group->nodes.nodes[i]] =
            (uint8_t)(!on ? OPEN : group->whole ? GATE_WHOLE : GATE_BEYOND);
    }
}

static int
push_starts(Retention *r, const Group *group, int only_held)
{
    for (Py_ssize_t i = 0; i < group->nodes.count; i++) {
        int32_t node = group->nodes.nodes[i];
        if (group->whole) {
            if (push(&r->waiting, node) < 0) {
                return -1;
            }
        }
        else if (!only_held || r->held[node]) {
            if (push_children(r->scan, &r->waiting, node) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int
reach(Retention *r, Group *group)
{
    if (push_starts(r, group, 0) < 0 || flood(r, r->held, 0, &group->reached, 0) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < group->reached.count; i++) {
        int32_t node = group->reached.nodes[i];
        r->held[node] = 0; /* the flood marked it there: what is held is as before */
        r->sharers[node] += r->sharers[node] < UINT16_MAX;
    }
    return 0;
}

static int64_t
slots_of(const Scan *scan, const Group *group)
{
    int64_t slots = 0;
    for (Py_ssize_t i = 0; !group->whole && i < group->nodes.count; i++) {
        int32_t node = group->nodes.nodes[i];
        int64_t empty = scan->kinds[node] == LIST || scan->kinds[node] == DICT ? 64
                        : scan->kinds[node] == ELEMENTS                      ? 224
                                                                             : -1;
        if (empty >= 0 && scan->sizes[node] > empty) {
            slots += scan->sizes[node] - empty;
        }
    }
    return slots;
}

/* What the others keep, in ``marked``: everything that is held without this group. */
static int
keep_by_others(Retention *r, Py_ssize_t mine)
{
    memcpy(r->marked, r->held, (size_t)r->scan->count);
    set_gates(r, &r->groups[mine], 1);
    for (Py_ssize_t i = 0; i < r->blocked.count; i++) {
        int32_t node = r->blocked.nodes[i];
        if (r->gates[node] == OPEN && push(&r->waiting, node) < 0) {
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < r->count; i++) {
        if (i != mine && !r->groups[i].whole && push_starts(r, &r->groups[i], 1) < 0) {
            return -1;
        }
    }
    int failed = flood(r, r->marked, 1, NULL, 0);
    set_gates(r, &r->groups[mine], 0);
    return failed;
}

static PyObject *
result_of(Retention *r, Py_ssize_t mine)
{
    const Scan *scan = r->scan;
    const Group *group = &r->groups[mine];
    if (keep_by_others(r, mine) < 0) {
        return NULL;
    }
    int64_t slots = slots_of(scan, group), bytes = slots, objects = 0, nodes = 0;
    double share = (double)slots;
    for (Py_ssize_t i = 0; i < group->reached.count; i++) {
        int32_t node = group->reached.nodes[i];
        share += (double)scan->sizes[node] / r->sharers[node];
        if (!r->marked[node]) {
            bytes += scan->sizes[node];
            objects++;
            nodes += scan->kinds[node] == AUTOGRAD;
        }
    }
    return Py_BuildValue("(LdLL)", (long long)bytes, share, (long long)objects, (long long)nodes);
}

static int
read_group(Scan *scan, PyObject *entry, Group *group)
{
    PyObject *given;
    if (!PyArg_ParseTuple(entry, "Op", &given, &group->whole)) {
        return -1;
    }
    PyObject *nodes = PySequence_Fast(given, "a group is (nodes, whole)");
    for (Py_ssize_t i = 0; nodes != NULL && i < PySequence_Fast_GET_SIZE(nodes); i++) {
        int32_t node;
        if (as_node(scan, PySequence_Fast_GET_ITEM(nodes, i), &node) < 0 ||
            push(&group->nodes, node) < 0) {
            Py_CLEAR(nodes);
        }
    }
    Py_XDECREF(nodes);
    return nodes == NULL ? -1 : 0;
}

static PyObject *
measure(Retention *r)
{
    Scan *scan = r->scan;
    for (Py_ssize_t i = 0; i < r->count; i++) {
        set_gates(r, &r->groups[i], 1);
    }
    for (Py_ssize_t i = 0; i < scan->count; i++) {
        if (scan->parents[i] < 0 && push(&r->waiting, (int32_t)i) < 0) {
            return NULL;
        }
    }
    if (flood(r, r->held, 1, NULL, 1) < 0) {
        return NULL;
    }
    memset(r->gates, OPEN, (size_t)scan->count);
    for (Py_ssize_t i = 0; i < r->count; i++) {
        if (reach(r, &r->groups[i]) < 0) {
            return NULL;
        }
    }
    PyObject *results = PyList_New(0);
    for (Py_ssize_t i = 0; results != NULL && i < r->count; i++) {
        PyObject *result = result_of(r, i);
        if (result == NULL || PyList_Append(results, result) < 0) {
            Py_CLEAR(results);
        }
        Py_XDECREF(result);
    }
    return results;
}

PyDoc_STRVAR(retained_doc,
"retained(groups)\n--\n\n"
"Return (bytes, share, objects, graph nodes) for each (nodes, whole) group.");

static PyObject *
scan_retained(Scan *scan, PyObject *arg)
{
    PyObject *given = PySequence_Fast(arg, "groups must be a sequence"), *results = NULL;
    if (given == NULL) {
        return NULL;
    }
    size_t size = (size_t)scan->count + 1;
    Retention r = {.scan = scan, .count = PySequence_Fast_GET_SIZE(given)};
    r.groups = pages_new((size_t)r.count + 1, sizeof(Group));
    r.held = pages_new(size, 1);
    r.marked = pages_new(size, 1);
    r.gates = pages_new(size, 1);
    r.sharers = pages_new(size, sizeof(uint16_t));
    int failed = !r.groups || !r.held || !r.marked || !r.gates || !r.sharers;
    for (Py_ssize_t i = 0; !failed && i < r.count; i++) {
        failed = read_group(scan, PySequence_Fast_GET_ITEM(given, i), &r.groups[i]) < 0;
    }
    if (!failed) {
        results = measure(&r);
    }
    for (Py_ssize_t i = 0; r.groups && i < r.count; i++) {
        pages_free(r.groups[i].nodes.nodes);
        pages_free(r.groups[i].reached.nodes);
    }
    pages_free(r.groups);
    pages_free(r.held);
    pages_free(r.marked);
    pages_free(r.gates);
    pages_free(r.sharers);
    pages_free(r.waiting.nodes);
    pages_free(r.blocked.nodes);
    Py_DECREF(given);
    if (results == NULL && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return results;
}

/* ---- the type ---------------------------------------------------------------------------- */

PyDoc_STRVAR(close_doc, "close()\n--\n\nLet go of every object.");

static PyObject *
scan_close(Scan *scan, PyObject *unused)
{
    /* Empty first: a reference that goes may run a destructor that asks this scan. */
    Py_ssize_t count = scan->count, classes = scan->n_classes;
    if (count) {
        usual_objects[(int)scan->walks] = count;
        usual_paths = scan->walks ? scan->path_used : usual_paths;
    }
    PyObject **objects = scan->objects;
    Class *known = scan->classes;
    scan->count = scan->cap_objects = scan->n_classes = scan->cap_classes = 0;
    scan->n_edges = scan->n_paths = scan->n_deferred = scan->n_found = scan->next = 0;
    scan->objects = NULL;
    scan->classes = NULL;
    void *blocks[] = {scan->table,  scan->class_table, scan->parents, scan->path_of, scan->degrees,
                      scan->sizes,  scan->starts,      scan->kinds,   scan->edges,   scan->deferred,
                      scan->paths,  scan->path_table,  scan->found,   scan->extents};
    scan->table = NULL;
    scan->class_table = scan->parents = scan->path_of = NULL;
    scan->edges = scan->deferred = NULL;
    scan->degrees = NULL;
    scan->sizes = scan->starts = NULL;
    scan->kinds = NULL;
    scan->paths = NULL;
    scan->path_table = NULL;
    scan->found = NULL;
    scan->extents = NULL;
    scan->n_extents = scan->cap_extents = 0;
    scan->mask = scan->class_mask = scan->path_mask = scan->path_used = 0;
    scan->cap_parents = scan->cap_path_of = scan->cap_degrees = scan->cap_sizes = 0;
    scan->cap_starts = scan->cap_kinds = scan->cap_edges = scan->cap_deferred = 0;
    scan->cap_paths = scan->cap_found = 0;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        pages_free(blocks[i]);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(objects[i]);
    }
    pages_free(objects);
    for (Py_ssize_t i = 0; i < classes; i++) {
        Py_XDECREF(known[i].method);
        Py_XDECREF(known[i].read);
        Py_DECREF(known[i].cls);
    }
    pages_free(known);
    Py_RETURN_NONE;
}

static int
scan_init(Scan *scan, PyObject *args, PyObject *kwargs)
{
    PyObject *describe, *is_deferred = Py_None;
    if (!PyArg_ParseTuple(args, "O|O", &describe, &is_deferred)) {
        return -1;
    }
    PyObject *roots = PyList_New(0);
    if (roots == NULL) {
        return -1;
    }
    Py_XSETREF(scan->describe, Py_NewRef(describe));
    Py_XSETREF(scan->is_deferred, Py_NewRef(is_deferred));
    Py_XSETREF(scan->roots, roots);
    return 0;
}

static void
scan_dealloc(Scan *scan)
{
    PyTypeObject *type = Py_TYPE(scan);
    PyObject *closed = scan_close(scan, NULL);
    Py_XDECREF(closed);
    Py_CLEAR(scan->describe);
    Py_CLEAR(scan->is_deferred);
    Py_CLEAR(scan->roots);
    Py_CLEAR(scan->arrays.base);
    Py_CLEAR(scan->arrays.interface);
    type->tp_free((PyObject *)scan);
    Py_DECREF(type);
}

static Py_ssize_t
scan_length(Scan *scan)
{
    return scan->count;
}

static PyMethodDef scan_methods[] = {
    {"census", (PyCFunction)scan_census, METH_VARARGS, census_doc},
    {"walk", (PyCFunction)scan_walk, METH_O, walk_doc},
    {"walk_rest", (PyCFunction)scan_walk_rest, METH_VARARGS, walk_rest_doc},
    {"walk_deferred", (PyCFunction)scan_walk_deferred, METH_NOARGS, walk_deferred_doc},
    {"find", (PyCFunction)scan_find, METH_O, "Return the node of an object, or -1."},
    {"object_at", (PyCFunction)scan_object_at, METH_O, "Return the object of a node."},
    {"chain_to", (PyCFunction)scan_chain_to, METH_O, "Return the nodes from a root to a node."},
    {"path_of", (PyCFunction)scan_path_of, METH_O, "Return the path at which a node lies."},
    {"size_of", (PyCFunction)scan_size_of, METH_O, "Return the bytes of a node itself."},
    {"kind_of", (PyCFunction)scan_kind_of, METH_O, "Return what a node is."},
    {"root_name", (PyCFunction)scan_root_name, METH_O, "Return the name of a root."},
    {"is_namespace_root", (PyCFunction)scan_is_namespace_root, METH_O,
     "Tell whether a root is a namespace."},
    {"children", (PyCFunction)scan_children, METH_O, "Return the nodes that a node refers to."},
    {"total_bytes", (PyCFunction)scan_total_bytes, METH_NOARGS, "Return the bytes of all nodes."},
    {"members", (PyCFunction)scan_members, METH_O, members_doc},
    {"heavy", (PyCFunction)scan_heavy, METH_O, heavy_doc},
    {"entries", (PyCFunction)scan_entries, METH_O, entries_doc},
    {"arrays", (PyCFunction)scan_arrays, METH_VARARGS, arrays_doc},
    {"extent_count", (PyCFunction)scan_extent_count, METH_NOARGS, extent_count_doc},
    {"extents", (PyCFunction)scan_extents, METH_O, extents_doc},
    {"columns", (PyCFunction)scan_columns, METH_O, columns_doc},
    {"path_count", (PyCFunction)scan_path_count, METH_NOARGS, path_count_doc},
    {"containers", (PyCFunction)scan_containers, METH_NOARGS, containers_doc},
    {"large_paths", (PyCFunction)scan_large_paths, METH_O, large_paths_doc},
    {"places", (PyCFunction)scan_places, METH_O, places_doc},
    {"retained", (PyCFunction)scan_retained, METH_O, retained_doc},
    {"close", (PyCFunction)scan_close, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scan_slots[] = {
    {Py_tp_doc, "One walk over the heap; see leakguard.capture.heap.graph for the interface."},
    {Py_tp_init, scan_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, scan_dealloc},
    {Py_tp_methods, scan_methods},
    {Py_sq_length, scan_length},
    {0, NULL},
};

/* Not tracked by the collector: what it holds must not look as if it were reachable from here. */
static PyType_Spec scan_spec = {
    .name = "leakguard.capture.heap._scan.Scan",
    .basicsize = sizeof(Scan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = scan_slots,
};

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

static PyMethodDef module_functions[] = {
    {"own_memory", (PyCFunction)(void (*)(void))own_memory, METH_FASTCALL, own_memory_doc},
    {NULL},
};

static struct PyModuleDef scan_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_doc = "The compiled heap scan.",
    .m_size = -1,
    .m_methods = module_functions,
};

PyMODINIT_FUNC
PyInit__scan(void)
{
    PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "made");
    if (made == NULL) {
        return NULL;
    }
    subtype_traverse = ((PyTypeObject *)made)->tp_traverse;
    Py_DECREF(made);
    PyObject *module = PyModule_Create(&scan_module);
    PyObject *type = PyType_FromSpec(&scan_spec);
    if (module == NULL || type == NULL || PyModule_AddObjectRef(module, "Scan", type) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(type);
    return module;
}
