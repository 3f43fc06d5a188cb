/* How many objects of each class the collector tracks, read from its own lists where they lie.

   Nothing is held, nothing is written, and no other code of the process runs meanwhile: the lock is kept
   for as long as the lists last, which is bounded by the number of objects that they may have. Each
   list is gone through from both of its ends at once: where the next object lies is known only when this
   one has arrived from memory, and two such chains take as long as one. */

#include "inside.h"
#include "scan.h"

#ifdef HAVE_INSIDE
#define FLAGS ((uintptr_t)3) /* bits of the collector's own in the links of its lists */
#define SLOTS 16384          /* more than four times the classes of a process with torch */

typedef struct {
    PyTypeObject *cls;
    int64_t count;
} ClassCount;

typedef struct {
    Py_ssize_t left; /* objects that may still be counted */
    Py_ssize_t used;
    ClassCount slots[SLOTS];
} Population;

/* Return the entry of a class, which is empty if it was not met before. */
static inline ClassCount *
entry_of(Population *population, const PyTypeObject *cls)
{
    size_t slot = ((uintptr_t)cls >> 4 ^ (uintptr_t)cls >> 18) & (SLOTS - 1);
    while (population->slots[slot].cls != NULL && population->slots[slot].cls != cls) {
        slot = (slot + 1) & (SLOTS - 1);
    }
    return &population->slots[slot];
}

/* Return 0; -1 where there are more objects, or more classes, than may be counted. */
static int
count_one(Population *population, PyGC_Head *at)
{
    PyTypeObject *cls = Py_TYPE((PyObject *)(at + 1));
    ClassCount *entry = entry_of(population, cls);
    if (entry->cls == NULL) {
        entry->cls = cls;
        population->used++;
    }
    entry->count++;
    return population->left-- > 0 && population->used < SLOTS / 2 ? 0 : -1;
}

static int
count_list(Population *population, PyGC_Head *head)
{
    PyGC_Head *left = (PyGC_Head *)(head->_gc_next & ~FLAGS);
    PyGC_Head *right = (PyGC_Head *)(head->_gc_prev & ~FLAGS);
    while (left != head) {
        if (count_one(population, left) < 0 || (left != right && count_one(population, right) < 0)) {
            return -1;
        }
        PyGC_Head *next = (PyGC_Head *)(left->_gc_next & ~FLAGS);
        if (left == right || next == right) {
            break;
        }
        left = next;
        right = (PyGC_Head *)(right->_gc_prev & ~FLAGS);
    }
    return 0;
}

static int
count_all(Population *population)
{
    struct _gc_runtime_state *collector = &PyInterpreterState_Get()->gc;
    if (collector->collecting) { /* the lists are not whole */
        return -1;
    }
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        if (count_list(population, &collector->generations[i].head) < 0) {
            return -1;
        }
    }
    return count_list(population, &collector->permanent_generation.head);
}

/* Bit 0 says whether the class was made by a program, and is none of the interpreter's own. */
static PyObject *
packed(const Population *population)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, population->used * (Py_ssize_t)sizeof(ClassCount));
    ClassCount *into = result == NULL ? NULL : (ClassCount *)PyBytes_AS_STRING(result);
    for (size_t slot = 0; into != NULL && slot < SLOTS; slot++) {
        PyTypeObject *cls = population->slots[slot].cls;
        if (cls != NULL) {
            *into++ = (ClassCount){cls, population->slots[slot].count << 1
                                         | PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE)};
        }
    }
    return result;
}
#endif

PyDoc_STRVAR(population_doc,
"population(most)\n--\n\n"
"Return the tracked objects by class, for ``gains``; None if there are more than ``most``, or if a\n"
"collection is under way.");

static PyObject *
population(PyObject *module, PyObject *most)
{
#ifdef HAVE_INSIDE
    Population *counted = pages_new(1, sizeof(Population));
    if (counted == NULL) {
        return NULL;
    }
    counted->left = PyLong_AsSsize_t(most);
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        result = count_all(counted) < 0 ? Py_NewRef(Py_None) : packed(counted);
    }
    pages_free(counted);
    return result;
#else
    Py_RETURN_NONE;
#endif
}

PyDoc_STRVAR(gains_doc,
"gains(before, now)\n--\n\n"
"Compare two populations: return the largest number of instances that a class of the program gained,\n"
"and how many the interpreter's own classes gained together.");

static PyObject *
gains(PyObject *module, PyObject *args)
{
#ifdef HAVE_INSIDE
    const char *before, *now;
    Py_ssize_t before_size, now_size;
    if (!PyArg_ParseTuple(args, "y#y#", &before, &before_size, &now, &now_size)) {
        return NULL;
    }
    Population *known = pages_new(1, sizeof(Population));
    if (known == NULL) {
        return NULL;
    }
    int64_t most = 0, others = 0;
    for (Py_ssize_t at = 0; at < before_size; at += (Py_ssize_t)sizeof(ClassCount)) {
        const ClassCount *entry = (const ClassCount *)(before + at);
        *entry_of(known, entry->cls) = *entry;
    }
    for (Py_ssize_t at = 0; at < now_size; at += (Py_ssize_t)sizeof(ClassCount)) {
        const ClassCount *entry = (const ClassCount *)(now + at);
        int64_t gained = (entry->count >> 1) - (entry_of(known, entry->cls)->count >> 1);
        if (entry->count & 1) {
            most = gained > most ? gained : most;
        }
        else {
            others += gained > 0 ? gained : 0;
        }
    }
    pages_free(known);
    return Py_BuildValue("LL", (long long)most, (long long)others);
#else
    return Py_BuildValue("ii", 0, 0);
#endif
}

PyMethodDef population_functions[] = {
    {"population", population, METH_O, population_doc},
    {"gains", gains, METH_VARARGS, gains_doc},
    {NULL, NULL, 0, NULL},
};
