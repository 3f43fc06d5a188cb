/* What is alive, added up by stack, phase, generation and kind.

   It is added up under the lock into memory of its own, and given to Python without it: what is made
   for Python goes through the hooks. */

#include "births.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    uint32_t stack;
    int32_t generation;
    uint16_t phase;
    uint8_t native, one_in;
    uint32_t samples;
    double bytes, count, bytes_variance, count_variance;
} Cohort;

#define SLOTS (2 * MOST_SAMPLES)

typedef struct {
    uint32_t slots[SLOTS];
    uint32_t used;
    Cohort cohorts[MOST_SAMPLES];
} Sum;

static Cohort *
cohort_of(Sum *sum, const Sample *sample)
{
    uint8_t native = sample->domain == NATIVE;
    uint32_t at = (sample->stack * 2654435761u) ^ ((uint32_t)sample->generation * 40503u)
                  ^ ((uint32_t)sample->phase << 7) ^ native ^ ((uint32_t)sample->one_in << 1);
    for (at = (at ^ at >> 15) & (SLOTS - 1); sum->slots[at]; at = (at + 1) & (SLOTS - 1)) {
        Cohort *known = &sum->cohorts[sum->slots[at] - 1];
        if (known->stack == sample->stack && known->generation == sample->generation
            && known->phase == sample->phase && known->native == native
            && known->one_in == sample->one_in) {
            return known;
        }
    }
    Cohort *made = &sum->cohorts[sum->used];
    sum->slots[at] = ++sum->used;
    *made = (Cohort){sample->stack, sample->generation, sample->phase, native, sample->one_in, 0, 0, 0, 0, 0};
    return made;
}

/* A block with probability p that was sampled adds size / p, with the variance (1 - p) (size / p)^2. */
static void
add_up(Sum *sum)
{
    for (uint32_t number = 1; number <= MOST_SAMPLES; number++) {
        const Sample *sample = &samples[number];
        /* Of a GPU's memory it is not known when it is freed. */
        if (sample->weight <= 0 || sample->domain >= DEVICE) {
            continue;
        }
        Cohort *cohort = cohort_of(sum, sample);
        double each = sample->weight / (double)sample->size;
        cohort->samples++;
        cohort->bytes += sample->weight;
        cohort->count += each;
        cohort->bytes_variance += sample->weight * (sample->weight - (double)sample->size * sample->one_in);
        cohort->count_variance += each * (each - sample->one_in);
    }
}

/* A round that stands for others does so with all that it has: beside the variance within it there is
   (1 - 1 / one_in) of the square of that. */
static double
with_rounds(double variance, double sum, uint8_t one_in)
{
    return variance + (1 - 1.0 / one_in) * fmax(sum * sum - variance, 0);
}

static PyObject *
text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Return a new reference to the frame of a place. Stacks have most of theirs in common: each is made
   once, and kept in `frames`. */
static PyObject *
frame_at(const Place *place, PyObject *frames)
{
    PyObject *key = PyLong_FromUnsignedLongLong((uint64_t)place->function << 32 | (uint32_t)place->line);
    PyObject *frame = key == NULL ? NULL : PyDict_GetItemWithError(frames, key);
    Py_XINCREF(frame);
    if (frame == NULL && !PyErr_Occurred()) {
        frame = Py_BuildValue("(NiN)", text_of(function_file(place->function)), place->line,
                              text_of(function_name(place->function)));
        if (frame != NULL && PyDict_SetItem(frames, key, frame) < 0) {
            Py_CLEAR(frame);
        }
    }
    Py_XDECREF(key);
    return frame;
}

/* Put a place into `known`; return 1 if it was there already, and -1 with an exception. */
static int
tell_place(const Place *place, Known known)
{
    PyObject *key = PyLong_FromUnsignedLong(place->serial);
    int told = key == NULL ? -1 : PyDict_Contains(known.places, key);
    if (told == 0) {
        uint32_t caller = place->caller ? place_at(place->caller)->serial : 0;
        PyObject *frame = frame_at(place, known.frames);
        PyObject *entry = frame == NULL ? NULL : Py_BuildValue("(NI)", frame, caller);
        told = entry == NULL ? -1 : PyDict_SetItem(known.places, key, entry);
        Py_XDECREF(entry);
    }
    Py_XDECREF(key);
    return told;
}

uint32_t
serial_of(uint32_t number, Known known)
{
    int told = 0;
    for (uint32_t at = number; at && told == 0; at = place_at(at)->caller) {
        told = tell_place(place_at(at), known); /* of a known place the callers are known, too */
    }
    return told < 0 ? NO_SERIAL : number ? place_at(number)->serial : 0;
}

/* Put the places that are not known yet into `known`, and return the rows. */
static PyObject *
rows_of(const Sum *sum, Known known)
{
    PyObject *rows = PyList_New(sum->used);
    for (uint32_t i = 0; rows != NULL && i < sum->used; i++) {
        const Cohort *cohort = &sum->cohorts[i];
        uint32_t serial = serial_of(cohort->stack, known);
        PyObject *row = serial == NO_SERIAL ? NULL
                                            : Py_BuildValue("(IiHBIdddd)", serial, (int)cohort->generation,
                                                            cohort->phase, cohort->native, cohort->samples,
                                                            cohort->bytes, cohort->count,
                                                            with_rounds(cohort->bytes_variance, cohort->bytes, cohort->one_in),
                                                            with_rounds(cohort->count_variance, cohort->count, cohort->one_in));
        if (row == NULL) {
            Py_CLEAR(rows);
            break;
        }
        PyList_SET_ITEM(rows, i, row);
    }
    return rows;
}

PyObject *
read_cohorts(Known known)
{
    Sum *sum = mmap(NULL, sizeof(Sum), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sum == MAP_FAILED) {
        return PyErr_NoMemory();
    }
    if (enter()) {
        stacks_pin(1); /* nothing is swept while stacks are read without the lock */
        add_up(sum);
        leave();
    }
    PyObject *rows = rows_of(sum, known);
    stacks_pin(0);
    munmap(sum, sizeof(Sum));
    return rows;
}
