/* A thread that reads a few numbers of the kernel and has Python called once one passes its bound.

   It is a thread of the system alone: Python does not know it, so that it is none of those that the
   program counts, joins or walks, and it does not need Python's lock to read. All signals are held
   back in it. When a bound is passed it asks the main thread to call a function between two
   instructions. If that does not happen for a while (the main thread waits for another one), it
   calls the function itself. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Checksum (31 bits) of _tripwire.pyi; see compiled_part.py. */
#define INTERFACE 0x3d1b8edc

#define MOST_WIRES 24
#define LONGEST_PATH 512
/* Seconds that the main thread has to call the function. */
#define PATIENCE 0.3

typedef struct {
    char path[LONGEST_PATH];
    int which; /* number of the file, from 0 */
    long long bound;
    int below; /* whether the bound is passed downwards */
} Wire;

static Wire wires[MOST_WIRES];
static int wire_count;
static double interval, until_asked; /* seconds between two readings, and until it trips anyway; 0: never */
static PyObject *callback;
static pthread_t thread;
static pid_t home;
static int is_running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int stops, armed, asked;

static int
is_passed(const Wire *wire)
{
    char text[1024];
    int file = open(wire->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t length = read(file, text, sizeof(text) - 1);
    (void)close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *at = text;
    for (int number = 0;; number++) {
        while (*at && (*at < '0' || *at > '9')) {
            at++;
        }
        if (!*at) {
            return 0;
        }
        if (number == wire->which) {
            long long value = strtoll(at, NULL, 10);
            return wire->below ? value < wire->bound : value > wire->bound;
        }
        while (*at >= '0' && *at <= '9') {
            at++;
        }
    }
}

/* Call the function, with Python's lock. What fails for want of room is ours and stays here; what a
   handler of the program's signals raises is the program's. */
static int
call(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    int wanted = asked && callback != NULL;
    asked = 0;
    PyObject *function = wanted ? Py_NewRef(callback) : NULL;
    pthread_mutex_unlock(&lock);
    if (!wanted) {
        return 0;
    }
    PyObject *result = PyObject_CallNoArgs(function);
    Py_DECREF(function);
    if (result == NULL) {
        if (PyErr_ExceptionMatches(PyExc_RecursionError) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
            PyErr_Clear();
            return 0;
        }
        return -1;
    }
    Py_DECREF(result);
    return 0;
}

/* Wait so many seconds, or until something changed; the lock is held. */
static void
wait_for(double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double whole = (double)end.tv_sec + (double)end.tv_nsec * 1e-9 + seconds;
    end.tv_sec = (time_t)whole;
    end.tv_nsec = (long)((whole - (double)end.tv_sec) * 1e9);
    (void)pthread_cond_timedwait(&changed, &lock, &end);
}

static void *
watch(void *unused)
{
    Wire copies[MOST_WIRES];
    double waited = 0;
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!stops) {
        if (!armed) {
            waited = 0;
            wait_for(3600);
            continue;
        }
        double pause = interval;
        wait_for(pause);
        if (stops || !armed) {
            continue;
        }
        waited += pause;
        int count = wire_count, trips = until_asked > 0 && waited >= until_asked;
        memcpy(copies, wires, sizeof(Wire) * (size_t)count);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < count && !trips; i++) {
            trips = is_passed(&copies[i]);
        }
        int told = trips;
        pthread_mutex_lock(&lock);
        if (!trips || stops || !armed) {
            continue;
        }
        armed = 0;
        asked = 1;
        waited = 0;
        pthread_mutex_unlock(&lock);
        if (Py_AddPendingCall(call, NULL) < 0) {
            told = 0;
        }
        pthread_mutex_lock(&lock);
        if (told && asked) { /* it may have been called already */
            wait_for(PATIENCE);
        }
        if (asked && !stops) {
            pthread_mutex_unlock(&lock);
            PyGILState_STATE state = PyGILState_Ensure();
            if (call(NULL) < 0) {
                PyErr_Clear();
            }
            PyGILState_Release(state);
            pthread_mutex_lock(&lock);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static PyObject *
start(PyObject *module, PyObject *function)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_condattr_t by_clock;
    (void)module;
    if (is_running && home == getpid()) {
        PyErr_SetString(PyExc_OSError, "another guard listens");
        return NULL;
    }
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &by_clock);
    pthread_mutex_init(&lock, NULL);
    stops = armed = asked = 0;
    home = getpid();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20); /* Python is called in it */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_XSETREF(callback, Py_NewRef(function));
    is_running = 1;
    Py_RETURN_NONE;
}

static PyObject *
arm(PyObject *module, PyObject *args)
{
    PyObject *listed;
    double every, at_latest;
    Wire read[MOST_WIRES];
    (void)module;
    if (!PyArg_ParseTuple(args, "O!dd", &PyList_Type, &listed, &every, &at_latest)) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(listed) < MOST_WIRES ? PyList_GET_SIZE(listed) : MOST_WIRES;
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *path;
        Wire *wire = &read[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(listed, i), "siLp", &path, &wire->which, &wire->bound,
                              &wire->below)) {
            return NULL;
        }
        if (strlen(path) >= LONGEST_PATH) {
            PyErr_SetString(PyExc_ValueError, "a path is too long");
            return NULL;
        }
        strcpy(wire->path, path);
    }
    pthread_mutex_lock(&lock);
    memcpy(wires, read, sizeof(Wire) * (size_t)count);
    wire_count = (int)count;
    interval = every;
    until_asked = at_latest;
    armed = 1;
    if (is_running) {
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&lock);
    Py_RETURN_NONE;
}

static PyObject *
stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (!is_running || home != getpid()) { /* a forked child has no such thread */
        is_running = 0;
        Py_RETURN_NONE;
    }
    pthread_mutex_lock(&lock);
    stops = 1;
    asked = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (!pthread_equal(pthread_self(), thread)) {
        Py_BEGIN_ALLOW_THREADS
        pthread_join(thread, NULL);
        Py_END_ALLOW_THREADS
    }
    is_running = 0;
    Py_CLEAR(callback);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"start", start, METH_O, "Start the thread; it calls the function each time it was armed and tripped."},
    {"arm", arm, METH_VARARGS,
     "Trip once one of (path, number, bound, downwards) is passed, or after so many seconds."},
    {"stop", stop, METH_NOARGS, "End the thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "leakguard.live._tripwire",
    "A thread of the system that has Python called when memory passes a bound.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__tripwire(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
