/* Wrappers of Python's three allocation domains.

   pymalloc passes on to RAW what is above 512 bytes, so OBJ and MEM record up to there. A wrapper has
   the context of what it stands in front of: a thread that reads RAW's allocator while it is set gets
   the function of one and the context of the other (cpython#128679). The wrappers stay for good once
   they are in: another tool may have kept them as what it restores. */

#include "births.h"

#define SMALL 512

#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_pymem.h>
#endif

static PyMemAllocatorEx original[3];
static int is_wrapped, leaves_small;

static inline int
counts(enum domain domain, size_t size)
{
    return domain == RAW || size <= SMALL;
}

static void *
recorded(enum domain domain, void *block, size_t size)
{
    born(domain, block, size);
    return block;
}

/* What was there dies before it is given back: another thread may be handed its address at once. */
static void *
resized(enum domain domain, void *context, void *block, size_t size, int due)
{
    Sample held;
    int had = 0;
    if (block != NULL && enter()) {
        had = samples_remove(block, &held);
        leave();
    }
    void *moved = original[domain].realloc(context, block, size);
    if (moved == NULL && had && enter()) {
        samples_add(&held);
        leave();
    }
    return due ? recorded(domain, moved, size) : moved;
}

/* A small block that pymalloc has from RAW is counted there by the domain that asked for it. */
static inline int
counts_resized(enum domain domain, size_t size)
{
    return (domain == RAW) == (size > SMALL);
}

#define WRAPPERS(domain, name)                                                                       \
    static void *name##_malloc(void *context, size_t size)                                           \
    {                                                                                                \
        if (LIKELY(!counts(domain, size) || !is_due(PYTHON, size))) {                                \
            return original[domain].malloc(context, size);                                           \
        }                                                                                            \
        return recorded(domain, original[domain].malloc(context, size), size);                       \
    }                                                                                                \
    static void *name##_calloc(void *context, size_t count, size_t item)                             \
    {                                                                                                \
        size_t size = item && count > SIZE_MAX / item ? 0 : count * item;                            \
        if (LIKELY(!counts(domain, size) || !is_due(PYTHON, size))) {                                \
            return original[domain].calloc(context, count, item);                                    \
        }                                                                                            \
        return recorded(domain, original[domain].calloc(context, count, item), size);                \
    }                                                                                                \
    static void *name##_realloc(void *context, void *block, size_t size)                             \
    {                                                                                                \
        int due = counts_resized(domain, size) && is_due(PYTHON, size);                              \
        if (LIKELY(!due && !may_be_sampled(block))) {                                                \
            return original[domain].realloc(context, block, size);                                   \
        }                                                                                            \
        return resized(domain, context, block, size, due);                                           \
    }                                                                                                \
    static void name##_free(void *context, void *block)                                              \
    {                                                                                                \
        if (may_be_sampled(block)) {                                                                 \
            died(block);                                                                             \
        }                                                                                            \
        original[domain].free(context, block);                                                       \
    }

WRAPPERS(OBJ, obj)
WRAPPERS(MEM, mem)
WRAPPERS(RAW, raw)

static const PyMemAllocatorDomain names[] = {PYMEM_DOMAIN_OBJ, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_RAW};
static const PyMemAllocatorEx wrappers[] = {
    {NULL, obj_malloc, obj_calloc, obj_realloc, obj_free},
    {NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
    {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
};

static void
put_in(enum domain domain)
{
    PyMemAllocatorEx wrapper = wrappers[domain];
    wrapper.ctx = original[domain].ctx;
    PyMem_SetAllocator(names[domain], &wrapper);
}

static int
is_on_top(enum domain domain)
{
    PyMemAllocatorEx now;
    PyMem_GetAllocator(names[domain], &now);
    return now.malloc == wrappers[domain].malloc;
}

const char *
wrap_domains(void)
{
    if (is_wrapped) {
        leaves_small = 0;
        for (int domain = OBJ; domain <= MEM; domain++) {
            PyMemAllocatorEx now;
            PyMem_GetAllocator(names[domain], &now);
            if (now.malloc == original[domain].malloc) { /* taken out for their price */
                put_in(domain);
            }
        }
        return domains_pass() ? NULL : "another tool has taken the record out of Python's allocators";
    }
    const char *name = _PyMem_GetCurrentAllocatorName();
    if (name == NULL) {
        return "another tool (tracemalloc?) stands in Python's allocators";
    }
    if (strcmp(name, "pymalloc") != 0) {
        return "Python's allocators are not the usual ones (PYTHONMALLOC)";
    }
    for (int domain = OBJ; domain <= RAW; domain++) {
        PyMem_GetAllocator(names[domain], &original[domain]);
    }
    __sync_synchronize();
    for (int domain = OBJ; domain <= RAW; domain++) {
        put_in(domain);
    }
    is_wrapped = 1;
    return NULL;
}

/* An allocation of our own says it, whoever stands above or below. */
static int
passes(void *(*allocate)(size_t), void (*release)(void *))
{
    Distance before = distances[PYTHON];
    distances[PYTHON].left = (int64_t)1 << 40;
    release(allocate(16));
    int passed = distances[PYTHON].left != (int64_t)1 << 40;
    distances[PYTHON] = before;
    return passed;
}

int
domains_pass(void)
{
    return (leaves_small
            || (passes(PyObject_Malloc, PyObject_Free) && passes(PyMem_Malloc, PyMem_Free)))
           && passes(PyMem_RawMalloc, PyMem_RawFree);
}

int
unwrap_small(void)
{
    if (!is_on_top(OBJ) || !is_on_top(MEM)) {
        return 0; /* somebody has kept them, and may put them back */
    }
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &original[OBJ]);
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &original[MEM]);
    leaves_small = 1;
    return 1;
}
