/* The live samples one by one, for who holds them to be looked up.

   They are read in a copy of the process, where nothing is recorded and no lock is taken: another
   thread may have been about to write one when the copy was made, so each is checked. */

#include "births.h"

static PyObject *
row_of(const Sample *sample, Known known)
{
    uint32_t serial = serial_of(sample->stack, known);
    if (serial == NO_SERIAL) {
        return NULL;
    }
    double each = sample->weight / (double)sample->size;
    return Py_BuildValue("(K(IiHBIdddd))", (unsigned long long)sample->block, serial,
                         (int)sample->generation, sample->phase, kind_of(sample->domain), 1u,
                         sample->weight, each, sample->weight * (sample->weight - (double)sample->size),
                         each * (each - 1));
}

PyObject *
read_survivors(int first, int last, Known known)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t number = 1; rows != NULL && number <= MOST_SAMPLES; number++) {
        const Sample *sample = &samples[number];
        if (sample->weight <= 0 || sample->size == 0 || sample->domain >= DOMAINS
            || sample->generation < first || sample->generation > last) {
            continue;
        }
        PyObject *row = row_of(sample, known);
        if (row == NULL || PyList_Append(rows, row) < 0) {
            Py_CLEAR(rows);
        }
        Py_XDECREF(row);
    }
    return rows;
}
