/* Tensors with plain memory, read in place: torch's own getters take microseconds each.

   Plain memory is dense and in the host, and torch's own allocator frees it: so it is part of no
   array, and other tensors have it only through the same storage. Where torch keeps all this is found
   out by ../plain_tensors.py. */

#include "scan.h"

static inline const void *
pointer_at(const void *object, int64_t offset)
{
    return *(const void *const *)((const char *)object + offset);
}

static inline int64_t
number_at(const void *object, int64_t offset)
{
    return *(const int64_t *)((const char *)object + offset);
}

/* Where the memory of a tensor lies; 0 where it is not plain, or where there is none. */
static int
plain_extent(const TensorLayout *layout, const void *tensor, Extent *extent)
{
    if (tensor == NULL || (uint64_t)number_at(tensor, layout->keys) != layout->plain) {
        return 0;
    }
    const void *storage = pointer_at(tensor, layout->storage);
    if (storage == NULL || (uint64_t)number_at(storage, layout->release) != layout->released) {
        return 0;
    }
    extent->start = number_at(storage, layout->start);
    extent->bytes = number_at(storage, layout->bytes);
    return extent->start != 0 && extent->bytes >= 0;
}

static inline int
is_in_graph(const TensorLayout *layout, const void *tensor)
{
    return pointer_at(tensor, layout->graph) != NULL;
}

static int
read_layout(PyObject *told, TensorLayout *layout)
{
    if (!PyBytes_Check(told) || PyBytes_GET_SIZE(told) != sizeof(*layout)) {
        PyErr_SetString(PyExc_TypeError, "no layout of tensors");
        return -1;
    }
    memcpy(layout, PyBytes_AS_STRING(told), sizeof(*layout));
    return 0;
}

/* Add up the memory of a tensor. 0 where the tensor has to be looked at on its own, too, which is so
   for those of backward graphs. */
int
tell_storage(Scan *scan, Class *cls, PyObject *item, Py_ssize_t large)
{
    const TensorLayout *layout = &scan->tensors;
    const void *tensor = pointer_at(item, layout->tensor);
    Storage found = {.cls = (int32_t)(cls - scan->classes), .order = scan->n_storages};
    if (!plain_extent(layout, tensor, &found.extent) || found.extent.bytes >= large) {
        return 0;
    }
    if (reserve((void **)&scan->storages, &scan->cap_storages, scan->n_storages + 1,
                sizeof(Storage))) {
        return -1;
    }
    scan->storages[scan->n_storages++] = found;
    int is_told = !is_in_graph(layout, tensor);
    cls->owners += is_told;
    return is_told;
}

static int
by_start(const void *one, const void *other)
{
    const Storage *first = one, *second = other;
    if (first->extent.start != second->extent.start) {
        return first->extent.start < second->extent.start ? -1 : 1;
    }
    return (first->order > second->order) - (first->order < second->order);
}

/* Count each storage once, for the class of the tensor that was met first. */
void
settle_storages(Scan *scan)
{
    if (scan->n_storages == 0) {
        return;
    }
    qsort(scan->storages, (size_t)scan->n_storages, sizeof(Storage), by_start);
    Py_ssize_t kept = 0;
    for (Py_ssize_t i = 0; i < scan->n_storages; i++) {
        Storage found = scan->storages[i];
        int is_known = kept && scan->storages[kept - 1].extent.start == found.extent.start;
        if (!is_known && found.extent.bytes) {
            scan->classes[found.cls].owned += found.extent.bytes;
            scan->storages[kept++] = found;
        }
    }
    scan->n_storages = kept;
}

PyDoc_STRVAR(tensors_doc,
"tensors(layout)\n--\n\n"
"Give the layout by which a census reads tensors with plain memory.");

static PyObject *
scan_tensors(Scan *scan, PyObject *told)
{
    if (read_layout(told, &scan->tensors) < 0) {
        return NULL;
    }
    scan->reads_tensors = 1;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(storage_count_doc,
"storage_count()\n--\n\nReturn how many storages with memory the tensors have that were read.");

static PyObject *
scan_storage_count(Scan *scan, PyObject *unused)
{
    return PyLong_FromSsize_t(scan->n_storages);
}

PyDoc_STRVAR(storages_doc,
"storages(into)\n--\n\n"
"Write into a buffer where these storages lie: pairs of int64 (start, bytes), sorted.");

static PyObject *
scan_storages(Scan *scan, PyObject *into)
{
    return write_extents(into, scan->storages, scan->n_storages, sizeof(Storage));
}

PyDoc_STRVAR(tensor_memory_doc,
"tensor_memory(layout, tensor)\n--\n\n"
"Return (start, bytes) of the plain memory of a tensor of no backward graph; None for others.");

static PyObject *
tensor_memory(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    TensorLayout layout;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "tensor_memory takes a layout and a tensor");
        return NULL;
    }
    if (read_layout(args[0], &layout) < 0) {
        return NULL;
    }
    Extent extent;
    const void *tensor = pointer_at(args[1], layout.tensor);
    if (!plain_extent(&layout, tensor, &extent) || is_in_graph(&layout, tensor)) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(LL)", (long long)extent.start, (long long)extent.bytes);
}

PyDoc_STRVAR(words_doc,
"words(address, count)\n--\n\nReturn so many words of 64 bits of the memory at an address.");

static PyObject *
words(PyObject *module, PyObject *args)
{
    unsigned long long address;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "Kn", &address, &count)) {
        return NULL;
    }
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyObject *word = PyLong_FromUnsignedLongLong(((const uint64_t *)(uintptr_t)address)[i]);
        if (word == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyTuple_SET_ITEM(found, i, word);
    }
    return found;
}

PyMethodDef tensors_functions[] = {
    {"tensor_memory", (PyCFunction)(void (*)(void))tensor_memory, METH_FASTCALL, tensor_memory_doc},
    {"words", (PyCFunction)words, METH_VARARGS, words_doc},
    {NULL, NULL, 0, NULL},
};

PyMethodDef tensors_methods[] = {
    {"tensors", (PyCFunction)scan_tensors, METH_O, tensors_doc},
    {"storage_count", (PyCFunction)scan_storage_count, METH_NOARGS, storage_count_doc},
    {"storages", (PyCFunction)scan_storages, METH_O, storages_doc},
    {NULL, NULL, 0, NULL},
};
