/* What Python sees of the record; BirthRecord in ../__init__.py is its one caller. */

#include "births.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only of the main interpreter: the record is one a process, and another interpreter would start it a
   second time. */
static int
is_main(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
        return 1;
    }
    PyErr_SetString(PyExc_RuntimeError, "births are recorded in the main interpreter only");
    return 0;
}

/* The tables, behind the page that says whether there is a record. */
static char *tables;
static size_t tables_size;

/* Map, once a process, all the memory that there will be; returns why not, or NULL. */
static const char *
map_memory(void)
{
    if (tables != NULL) {
        return NULL;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE), parts[] = {samples_size(), functions_size(), stacks_size()};
    size_t size = page;
    for (int i = 0; i < 3; i++) {
        size += (parts[i] + page - 1) / page * page;
    }
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return "there is no memory for its tables";
    }
    if (madvise(mapped, page, MADV_WIPEONFORK) != 0) {
        munmap(mapped, size);
        return "this kernel is older than Linux 4.14";
    }
    recording = (_Atomic int *)mapped;
    tables = mapped + page;
    tables_size = size - page;
    char *next = tables;
    samples_use(next);
    functions_use(next += (parts[0] + page - 1) / page * page);
    stacks_use(next += (parts[1] + page - 1) / page * page);
    return NULL;
}

static void
clear_tables(void)
{
    samples_clear();
    functions_clear();
    stacks_clear();
    stacks_pin(0);
}

static const char *
start_record(double python_interval, double c_interval, unsigned long long seed, int adapts)
{
    static pid_t owner;
    if (*recording) {
        return "another record is running in this process";
    }
#ifndef LEAKGUARD_SANITIZED  /* how the record itself is tested */
    if (dlsym(RTLD_DEFAULT, "__asan_init") != NULL) {
        return "the address sanitizer stands in the allocators";
    }
#endif
    const char *problem = map_memory();
    if (problem == NULL) {
        problem = wrap_domains();
    }
    if (problem != NULL) {
        return problem;
    }
    if (owner != getpid()) {
        renew_lock();
        owner = getpid();
    }
    clear_tables();
    free_shadows();
    frames_start();
    current_generation = -1;
    current_phase = 0;
    small_one_in = 1;
    native_is_recorded = 0;
    sampler_start(python_interval, c_interval > 0 ? c_interval : python_interval, seed, adapts);
    __sync_synchronize();
    *recording = 1;
    wrap_small(1);
    return NULL;
}

PyDoc_STRVAR(start_doc,
"start(python_interval, c_interval, seed, adapts)\n--\n\n"
"Begin to record; return why that cannot be, or None. C memory is recorded from the first mark on.");

static PyObject *
births_start(PyObject *module, PyObject *args)
{
    double python_interval, c_interval;
    unsigned long long seed;
    int adapts;
    if (!PyArg_ParseTuple(args, "ddKp", &python_interval, &c_interval, &seed, &adapts) || !is_main()) {
        return NULL;
    }
    const char *problem = start_record(python_interval, c_interval, seed, adapts);
    return Py_BuildValue("z", problem);
}

/* A thread that waited for the lock meanwhile finds empty tables, and what it adds is cleared at the next start. */
static void
stop_record(void)
{
    if (enter()) {
        samples_leave_shadows();
        *recording = 0;
        clear_tables();
        madvise(tables, tables_size, MADV_DONTNEED); /* all of it: a page that is read again is of zeros */
        leave();
        wrap_small(0);
        free_shadows();
    }
}

PyDoc_STRVAR(mark_doc,
"mark(generation, phase)\n--\n\nTake where the program is from here on.");

static PyObject *
births_mark(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "mark takes a generation and the number of a phase");
        return NULL;
    }
    long generation = PyLong_AsLong(args[0]), phase = PyLong_AsLong(args[1]);
    if (PyErr_Occurred() || !is_main()) {
        return NULL;
    }
    int sets_up = current_generation < 1;
    current_generation = (int32_t)generation;
    current_phase = (uint16_t)phase;
    if (sets_up && generation >= 1 && enter()) {
        sampler_begin();
        leave();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(hush_doc,
"hush(quiet)\n--\n\nSay whether this thread works for the guard: what it allocates is not recorded.");

static PyObject *
births_hush(PyObject *module, PyObject *quiet)
{
    is_quiet = quiet == Py_True;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(check_doc,
"check(native)\n--\n\n"
"Look whether the record still hears of everything, and take in libraries that were loaded since.\n\n"
"Returns (why the record had to end or None, why C memory is not recorded or None, whether Python's\n"
"small blocks were recorded until now). To be called where a generation begins.");

static PyObject *
births_check(PyObject *module, PyObject *native)
{
    const char *closed = NULL, *aside = NULL;
    if (!is_main()) {
        return NULL;
    }
    int small_was_recorded = small_is_recorded && small_passes();
    if (!*recording) {
        closed = "the record does not run in this process";
    }
    else if (!deaths_are_seen()) {
        stop_record();
        closed = "another tool has taken the record out of Python's allocators: deaths were not seen";
    }
    else if (native == Py_True) {
        watch_devices();
        aside = patch_libraries();
        if (aside != NULL && enter()) {
            samples_drop(1u << NATIVE);
            leave();
            native_is_recorded = *aside == 0; /* it was lost for a while, and is back */
        }
        aside = aside != NULL && *aside == 0 ? NULL : aside;
    }
    if (closed == NULL && enter()) {
        sampler_adapt();
        leave();
    }
    return Py_BuildValue("zzO", closed, aside, small_was_recorded ? Py_True : Py_False);
}

PyDoc_STRVAR(cohorts_doc,
"cohorts(known)\n--\n\n"
"Return what is alive: [(stack, generation, phase, native, samples, bytes, count, variance of bytes,\n"
"variance of count)]. A stack is the number of its innermost place, 0 is none. Places that `known` has not\n"
"yet are added to it: {place: ((file, line, function), the place that called it)}.");

static PyObject *
births_cohorts(PyObject *module, PyObject *known)
{
    if (!PyDict_Check(known)) {
        PyErr_SetString(PyExc_TypeError, "cohorts takes a dict of known places");
        return NULL;
    }
    Known places = {known, is_main() ? PyDict_New() : NULL};
    PyObject *rows = places.frames == NULL ? NULL : read_cohorts(places);
    Py_XDECREF(places.frames);
    return rows;
}

PyDoc_STRVAR(survivors_doc,
"survivors(first, last, known)\n--\n\n"
"Return the live samples of these generations: [(address, row as of cohorts)]. To be asked in a\n"
"copy of the process, where no lock is taken; places are added to `known` as by cohorts.");

static PyObject *
births_survivors(PyObject *module, PyObject *args)
{
    int first, last;
    PyObject *known;
    if (!PyArg_ParseTuple(args, "iiO!", &first, &last, &PyDict_Type, &known) || !is_main()) {
        return NULL;
    }
    if (samples == NULL) {
        return PyList_New(0);
    }
    Known places = {known, PyDict_New()};
    PyObject *rows = places.frames == NULL ? NULL : read_survivors(first, last, places);
    Py_XDECREF(places.frames);
    return rows;
}

PyDoc_STRVAR(show_pools_doc,
"show_pools(shown)\n--\n\n"
"Let the interpreter tell the statistics of its pools, or record small objects again.");

static PyObject *
births_show_pools(PyObject *module, PyObject *shown)
{
    if (!is_main()) {
        return NULL;
    }
    show_pools(shown == Py_True);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(memory_doc,
"memory()\n--\n\n"
"Return the bytes of C memory that recorded small blocks take, whose places in the interpreter's pools are\n"
"taken, too, and the bytes that the tables have of what is recorded.");

static PyObject *
births_memory(PyObject *module, PyObject *unused)
{
    size_t tables = samples_bytes() + stacks_bytes() + functions_bytes();
    return Py_BuildValue("nn", (Py_ssize_t)doubled_bytes, (Py_ssize_t)tables);
}

PyDoc_STRVAR(figures_doc,
"figures()\n--\n\n"
"Return (live samples, places on stacks, ((interval, samples, bytes, blocks) of Python's memory, of C's))\n"
"since the start. The interval is the mean one of small blocks; the others are of blocks of all sizes.");

/* Add up the families of small, medium and large blocks. */
static Family
total(enum family smallest)
{
    Family sum = families[smallest];
    for (int larger = 1; larger < SIZES; larger++) {
        sum.taken += families[smallest + larger].taken;
        sum.bytes += families[smallest + larger].bytes;
        sum.blocks += families[smallest + larger].blocks;
    }
    return sum;
}

static PyObject *
births_figures(PyObject *module, PyObject *unused)
{
    int locked = enter();
    Family python = total(PYTHON_SMALL), c = total(C_SMALL);
    unsigned live = locked ? samples_live() : 0, places = locked ? places_count() : 0;
    if (locked) {
        leave();
    }
    return Py_BuildValue("II((dKdd)(dKdd))", live, places, mean_interval(PYTHON_SMALL), (unsigned long long)python.taken,
                         python.bytes, python.blocks, mean_interval(C_SMALL), (unsigned long long)c.taken,
                         c.bytes, c.blocks);
}

PyDoc_STRVAR(small_blocks_doc,
"small_blocks()\n--\n\n"
"Return how many small blocks of Python were handed out while these were recorded, estimated.");

static PyObject *
births_small_blocks(PyObject *module, PyObject *unused)
{
    int locked = enter();
    double blocks = small_blocks;
    if (locked) {
        leave();
    }
    return PyFloat_FromDouble(blocks);
}

PyDoc_STRVAR(record_small_doc,
"record_small(one_in)\n--\n\n"
"Record Python's small blocks, or do not for 0, from here on; return whether they are recorded.\n\n"
"They are recorded in one of so many rounds, which is chosen at random. Where another tool\n"
"stands in the allocators nothing changes, so that each round is recorded, or none.");

static PyObject *
births_record_small(PyObject *module, PyObject *rounds)
{
    long one_in = PyLong_AsLong(rounds);
    if (PyErr_Occurred() || !is_main()) {
        return NULL;
    }
    wrap_small(one_in > 0 && *recording);
    small_one_in = one_in > 0 && small_is_ours() ? (uint8_t)(one_in < UINT8_MAX ? one_in : UINT8_MAX) : 1;
    return PyBool_FromLong(small_is_recorded && *recording);
}

PyDoc_STRVAR(stop_doc, "stop()\n--\n\nEnd the record; what stands in the allocators passes on from now.");

static PyObject *
births_stop(PyObject *module, PyObject *unused)
{
    if (!is_main()) {
        return NULL;
    }
    stop_record();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(leave_copy_doc,
"leave_copy()\n--\n\n"
"Switch the record off in a copy of the process, without a lock.\n\n"
"A kernel does so by itself in every copy and child (MADV_WIPEONFORK); this says it once more.");

static PyObject *
births_leave_copy(PyObject *module, PyObject *unused)
{
    *recording = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", births_start, METH_VARARGS, start_doc},
    {"mark", (PyCFunction)(void (*)(void))births_mark, METH_FASTCALL, mark_doc},
    {"hush", births_hush, METH_O, hush_doc},
    {"check", births_check, METH_O, check_doc},
    {"cohorts", births_cohorts, METH_O, cohorts_doc},
    {"survivors", births_survivors, METH_VARARGS, survivors_doc},
    {"show_pools", births_show_pools, METH_O, show_pools_doc},
    {"memory", births_memory, METH_NOARGS, memory_doc},
    {"figures", births_figures, METH_NOARGS, figures_doc},
    {"small_blocks", births_small_blocks, METH_NOARGS, small_blocks_doc},
    {"record_small", births_record_small, METH_O, record_small_doc},
    {"stop", births_stop, METH_NOARGS, stop_doc},
    {"leave_copy", births_leave_copy, METH_NOARGS, leave_copy_doc},
    {NULL, NULL, 0, NULL},
};

static int
births_exec(PyObject *module)
{
    return PyModule_AddIntConstant(module, "INTERFACE", RECORD_INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, births_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_births",
    .m_doc = "The sampled record of births.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__births(void)
{
    return PyModuleDef_Init(&definition);
}
