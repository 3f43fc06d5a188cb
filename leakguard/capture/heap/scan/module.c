/* The compiled heap scan: the same walks as walk.py and graph.py, with the same results.

   Here are its type and its module; each room brings its methods. */

#include "scan.h"

Shared shared;

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
                      scan->paths,  scan->path_table,  scan->found,   scan->extents,
                      scan->storages};
    scan->table = NULL;
    scan->class_table = scan->parents = scan->path_of = NULL;
    scan->edges = scan->deferred = NULL;
    scan->degrees = scan->starts = NULL;
    scan->sizes = NULL;
    scan->kinds = NULL;
    scan->paths = NULL;
    scan->path_table = NULL;
    scan->found = NULL;
    scan->extents = NULL;
    scan->n_extents = scan->cap_extents = 0;
    scan->storages = NULL;
    scan->n_storages = scan->cap_storages = 0;
    scan->mask = scan->class_mask = scan->path_mask = scan->path_used = 0;
    scan->cap_parents = scan->cap_path_of = scan->cap_degrees = scan->cap_sizes = 0;
    scan->cap_starts = scan->cap_kinds = scan->cap_edges = scan->cap_deferred = 0;
    scan->cap_paths = scan->cap_found = 0;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        pages_free(blocks[i]);
    }
    for (Py_ssize_t i = 0; i < count && !scan->borrows; i++) {
        Py_DECREF(objects[i]);
    }
    Py_CLEAR(scan->rest);
    Tracked held = scan->held;
    scan->held = (Tracked){0};
    for (Py_ssize_t i = 0; i < held.count; i++) {
        Py_DECREF(held.items[i]);
    }
    pages_free(held.items);
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

static PyMethodDef own_methods[] = {
    {"close", (PyCFunction)scan_close, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

/* The methods of all rooms, in the one table that a type takes. */
static PyMethodDef scan_methods[48];

static int
join_methods(void)
{
    PyMethodDef *rooms[] = {arrays_methods,    tensors_methods,   census_methods,    paths_methods, graph_methods,
                            questions_methods, owners_methods,    garbage_methods,   retention_methods, own_methods};
    size_t count = 0, most = sizeof(scan_methods) / sizeof(*scan_methods) - 1;
    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
        for (PyMethodDef *method = rooms[i]; method->ml_name != NULL; method++) {
            if (count == most) {
                PyErr_SetString(PyExc_SystemError, "the table of methods is too small");
                return -1;
            }
            scan_methods[count++] = *method;
        }
    }
    return 0;
}

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

static struct PyModuleDef scan_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_doc = "The compiled heap scan.",
    .m_size = -1,
};

/* Read the constants that the pure twin defines. */
static int
read_shared(void)
{
    struct {
        const char *module, *name;
        int *into;
    } wanted[] = {
        {"layout", "PLAIN", &shared.plain},         {"layout", "LIST", &shared.list},
        {"layout", "TUPLE", &shared.tuple},         {"layout", "DICT", &shared.dict},
        {"layout", "ELEMENTS", &shared.elements},   {"layout", "NAMED", &shared.named},
        {"layout", "MEMORY", &shared.memory},       {"layout", "AUTOGRAD", &shared.autograd},
        {"path_tree", "ROOT", &shared.root},        {"path_tree", "ELEMENT", &shared.element},
        {"path_tree", "KEY", &shared.key},          {"path_tree", "NAMESPACE", &shared.namespace},
        {"path_tree", "NAME", &shared.name},        {"path_tree", "POSITION", &shared.position},
        {"path_tree", "INSTANCE", &shared.instance}, {"path_tree", "MAX_DEPTH", &shared.max_depth},
        {"path_tree", "NESTED", &shared.nested},    {"path_tree", "BETWEEN_LINKS", &shared.link},
        {"graph", "MAX_RECORD", &shared.max_record},
        {"graph", "FIRST_PART", &shared.first_part},
        {"retention", "EMPTY_CONTAINER", &shared.empty_container},
        {"retention", "EMPTY_ELEMENTS", &shared.empty_elements},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        PyObject *name = PyUnicode_FromFormat("leakguard.capture.heap.%s", wanted[i].module);
        PyObject *module = name == NULL ? NULL : PyImport_Import(name);
        PyObject *value = module == NULL ? NULL : PyObject_GetAttrString(module, wanted[i].name);
        *wanted[i].into = value == NULL ? -1 : (int)PyLong_AsLong(value);
        Py_XDECREF(name);
        Py_XDECREF(module);
        Py_XDECREF(value);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* Learn from a class made in Python how instances of such classes are traversed. */
static int
learn_subtypes(void)
{
    PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "made");
    if (made == NULL) {
        return -1;
    }
    subtype_traverse = ((PyTypeObject *)made)->tp_traverse;
    Py_DECREF(made);
    return 0;
}

PyMODINIT_FUNC
PyInit__scan(void)
{
    if (read_shared() < 0 || learn_subtypes() < 0 || join_methods() < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&scan_module);
    PyObject *type = PyType_FromSpec(&scan_spec);
    if (module == NULL || type == NULL || PyModule_AddObjectRef(module, "Scan", type) < 0 ||
        PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0 ||
        PyModule_AddIntConstant(module, "LAYOUT_FIELDS", LAYOUT_FIELDS) < 0 ||
        PyModule_AddIntConstant(module, "LISTS_TRACKED", LISTS_TRACKED) < 0 ||
        PyModule_AddIntConstant(module, "READS_LOCALS", READS_LOCALS) < 0 ||
        PyModule_AddFunctions(module, arrays_functions) < 0 ||
        PyModule_AddFunctions(module, frames_functions) < 0 ||
        PyModule_AddFunctions(module, tensors_functions) < 0 ||
        PyModule_AddFunctions(module, tracked_functions) < 0 ||
        PyModule_AddFunctions(module, spare_functions) < 0 ||
        PyModule_AddFunctions(module, population_functions) < 0 ||
        PyModule_AddFunctions(module, copy_functions) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(type);
    return module;
}
