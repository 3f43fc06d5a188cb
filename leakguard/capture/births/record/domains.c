/* Python's three allocation domains.

   pymalloc hands out blocks of up to 512 bytes from its pools, and passes on to RAW what is larger. So
   OBJ and MEM record up to there, and RAW the rest. A small block that is recorded is taken from RAW,
   too: pymalloc then finds it in none of its pools, and gives it back to RAW, where its death is seen.
   So there is no wrapper of `free` in OBJ and MEM, and those of allocation may come and go: what was
   recorded is followed whether they are in or not.

   A wrapper has the context of what it stands in front of: a thread that reads RAW's allocator while it
   is set gets the function of one and the context of the other (cpython#128679). That of RAW stays for
   good once it is in: another tool may have kept it as what it restores. */

#include "births.h"

#include <errno.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_pymem.h>
#endif

static PyMemAllocatorEx original[3] HOT;
static int is_wrapped;
/* The domains of this thread that came here for a sample since it was set to none. */
static __thread unsigned heard __attribute__((tls_model("initial-exec")));
int small_is_recorded;

static size_t
product(size_t count, size_t item)
{
    return item && count > SIZE_MAX / item ? 0 : count * item;
}

/* ---- OBJ and MEM ----------------------------------------------------------------------------------- */

static void *
from_pools(enum domain domain, void *context, void *block, size_t size, int zeroed)
{
    if (block != NULL) {
        return original[domain].realloc(context, block, size);
    }
    return zeroed ? original[domain].calloc(context, 1, size) : original[domain].malloc(context, size);
}

/* What is allocated until `time_left` is set to what this returns is no birth. */
static inline int64_t
stop_clock(void)
{
    int64_t left = time_left;
    time_left = INT64_MAX;
    return left;
}

size_t
chunk_of(size_t size)
{
    size_t chunk = (size + sizeof(size_t) + 15) / 16 * 16;
    return chunk < 32 ? 32 : chunk;
}

/* Blocks that are recorded one after the other lie one behind the other: a loop that reads its objects in the
   order of its lists then reads these in order, too. malloc would put each where something has been freed. So
   a block is cut from a stock, and malloc gives the rest at once to whoever asks for its size next. Each is a
   block of its own, which anybody may free. The largest stock is one that malloc hands out without tidying
   up. The caller has the interpreter's lock. */
#define STOCK 1000u
static void *stock;
static size_t stock_chunk;

static void *
cut_from_stock(size_t size)
{
    PyMemAllocatorEx *raw = &original[RAW];
    size_t chunk = chunk_of(size);
    if (stock == NULL || stock_chunk < chunk + 32) {
        raw->free(raw->ctx, stock);
        stock = raw->malloc(raw->ctx, STOCK);
        stock_chunk = chunk_of(STOCK);
    }
    void *block = stock == NULL ? NULL : raw->realloc(raw->ctx, stock, size ? size : 1);
    if (block != NULL) {
        stock_chunk -= chunk;
        stock = raw->malloc(raw->ctx, stock_chunk - sizeof(size_t));
    }
    return block;
}

/* A recorded block is one of RAW, past pymalloc, and its place in the pools, its shadow, stays taken until it
   dies. Else the next object would be put into that place, and each later one into that of the one before: a
   loop that makes its objects in the order of its lists has them in that order in memory, which makes it
   quick, and would lose that more with each sample. pymalloc counts the shadow. */
static void *
beside(const void *place, size_t size)
{
    void *block = cut_from_stock(size);
    if (block != NULL) {
        memcpy(block, place, size);
    }
    return block;
}

/* pymalloc then counts the block as one that it had from RAW, as which it is freed: one that it hands out is
   freed past it. Another tool may stand in RAW, and sees both ends. */
static void
free_shadow(void *shadow)
{
    int64_t left = stop_clock();
    original[OBJ].free(original[OBJ].ctx, shadow);
    PyMem_RawFree(original[OBJ].malloc(original[OBJ].ctx, SMALL + 1));
    time_left = left;
}

void
free_shadows(void)
{
    for (void *next, *shadow = take_shadows(); shadow != NULL; shadow = next) {
        next = *(void **)shadow;
        free_shadow(shadow);
    }
}

/* Frames tell that it is the main interpreter that asks, which may have pools of its own. */
static __attribute__((noinline)) void *
small(enum domain domain, void *context, void *block, size_t size, int zeroed)
{
    Birth birth;
    heard |= 1u << domain;
    if (!begin_birth(domain, size, &birth)) {
        return from_pools(domain, context, block, size, zeroed);
    }
    int64_t left = stop_clock();
    /* A place has room for what `leave_shadow` writes, wherever it lies. Pools have none that is smaller. */
    void *place = from_pools(domain, context, block, size < 16 ? 16 : size, zeroed);
    void *made = place == NULL ? NULL : beside(place, size);
    time_left = left;
    if (made == NULL) {
        return place;
    }
    birth.shadow = birth.count > 0 ? place : NULL;
    if (!end_birth(&birth, made) || birth.shadow == NULL) {
        free_shadow(place);
    }
    return made;
}

static inline int
small_is_due(enum domain domain, size_t size)
{
    return LIKELY(size <= SMALL) && is_due(domain, size);
}

#define SMALL_WRAPPERS(domain, name)                                                                 \
    static __attribute__((noinline)) void *name##_sample(void *context, size_t size)                 \
    {                                                                                                \
        return small(domain, context, NULL, size, 0);                                                \
    }                                                                                                \
    static HOT void *name##_malloc(void *context, size_t size)                                       \
    {                                                                                                \
        if (small_is_due(domain, size)) {                                                            \
            return name##_sample(context, size);                                                     \
        }                                                                                            \
        return original[domain].malloc(context, size);                                               \
    }                                                                                                \
    static void *name##_calloc(void *context, size_t count, size_t item)                             \
    {                                                                                                \
        size_t size = product(count, item);                                                          \
        if (small_is_due(domain, size)) {                                                            \
            return small(domain, context, NULL, size, 1);                                            \
        }                                                                                            \
        return original[domain].calloc(context, count, item);                                        \
    }                                                                                                \
    static void *name##_realloc(void *context, void *block, size_t size)                             \
    {                                                                                                \
        if (small_is_due(domain, size)) {                                                            \
            return small(domain, context, block, size, 0);                                           \
        }                                                                                            \
        return original[domain].realloc(context, block, size);                                       \
    }

SMALL_WRAPPERS(OBJ, obj)
SMALL_WRAPPERS(MEM, mem)

/* ---- RAW ------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void *
recorded(void *block, size_t size)
{
    heard |= 1u << RAW;
    born(RAW, block, size);
    return block;
}

static HOT void *
raw_malloc(void *context, size_t size)
{
    if (is_due(RAW, size)) {
        return recorded(original[RAW].malloc(context, size), size);
    }
    return original[RAW].malloc(context, size);
}

static void *
raw_calloc(void *context, size_t count, size_t item)
{
    size_t size = product(count, item);
    if (is_due(RAW, size)) {
        return recorded(original[RAW].calloc(context, count, item), size);
    }
    return original[RAW].calloc(context, count, item);
}

/* What was there dies before it is given back: another thread may be handed its address at once. */
static __attribute__((noinline)) void *
resized(void *context, void *block, size_t size, int due)
{
    Sample held;
    int had = forget(block, &held);
    void *moved = original[RAW].realloc(context, block, size);
    if (moved == NULL && had) {
        remember(&held);
    }
    if (had && held.shadow != NULL) {
        free_shadows();
    }
    return due ? recorded(moved, size) : moved;
}

/* A small block is resized for OBJ or MEM, and counted there. */
static void *
raw_realloc(void *context, void *block, size_t size)
{
    int due = size > SMALL && is_due(RAW, size);
    if (UNLIKELY(due || may_be_sampled(block))) {
        return resized(context, block, size, due);
    }
    return original[RAW].realloc(context, block, size);
}

static __attribute__((noinline)) void
free_sample(void *context, void *block)
{
    Sample held;
    int error = errno, had = forget(block, &held);
    original[RAW].free(context, block);
    if (had && held.shadow != NULL) {
        free_shadows(); /* whoever frees a small block has the interpreter's lock */
    }
    errno = error;
}

static HOT void
raw_free(void *context, void *block)
{
    if (may_be_sampled(block)) {
        free_sample(context, block);
        return;
    }
    original[RAW].free(context, block);
}

/* ---- putting them in ------------------------------------------------------------------------------- */

static const PyMemAllocatorDomain names[] = {PYMEM_DOMAIN_OBJ, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_RAW};
static const PyMemAllocatorEx wrappers[] = {
    {NULL, obj_malloc, obj_calloc, obj_realloc, NULL},
    {NULL, mem_malloc, mem_calloc, mem_realloc, NULL},
    {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
};

static void
put_in(enum domain domain)
{
    PyMemAllocatorEx wrapper = wrappers[domain];
    wrapper.ctx = original[domain].ctx;
    if (wrapper.free == NULL) {
        wrapper.free = original[domain].free;
    }
    PyMem_SetAllocator(names[domain], &wrapper);
}

static int
is_on_top(enum domain domain, const PyMemAllocatorEx *allocator)
{
    PyMemAllocatorEx now;
    PyMem_GetAllocator(names[domain], &now);
    return now.malloc == allocator->malloc;
}

const char *
wrap_domains(void)
{
    if (is_wrapped) {
        return deaths_are_seen() ? NULL : "another tool has taken the record out of Python's allocators";
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
    put_in(RAW);
    is_wrapped = 1;
    return NULL;
}

/* An allocation of our own says it, whoever stands above or below. It is due, and not recorded. */
static int
passes(enum domain domain, void *(*allocate)(size_t), void (*release)(void *))
{
    int64_t before = time_left;
    int was_quiet = is_quiet, had_clock = has_clock;
    heard = 0;
    is_quiet = 1;
    time_left = 0;
    release(allocate(16));
    is_quiet = was_quiet;
    time_left = before;
    has_clock = had_clock;
    return heard >> domain & 1;
}

int
deaths_are_seen(void)
{
    return passes(RAW, PyMem_RawMalloc, PyMem_RawFree);
}

int
small_passes(void)
{
    return passes(OBJ, PyObject_Malloc, PyObject_Free) && passes(MEM, PyMem_Malloc, PyMem_Free);
}

void
wrap_small(int wanted)
{
    for (int domain = OBJ; domain <= MEM; domain++) {
        if (wanted && is_on_top(domain, &original[domain])) {
            put_in(domain);
        }
        else if (!wanted && is_on_top(domain, &wrappers[domain])) {
            PyMem_SetAllocator(names[domain], &original[domain]);
        }
    }
    small_is_recorded = small_passes();
}

/* pymalloc tells its statistics only where it is the allocator of OBJ itself. */
void
show_pools(int shown)
{
    static int hidden;
    if (shown && is_wrapped && is_on_top(OBJ, &wrappers[OBJ])) {
        PyMem_SetAllocator(names[OBJ], &original[OBJ]);
        hidden = 1;
    }
    else if (!shown && hidden && is_on_top(OBJ, &original[OBJ])) {
        put_in(OBJ);
        hidden = 0;
    }
}

int
small_is_ours(void)
{
    int ours = 1;
    for (int domain = OBJ; domain <= MEM; domain++) {
        ours &= is_on_top(domain, &wrappers[domain]) || is_on_top(domain, &original[domain]);
    }
    return ours;
}
