/* Retained bytes: see retention.py for the method. */

#include "scan.h"

enum { OPEN, GATE_BEYOND, GATE_WHOLE };

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
        int kind = scan->kinds[node];
        int64_t empty = kind == shared.list || kind == shared.dict ? shared.empty_container
                        : kind == shared.elements                  ? shared.empty_elements
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
            nodes += scan->kinds[node] == shared.autograd;
        }
    }
    return Py_BuildValue("(LdLL)", (long long)bytes, share, (long long)objects, (long long)nodes);
}

static int
read_group(const Scan *scan, PyObject *entry, Group *group)
{
    PyObject *given;
    if (!PyArg_ParseTuple(entry, "Op", &given, &group->whole)) {
        return -1;
    }
    return read_nodes(scan, given, &group->nodes);
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
        if (append_new(results, result_of(r, i)) < 0) {
            Py_CLEAR(results);
        }
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

PyMethodDef retention_methods[] = {
    {"retained", (PyCFunction)scan_retained, METH_O, retained_doc},
    {NULL, NULL, 0, NULL},
};
