/* The walk of the graph: every reference followed once, breadth first, from the roots. */

#include "scan.h"

/* The kind of a root that is not followed yet. */
#define PUT_OFF 0xff

static int32_t
add_node(Scan *scan, PyObject *item, int32_t parent, int32_t path)
{
    Py_ssize_t wanted = scan->count + 1;
    if (reserve((void **)&scan->parents, &scan->cap_parents, wanted, sizeof(int32_t)) ||
        reserve((void **)&scan->path_of, &scan->cap_path_of, wanted, sizeof(int32_t)) ||
        reserve((void **)&scan->degrees, &scan->cap_degrees, wanted, sizeof(uint32_t)) ||
        reserve((void **)&scan->sizes, &scan->cap_sizes, wanted, sizeof(int64_t)) ||
        reserve((void **)&scan->starts, &scan->cap_starts, wanted, sizeof(uint32_t)) ||
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
    scan->kinds[node] = shared.plain;
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
        if (Py_TYPE(item)->tp_call != NULL && is_link(Py_TYPE(scan->objects[link->node]))) {
            label++; /* what can be called lies apart from what else a wrapper refers to */
        }
        int32_t path = path_child(scan, above, kind, label, Py_TYPE(item));
        if (path < 0) {
            return -1;
        }
        if (path <= above && Py_TYPE(scan->objects[scan->paths[path].sample]) == Py_TYPE(item)) {
            scan->paths[path].entries++; /* a chain of equal objects that stays where it is */
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
    return link_to(link, item, shared.element, 0);
}

static int
link_position(PyObject *item, void *arg)
{
    Link *link = (Link *)arg;
    return link_to(link, item, shared.position, mix(link->cls + (uint64_t)link->position++));
}

static int
is_record(PyObject *dict)
{
    if (PyDict_GET_SIZE(dict) > shared.max_record) {
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
    int named = scan->paths[path].kind == shared.namespace || is_record(dict);
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (link_to(link, key, shared.key, 0) < 0) {
            return -1;
        }
        int failed = named && PyUnicode_CheckExact(key)
                         ? link_to(link, value, shared.name, (uint64_t)PyObject_Hash(key))
                         : link_to(link, value, shared.element, 0);
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
    int crowded = scan->n_found > cls->room;
    if (cls->kind == shared.named && (scan->n_found == 2 || !cls->managed)) {
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
            if (link_to(link, item, cls->managed ? shared.instance : shared.namespace, 0) < 0) {
                return -1;
            }
            link->position++;
        }
        else if (crowded ? item != (PyObject *)cls->cls && link_element(item, link) < 0
                         : link_position(item, link) < 0) {
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
link_list(Link *link, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        expect(link->scan, ((PyListObject *)list)->ob_item, i, PyList_GET_SIZE(list));
        if (link_element(PyList_GET_ITEM(list, i), link) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
link_tuple(Link *link, PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (link_element(PyTuple_GET_ITEM(tuple, i), link) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Tell whether an object has its elements and nothing else. */
static inline int
is_exact(PyObject *item)
{
    return PyList_CheckExact(item) || PyDict_CheckExact(item) || PyTuple_CheckExact(item);
}

static int
link_contents(Link *link, PyObject *item, const Class *cls)
{
    int kind = cls->kind;
    if (kind == shared.elements) {
        return link_found(link, (PyObject *)Py_TYPE(item), 1);
    }
    if (kind != shared.list && kind != shared.tuple && kind != shared.dict) {
        return link_attributes(link, cls);
    }
    int failed = kind == shared.list    ? link_list(link, item)
                 : kind == shared.tuple ? link_tuple(link, item)
                                        : link_items(link, item);
    return failed || is_exact(item) ? failed : link_found(link, NULL, 0);
}

static int
expand(Scan *scan, int32_t node)
{
    if (scan->kinds[node] == PUT_OFF) {
        return 0;
    }
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
    if (scan->n_edges > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more references than a heap scan can number");
        return -1;
    }
    scan->starts[node] = (uint32_t)scan->n_edges;
    scan->n_found = 0;
    if (!is_exact(item) && collect(scan, cls, item) != 0) {
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
    link.position = shared.first_part;
    if (Py_TYPE(item) == &PyCode_Type) {
        scan->n_found = 0;
        return collect_code(scan, item) < 0 ? -1 : link_found(&link, NULL, 0);
    }
    if (cls->read != NULL) {
        PyObject *read = Py_NewRef(cls->read);
        scan->fresh = 1;
        int failed = read_with(read, item, link_position, &link, link_element, &link);
        scan->fresh = 0;
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
    int32_t path = path_child(scan, NO_NODE, is_namespace ? shared.namespace : shared.root, (uint64_t)hash,
                              Py_TYPE(item));
    return path < 0 || add_node(scan, item, -2 - root, path) < 0 ? -1 : 0;
}

static int32_t
name_root(Scan *scan, PyObject *name, int is_namespace)
{
    if (append_new(scan->roots, Py_BuildValue("(OO)", name, is_namespace ? Py_True : Py_False)) < 0) {
        return -1;
    }
    return (int32_t)PyList_GET_SIZE(scan->roots) - 1;
}

/* Add (object, name, is a namespace) roots; those that are put off are not followed yet. */
static int
add_roots(Scan *scan, PyObject *roots, int put_off)
{
    scan->walks = 1;
    PyObject *iterator = PyObject_GetIter(roots);
    if (iterator == NULL) {
        return -1;
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
            scan->fresh = 1;
            failed = named < 0 || add_root(scan, item, name, is_namespace, named) < 0;
            scan->fresh = 0;
            if (put_off && !failed) {
                scan->kinds[scan->count - 1] = PUT_OFF;
            }
        }
        Py_DECREF(root);
        if (failed) {
            break;
        }
    }
    Py_DECREF(iterator);
    return PyErr_Occurred() ? -1 : 0;
}

PyDoc_STRVAR(walk_doc,
"walk(roots)\n--\n\n"
"Add (object, name, is a namespace) roots and everything that only they lead to.");

static PyObject *
scan_walk(Scan *scan, PyObject *roots)
{
    if (add_roots(scan, roots, 0) < 0 || expand_all(scan) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(put_off_doc,
"put_off(roots)\n--\n\n"
"Add roots that are not followed before ``walk_put_off``, by whatever way they are reached.");

static PyObject *
scan_put_off(Scan *scan, PyObject *roots)
{
    if (add_roots(scan, roots, 1) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(walk_put_off_doc,
"walk_put_off()\n--\n\n"
"Follow the roots that were put off.");

static PyObject *
scan_walk_put_off(Scan *scan, PyObject *unused)
{
    for (Py_ssize_t node = 0, count = scan->count; node < count; node++) {
        if (scan->kinds[node] != PUT_OFF) {
            continue;
        }
        scan->kinds[node] = (uint8_t)shared.plain;
        /* One that no walk has come to yet is followed in its turn. */
        if (node < scan->next && expand(scan, (int32_t)node) < 0) {
            return NULL;
        }
    }
    if (expand_all(scan) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(walk_rest_doc,
"walk_rest(items, name, skipped)\n--\n\n"
"Add, under one name, objects that no root led to; all but ``skipped``. Where the scan borrows,\n"
"``items`` is None, and what the collector tracked when it began to borrow is meant.");

static int
add_rest(Scan *scan, PyObject *item, PyObject *name, int32_t root)
{
    if (find(scan, item) >= 0) {
        return 0;
    }
    return add_root(scan, item, name, 0, root) < 0 || expand_all(scan) < 0 ? -1 : 0;
}

static PyObject *
scan_walk_rest(Scan *scan, PyObject *args)
{
    PyObject *items, *name, *skipped;
    if (!PyArg_ParseTuple(args, "OUO", &items, &name, &skipped)) {
        return NULL;
    }
    if (items == Py_None ? !scan->borrows : !PyList_CheckExact(items)) {
        PyErr_SetString(PyExc_TypeError, "walk_rest takes a list, or None where the scan borrows");
        return NULL;
    }
    int32_t root = name_root(scan, name, 0);
    if (root < 0) {
        return NULL;
    }
    int own = items == Py_None;
    PyObject **all = own ? (PyObject **)(void *)PyBytes_AS_STRING(scan->rest)
                         : ((PyListObject *)items)->ob_item;
    Py_ssize_t count = own ? PyBytes_GET_SIZE(scan->rest) / (Py_ssize_t)sizeof(PyObject *)
                           : PyList_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = all[i];
        if (item != skipped && add_rest(scan, item, name, root) < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(borrow_doc,
"borrow(tracked)\n--\n\n"
"Hold no object from now on, but what is young: this code may drop it while it asks. For a copy of\n"
"the process, where nobody else runs: a reference count that is written there copies a page.\n"
"``tracked`` are the addresses from ``tracked_addresses``, for ``walk_rest``.");

static PyObject *
scan_borrow(Scan *scan, PyObject *tracked)
{
    if (!PyBytes_CheckExact(tracked)) {
        PyErr_SetString(PyExc_TypeError, "borrow takes the addresses of tracked_addresses");
        return NULL;
    }
    Tracked young = {0};
    int failed = list_young(&young) < 0;
    for (Py_ssize_t i = 0; !failed && i < young.count; i++) {
        failed = hold(scan, young.items[i]) < 0;
    }
    pages_free(young.items);
    if (failed) {
        return NULL;
    }
    Py_XSETREF(scan->rest, Py_NewRef(tracked));
    scan->borrows = 1;
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

PyMethodDef graph_methods[] = {
    {"borrow", (PyCFunction)scan_borrow, METH_O, borrow_doc},
    {"walk", (PyCFunction)scan_walk, METH_O, walk_doc},
    {"put_off", (PyCFunction)scan_put_off, METH_O, put_off_doc},
    {"walk_put_off", (PyCFunction)scan_walk_put_off, METH_NOARGS, walk_put_off_doc},
    {"walk_rest", (PyCFunction)scan_walk_rest, METH_VARARGS, walk_rest_doc},
    {"walk_deferred", (PyCFunction)scan_walk_deferred, METH_NOARGS, walk_deferred_doc},
    {NULL, NULL, 0, NULL},
};
