/* The tree of paths: where objects lie as seen from the roots. */

#include "scan.h"

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
    if (paths[path].depth >= shared.max_depth) {
        return path;
    }
    int may_stay = kind != shared.element || paths[path].depth >= shared.nested;
    for (int between = 0; between <= shared.link; between++) {
        int is_dict = paths[path].kind == shared.namespace || paths[path].kind == shared.instance;
        if (is_dict && paths[path].parent != NO_NODE) {
            path = paths[path].parent;
        }
        PyTypeObject *there = Py_TYPE(scan->objects[paths[path].sample]);
        int same = paths[path].kind == kind && paths[path].label == label && there == cls;
        if (same && (between || may_stay)) {
            return path;
        }
        if (!is_link(there) || is_link(cls) || paths[path].parent == NO_NODE) {
            break;
        }
        path = paths[path].parent;
    }
    return NO_NODE;
}

/* Return the path that an edge leads to, -2 on failure. */
int32_t
path_child(Scan *scan, int32_t parent, uint8_t kind, uint64_t label, PyTypeObject *cls)
{
    if (is_full(scan->path_used, scan->path_mask) && grow_path_table(scan) < 0) {
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
    if (append_new(*list, PyLong_FromSsize_t(value)) < 0) {
        Py_CLEAR(*list);
    }
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
        int kind = path->sample >= 0 ? scan->kinds[path->sample] : shared.plain;
        int is_record = kind == shared.tuple || path->kind == shared.namespace;
        if (path->entries > 0 && (!is_record || path->entries > shared.max_record * objects[i])) {
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

PyDoc_STRVAR(by_class_doc,
"paths_by_class(least)\n--\n\n"
"Return (class, paths) for each class of which the first object lies at some paths with at least so\n"
"many objects; the paths are bytes that hold one int32 each.");

/* The position of the class of the first object at a path with enough objects; else -1. */
static Py_ssize_t
class_at(const Scan *scan, const int64_t *objects, Py_ssize_t path, int64_t least)
{
    int32_t sample = scan->paths[path].sample;
    if (sample < 0 || objects[path] < least) {
        return -1;
    }
    const Class *cls = known_class(scan, Py_TYPE(scan->objects[sample]));
    return cls == NULL ? -1 : cls - scan->classes;
}

static PyObject *
scan_paths_by_class(Scan *scan, PyObject *arg)
{
    int64_t least = PyLong_AsLongLong(arg);
    if (least == -1 && PyErr_Occurred()) {
        return NULL;
    }
    int64_t *objects = objects_by_path(scan);
    Nodes *found = pages_new((size_t)scan->n_classes + 1, sizeof(Nodes));
    PyObject *all = objects == NULL || found == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (Py_ssize_t i = 0; all != NULL && i < scan->n_paths; i++) {
        Py_ssize_t cls = class_at(scan, objects, i, least);
        if (cls >= 0 && push(&found[cls], (int32_t)i) < 0) {
            Py_CLEAR(all);
        }
    }
    for (Py_ssize_t i = 0; found != NULL && i < scan->n_classes; i++) {
        Py_ssize_t size = found[i].count * (Py_ssize_t)sizeof(int32_t);
        if (all != NULL && size > 0 &&
            append_new(all, Py_BuildValue("(Oy#)", scan->classes[i].cls, found[i].nodes, size)) < 0) {
            Py_CLEAR(all);
        }
        pages_free(found[i].nodes);
    }
    pages_free(objects);
    pages_free(found);
    return all;
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
        int kind = sample >= 0 ? scan->kinds[sample] : shared.plain;
        int stays = kind == shared.list || kind == shared.dict || kind == shared.elements;
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

PyDoc_STRVAR(members_doc,
"members(paths)\n--\n\n"
"Return, for each path, the nodes that lie at it, in order: bytes that hold one int32 a node.");

/* How many nodes lie at each path, as 1 more: 0 is a path that nobody asked for. NULL on failure. */
static Py_ssize_t *
count_members(const Scan *scan, PyObject *paths)
{
    Py_ssize_t *counts = pages_new((size_t)scan->n_paths + 1, sizeof(Py_ssize_t));
    if (counts == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(paths); i++) {
        long path = PyLong_AsLong(PySequence_Fast_GET_ITEM(paths, i));
        if (path < 0 || path >= scan->n_paths) {
            PyErr_SetString(PyExc_IndexError, "no such path");
            pages_free(counts);
            return NULL;
        }
        counts[path] = 1;
    }
    for (Py_ssize_t i = 0; i < scan->count; i++) {
        counts[scan->path_of[i]] += counts[scan->path_of[i]] > 0;
    }
    return counts;
}

/* Make the bytes of each path that was asked for, once; their places in ``bytes`` are borrowed. */
static PyObject *
make_members(PyObject *paths, const Py_ssize_t *counts, PyObject **bytes)
{
    PyObject *result = PyList_New(0);
    for (Py_ssize_t i = 0; result != NULL && i < PySequence_Fast_GET_SIZE(paths); i++) {
        long path = PyLong_AsLong(PySequence_Fast_GET_ITEM(paths, i));
        Py_ssize_t size = (counts[path] - 1) * (Py_ssize_t)sizeof(int32_t);
        PyObject *made = bytes[path] != NULL ? Py_NewRef(bytes[path])
                                             : PyBytes_FromStringAndSize(NULL, size);
        bytes[path] = made;
        if (append_new(result, made) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

static PyObject *
scan_members(Scan *scan, PyObject *given)
{
    PyObject *paths = PySequence_Fast(given, "paths must be a sequence"), *result = NULL;
    Py_ssize_t *counts = paths == NULL ? NULL : count_members(scan, paths);
    PyObject **bytes = pages_new((size_t)scan->n_paths + 1, sizeof(PyObject *));
    if (counts != NULL && bytes != NULL) {
        result = make_members(paths, counts, bytes);
    }
    else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; result != NULL && i < scan->n_paths; i++) {
        counts[i] = 0; /* from here on how many were written */
    }
    for (Py_ssize_t i = 0; result != NULL && i < scan->count; i++) {
        int32_t path = scan->path_of[i];
        if (bytes[path] != NULL) {
            ((int32_t *)(void *)PyBytes_AS_STRING(bytes[path]))[counts[path]++] = (int32_t)i;
        }
    }
    Py_XDECREF(paths);
    pages_free(counts);
    pages_free(bytes);
    return result;
}

PyMethodDef paths_methods[] = {
    {"columns", (PyCFunction)scan_columns, METH_O, columns_doc},
    {"path_count", (PyCFunction)scan_path_count, METH_NOARGS, path_count_doc},
    {"containers", (PyCFunction)scan_containers, METH_NOARGS, containers_doc},
    {"large_paths", (PyCFunction)scan_large_paths, METH_O, large_paths_doc},
    {"paths_by_class", (PyCFunction)scan_paths_by_class, METH_O, by_class_doc},
    {"places", (PyCFunction)scan_places, METH_O, places_doc},
    {"members", (PyCFunction)scan_members, METH_O, members_doc},
    {NULL, NULL, 0, NULL},
};
