/* Memory of the scan's own, given back to the system when it is freed.

   What is freed to the C allocator may stay with the process: after one large block was freed,
   glibc serves the next ones from its heap and keeps them. A walk needs many megabytes for half a
   second, and would be seen as growth of the program that is watched. */

#ifndef LEAKGUARD_PAGES_H
#define LEAKGUARD_PAGES_H

#include <Python.h>
#include <string.h>

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define HAVE_PAGES 1
#include <sys/mman.h>
#endif

/* Blocks smaller than this come from the C allocator. */
#define FEWEST_BYTES ((size_t)64 * 1024)
#define HEADER ((size_t)64)
#define HUGE_PAGE ((size_t)2 * 1024 * 1024)

typedef struct {
    size_t size;  /* with the header */
    int mapped;
} Block;

static inline Block *
block_of(void *data)
{
    return (Block *)((char *)data - HEADER);
}

/* Ask for large pages: of a table that is looked into at random every small page is a miss. */
static inline void
pages_enlarge(void *start, size_t size)
{
#if defined(HAVE_PAGES) && defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGE) {
        (void)madvise(start, size, MADV_HUGEPAGE);  /* a wish: it works without */
    }
#endif
}

/* Return zeroed memory, or NULL. */
static inline void *
pages_new(size_t count, size_t item)
{
    if (item && count > ((size_t)PY_SSIZE_T_MAX - HEADER) / item) {
        return NULL;
    }
    size_t size = count * item + HEADER;
    Block *block = NULL;
#ifdef HAVE_PAGES
    if (size >= FEWEST_BYTES) {
        block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) {
            return NULL;
        }
        pages_enlarge(block, size);
        block->mapped = 1;
    }
#endif
    if (block == NULL) {
        block = PyMem_RawCalloc(1, size);
        if (block == NULL) {
            return NULL;
        }
    }
    block->size = size;
    return (char *)block + HEADER;
}

static inline void
pages_free(void *data)
{
    if (data == NULL) {
        return;
    }
    Block *block = block_of(data);
#ifdef HAVE_PAGES
    if (block->mapped) {
        munmap(block, block->size);
        return;
    }
#endif
    PyMem_RawFree(block);
}

/* Return the same bytes in a larger block; NULL, and the old block untouched, where that fails. */
static inline void *
pages_resize(void *data, size_t count, size_t item)
{
#ifdef HAVE_PAGES
    if (data != NULL && block_of(data)->mapped && count <= ((size_t)PY_SSIZE_T_MAX - HEADER) / item) {
        Block *moved = mremap(block_of(data), block_of(data)->size, count * item + HEADER,
                              MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) {
            return NULL;
        }
        moved->size = count * item + HEADER;
        pages_enlarge(moved, moved->size);
        return (char *)moved + HEADER;
    }
#endif
    void *larger = pages_new(count, item);
    if (larger != NULL && data != NULL) {
        memcpy(larger, data, block_of(data)->size - HEADER);
        pages_free(data);
    }
    return larger;
}

#endif
