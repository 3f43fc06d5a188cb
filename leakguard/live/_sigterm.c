/* A SIGTERM handler in Python that nothing can hold up.

   A handler in Python must wait until the main thread's call of C code returns, and for locks. So a
   handler in C comes first: it sets a timer and then calls Python's. If the process still exists
   when the time is up, the signal ends it, as it would have at once without a handler. The handler
   in C may only call the functions listed in signal-safety(7). */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Checksum (31 bits) of _sigterm.pyi; see compiled_part.py. */
#define INTERFACE 0x4c762f91

/* A second signal after so long ends the process; timeout(1) sends two signals at once. */
#define AGAIN_SECONDS 1.0

static pid_t home; /* the process that listens; 0 if none does */
static timer_t limit;
static struct itimerspec patience;
static struct sigaction told; /* Python's own handler in C, which has the one in Python called */
static volatile sig_atomic_t asked;
static struct timespec asked_at;

static struct itimerspec
after(double seconds)
{
    struct itimerspec once = {{0, 0}, {(time_t)seconds, 0}};
    once.it_value.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9);
    return once;
}

static double
seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) * 1e-9;
}

static void
end_by(int number)
{
    struct sigaction none;
    sigset_t this_one;
    memset(&none, 0, sizeof none);
    none.sa_handler = SIG_DFL;
    sigaction(number, &none, NULL);
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
    raise(number);
}

static void
hear(int number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)context;
    if (getpid() != home) { /* a forked child or a copy, which is not watched */
        end_by(number);
    }
    else if (!asked) {
        asked = 1;
        clock_gettime(CLOCK_MONOTONIC, &asked_at);
        timer_settime(limit, 0, &patience, NULL);
        told.sa_handler(number);
    }
    else if (info->si_code == SI_TIMER || seconds_since(&asked_at) >= AGAIN_SECONDS) {
        end_by(number);
    }
    errno = error;
}

static PyObject *
is_default(PyObject *module, PyObject *unused)
{
    struct sigaction now;
    (void)module;
    (void)unused;
    return PyBool_FromLong(sigaction(SIGTERM, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
                           now.sa_handler == SIG_DFL);
}

static PyObject *
listen_first(PyObject *module, PyObject *seconds)
{
    struct sigaction first;
    struct sigevent again;
    (void)module;
    patience = after(PyFloat_AsDouble(seconds));
    if (PyErr_Occurred()) {
        return NULL;
    }
    memset(&again, 0, sizeof again);
    again.sigev_notify = SIGEV_SIGNAL;
    again.sigev_signo = SIGTERM;
    if (sigaction(SIGTERM, NULL, &told) < 0 ||
        timer_create(CLOCK_MONOTONIC, &again, &limit) < 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    asked = 0;
    home = getpid();
    first = told;
    first.sa_sigaction = hear;
    first.sa_flags |= SA_SIGINFO;
    if (sigaction(SIGTERM, &first, NULL) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        timer_delete(limit);
        home = 0;
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
end_within(PyObject *module, PyObject *seconds)
{
    (void)module;
    struct itimerspec once = after(PyFloat_AsDouble(seconds));
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (home == getpid() && timer_settime(limit, 0, &once, NULL) < 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static PyObject *
listen_no_more(PyObject *module, PyObject *unused)
{
    struct sigaction now;
    (void)module;
    (void)unused;
    if (home == getpid()) { /* a child has no such timer, but may have its own with this number */
        timer_delete(limit);
    }
    home = 0; /* a later handler that still calls this one gets the default */
    return PyBool_FromLong(sigaction(SIGTERM, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
                           now.sa_sigaction == hear);
}

static PyMethodDef functions[] = {
    {"is_default", is_default, METH_NOARGS, "Return whether nobody handles SIGTERM, in C neither."},
    {"listen_first", listen_first, METH_O,
     "Stand before Python's handler of SIGTERM: end the process so many seconds after it came."},
    {"end_within", end_within, METH_O, "End the process by SIGTERM in so many seconds from now."},
    {"listen_no_more", listen_no_more, METH_NOARGS,
     "Listen no more; return whether no other handler has taken the place."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "leakguard.live._sigterm",
    "SIGTERM heard by a handler of Python that nothing can hold up.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__sigterm(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
