/* Finds which of several words comes first in a buffer; `anchors.py` has the same in Python.

   Each word has at least three bytes and belongs to one of eight groups, one bit each. A table for
   each of a word's first three bytes gives the groups that have this byte at this place. Where the
   three tables have a bit in common, the words are compared. With AVX2, tables by half bytes give
   the bits of 32 places at once (Teddy, of Hyperscan and of Rust's aho-corasick). Without AVX2,
   tables by whole bytes give them place by place. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_AVX2 1
#endif

/* Checksum (31 bits) of _find.pyi; see compiled_part.py. */
#define INTERFACE 0x5c900c48

enum { LEAST = 3, GROUPS = 8, BYTES = 256, HALF = 16, MOST = 64 };

typedef struct {
    const char *text;
    Py_ssize_t size;
} Word;

typedef struct {
    uint8_t whole[LEAST][BYTES];       /* groups by place and byte */
    uint8_t low[LEAST][2 * HALF];      /* the same by the lower half of the byte, twice for AVX2 */
    uint8_t high[LEAST][2 * HALF];     /* by the upper half */
    Py_ssize_t count;
    Word words[MOST];
} Words;

static void
add(Words *words, const char *text, Py_ssize_t size, Py_ssize_t total)
{
    /* Neighbours share a group. The words are sorted, so most words of a group begin with the same
       byte, and few mixtures of their bytes look like a word. */
    uint8_t group = (uint8_t)(1u << (words->count * GROUPS / total));
    for (int place = 0; place < LEAST; place++) {
        uint8_t byte = (uint8_t)text[place];
        words->whole[place][byte] |= group;
        for (int twice = 0; twice < 2; twice++) {
            words->low[place][byte % HALF + twice * HALF] |= group;
            words->high[place][byte / HALF + twice * HALF] |= group;
        }
    }
    words->words[words->count++] = (Word){text, size};
}

/* Return whether a word begins at `at` and ends before `end`. */
static int
begins(const Words *words, const char *at, const char *end)
{
    const uint8_t *byte = (const uint8_t *)at;
    if (!(words->whole[0][byte[0]] & words->whole[1][byte[1]] & words->whole[2][byte[2]])) {
        return 0;
    }
    for (Py_ssize_t n = 0; n < words->count; n++) {
        const Word *word = &words->words[n];
        if (memcmp(word->text, at, LEAST) == 0 && word->size <= end - at &&
            memcmp(word->text, at, (size_t)word->size) == 0) {
            return 1;
        }
    }
    return 0;
}

static const char *
first_by_bytes(const Words *words, const char *at, const char *end)
{
    for (; end - at >= LEAST; at++) {
        if (words->whole[0][*(const uint8_t *)at] && begins(words, at, end)) {
            return at;
        }
    }
    return NULL;
}

#ifdef HAS_AVX2
enum { LANES = 32 };

typedef struct {
    __m256i low, high;
} Tables;

__attribute__((target("avx2"))) static inline Tables
tables(const Words *words, int place)
{
    return (Tables){_mm256_loadu_si256((const __m256i *)words->low[place]),
                    _mm256_loadu_si256((const __m256i *)words->high[place])};
}

__attribute__((target("avx2"))) static inline __m256i
groups(Tables tables, const char *at)
{
    const __m256i half = _mm256_set1_epi8(0x0f);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
    __m256i upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
    return _mm256_and_si256(_mm256_shuffle_epi8(tables.low, _mm256_and_si256(bytes, half)),
                            _mm256_shuffle_epi8(tables.high, upper));
}

__attribute__((target("avx2"))) static const char *
first_by_lanes(const Words *words, const char *at, const char *end)
{
    const Tables one = tables(words, 0), two = tables(words, 1), three = tables(words, 2);
    for (; end - at >= LANES + LEAST; at += LANES) {
        __m256i found = _mm256_and_si256(groups(one, at), groups(two, at + 1));
        found = _mm256_and_si256(found, groups(three, at + 2));
        if (_mm256_testz_si256(found, found)) {
            continue;
        }
        __m256i none = _mm256_cmpeq_epi8(found, _mm256_setzero_si256());
        for (uint32_t places = ~(uint32_t)_mm256_movemask_epi8(none); places; places &= places - 1) {
            const char *place = at + __builtin_ctz(places);
            if (begins(words, place, end)) {
                return place;
            }
        }
    }
    return first_by_bytes(words, at, end);
}
#endif

/* Letters, digits and signs of English text, the commonest first; any other byte is rarer. */
static const char common[] = "e taoinsrhldcumfpgwybvk0123456789.,:;=-_/ETAOINSRLDCUPMHGBFYWKVXJQZxjqz";

static Py_ssize_t
rarest(const char *text, Py_ssize_t size)
{
    Py_ssize_t best = 0;
    const char *rank = common;
    for (Py_ssize_t n = 0; n < size; n++) {
        const char *found = text[n] ? strchr(common, text[n]) : NULL;
        if (found == NULL) {
            return n;
        }
        if (found > rank) {
            rank = found;
            best = n;
        }
    }
    return best;
}

/* Search for a single word by its rarest letter. */
static const char *
first_of_one(const Word *word, const char *at, const char *end)
{
    Py_ssize_t rare = rarest(word->text, word->size);
    const char *last = end - word->size;
    while (at <= last) {
        const char *found = memchr(at + rare, word->text[rare], (size_t)(last - at + 1));
        if (found == NULL) {
            return NULL;
        }
        if (memcmp(found - rare, word->text, (size_t)word->size) == 0) {
            return found - rare;
        }
        at = found - rare + 1;
    }
    return NULL;
}

static const char *
first(const Words *words, const char *at, const char *end)
{
    if (words->count == 1) {
        return first_of_one(words->words, at, end);
    }
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2")) {
        return first_by_lanes(words, at, end);
    }
#endif
    return first_by_bytes(words, at, end);
}

static void
forget(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, "words"));
}

static int
add_all(Words *words, PyObject *texts)
{
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(texts); n++) {
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(texts, n), &text, &size) < 0) {
            return -1;
        }
        if (size < LEAST) {
            PyErr_Format(PyExc_ValueError, "%R is too short", PyTuple_GET_ITEM(texts, n));
            return -1;
        }
        add(words, text, size, PyTuple_GET_SIZE(texts));
    }
    return 0;
}

PyDoc_STRVAR(words_doc,
             "words(texts)\n--\n\n"
             "Return what `find` looks for: a tuple of at most 64 bytes objects of at least three "
             "bytes. The tuple must outlive it.");

static PyObject *
words_of(PyObject *module, PyObject *texts)
{
    if (!PyTuple_Check(texts) || PyTuple_GET_SIZE(texts) > MOST) {
        return PyErr_Format(PyExc_TypeError, "words must be a tuple of at most %d", (int)MOST);
    }
    Words *words = PyMem_Calloc(1, sizeof(Words));
    if (words == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = add_all(words, texts) < 0 ? NULL : PyCapsule_New(words, "words", forget);
    if (capsule == NULL) {
        PyMem_Free(words);
    }
    return capsule;
}

PyDoc_STRVAR(find_doc,
             "find(words, buffer, begin, end)\n--\n\n"
             "Return the first place in buffer[begin:end] where one of the words stands; -1 where "
             "none does.");

static PyObject *
find(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_buffer buffer;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "Oy*nn", &capsule, &buffer, &begin, &end)) {
        return NULL;
    }
    const Words *words = PyCapsule_GetPointer(capsule, "words");
    const char *base = buffer.buf, *place = NULL;
    begin = begin > 0 ? begin : 0;
    end = end < buffer.len ? end : buffer.len;
    if (words != NULL && begin < end) {
        place = first(words, base + begin, base + end);
    }
    PyBuffer_Release(&buffer);
    return words == NULL ? NULL : PyLong_FromSsize_t(place == NULL ? -1 : place - base);
}

static PyMethodDef methods[] = {
    {"words", words_of, METH_O, words_doc},
    {"find", find, METH_VARARGS, find_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_find", "Which of several words comes first in a buffer.", 0, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__find(void)
{
    PyObject *built = PyModule_Create(&module);
    if (built != NULL && PyModule_AddIntConstant(built, "INTERFACE", INTERFACE) < 0) {
        Py_CLEAR(built);
    }
    return built;
}
