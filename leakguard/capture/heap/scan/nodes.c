/* The table of nodes: which objects were seen. */

#include "scan.h"

/* What the last census and the last walk found: the next one begins with tables that large. */
Py_ssize_t usual_objects[2], usual_paths;

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

/* Tell whether a table of so many slots is too full for one entry more. Chosen: at five eighths a
   walk of 1,000,000 objects takes as long as at one half, and a table has 13 to 26 bytes an object
   in place of 16 to 32. */
int
is_full(Py_ssize_t used, Py_ssize_t slots)
{
    return used * 8 >= slots * 5;
}

/* Return the slots of a larger table, or of the first one. */
Py_ssize_t
larger_table(Py_ssize_t mask, Py_ssize_t least, Py_ssize_t usual)
{
    Py_ssize_t size = mask ? (mask + 1) * 2 : least;
    while (!mask && is_full(usual, size)) {
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

/* Hold one object, although the scan borrows. */
int
hold(Scan *scan, PyObject *item)
{
    Tracked *held = &scan->held;
    if (reserve((void **)&held->items, &held->capacity, held->count + 1, sizeof(PyObject *))) {
        return -1;
    }
    held->items[held->count++] = Py_NewRef(item);
    return 0;
}

/* Add an object that is not known yet; its slot in the table is searched anew. */
int32_t
add_object(Scan *scan, PyObject *item)
{
    if (is_full(scan->count, scan->mask) && grow_table(scan) < 0) {
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
    if (scan->borrows && scan->fresh && hold(scan, item) < 0) {
        return -2;
    }
    put(scan, item, (int32_t)scan->count);
    scan->objects[scan->count] = item;
    if (!scan->borrows) {
        Py_INCREF(item);
    }
    return (int32_t)scan->count++;
}
