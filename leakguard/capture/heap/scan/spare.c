/* Objects that were freed and are kept by the interpreter for the next of their type: blocks in use to
   the allocator, and to nobody else. Those of tuples may come to 2,000 of each length, so that a loop
   seems to gain memory for its first thousands of steps. */

#include "inside.h"
#include "scan.h"

#ifdef HAVE_INSIDE
#if PY_VERSION_HEX >= 0x030D0000
#define FREE_OF(interpreter, type, state) ((interpreter)->object_state.freelists.type##s)
#else
#define FREE_OF(interpreter, type, state) ((interpreter)->state)
#endif
/* 3.10 has its empty tuple in the first place. */
#define FIRST_LENGTH (PY_VERSION_HEX < 0x030B0000 ? 0 : 1)

static void
add_spare(Py_ssize_t *blocks, Py_ssize_t *bytes, int count, size_t size, int has_header)
{
    size_t block = (size + (has_header ? sizeof(PyGC_Head) : 0) + 15) & ~(size_t)15;
    *blocks += count;
    *bytes += count * (Py_ssize_t)block;
}
#endif

PyDoc_STRVAR(spare_doc,
"spare()\n--\n\n"
"Return the number and the bytes of blocks that hold no object and are kept for the next one.");

static PyObject *
spare(PyObject *module, PyObject *unused)
{
    Py_ssize_t blocks = 0, bytes = 0;
#ifdef HAVE_INSIDE
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    for (size_t i = 0; i < Py_ARRAY_LENGTH(FREE_OF(interpreter, tuple, tuple).numfree); i++) {
        int count = FREE_OF(interpreter, tuple, tuple).numfree[i];
        size_t length = i + FIRST_LENGTH;
        if (length > 0) {
            add_spare(&blocks, &bytes, count, sizeof(PyTupleObject) + (length - 1) * sizeof(PyObject *), 1);
        }
    }
    add_spare(&blocks, &bytes, FREE_OF(interpreter, float, float_state).numfree, sizeof(PyFloatObject), 0);
    add_spare(&blocks, &bytes, FREE_OF(interpreter, list, list).numfree, sizeof(PyListObject), 1);
    add_spare(&blocks, &bytes, FREE_OF(interpreter, dict, dict_state).numfree, sizeof(PyDictObject), 1);
#endif
    return Py_BuildValue("nn", blocks, bytes);
}

PyMethodDef spare_functions[] = {
    {"spare", spare, METH_NOARGS, spare_doc},
    {NULL, NULL, 0, NULL},
};
