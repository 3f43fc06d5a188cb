/* A copy of the process, in which a look may do what would hurt the process itself.

   Made by a bare clone: no atfork handler runs (OpenBLAS and OpenMP would stop their pools, Python
   would make its threads new), and with no exit signal the program's wait() and SIGCHLD never hear
   of it. The price is that a lock which another thread held at that moment stays locked in the copy.
   The locks that a look would meet are dealt with here: the C allocator's (all blocks of Python come
   from a region of the copy's own; what was allocated before is never freed, so that no address of an
   object that a walk has seen is used again), and Python's,
   with the threads that queue for it (see forget_threads). Whoever meets another one hangs, and is
   ended by the alarm.

   Only with glibc since 2.25: before it, and in musl, the copy takes itself for the thread that it was
   made from, and its abort() would end the program. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "inside.h"
#include "scan.h"

#if defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define HAVE_COPY 1
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436 /* on all architectures but alpha */
#endif
#endif

#ifdef HAVE_COPY

/* ---- the region that Python's blocks come from in the copy ------------------------------------- */

/* Sizes are rounded up, small ones to 16 bytes, others to powers of two; what is freed waits in a list
   of its size. */
#define ROOM_HEADER ((size_t)16)
#define STEP ((size_t)16)
#define SMALL 512 /* bytes, the header included */
#define SMALL_SIZES (SMALL / 16 + 1)
#define SIZES (SMALL_SIZES + 38)

static struct {
    char *start, *next, *end;
    void *free[SIZES];
} region;

static size_t
size_index(size_t size)
{
    if (size <= SMALL) {
        return (size + STEP - 1) / STEP;
    }
    size_t index = SMALL_SIZES;
    while (((size_t)SMALL << (index - SMALL_SIZES + 1)) < size) {
        index++;
    }
    return index;
}

/* What blocks of a size have room for, the header included. */
static size_t
room_of(size_t index)
{
    return index < SMALL_SIZES ? index * STEP : (size_t)SMALL << (index - SMALL_SIZES + 1);
}

static int
is_in_region(const void *data)
{
    return (const char *)data >= region.start && (const char *)data < region.end;
}

static void *
region_malloc(void *context, size_t size)
{
    if (size > room_of(SIZES - 1) - ROOM_HEADER) {
        return NULL;
    }
    size_t index = size_index((size ? size : 1) + ROOM_HEADER);
    char *block = region.free[index];
    if (block != NULL) {
        region.free[index] = *(void **)(block + ROOM_HEADER);
    }
    else {
        if ((size_t)(region.end - region.next) < room_of(index)) {
            return NULL;
        }
        block = region.next;
        region.next += room_of(index);
    }
    *(size_t *)block = index;
    return block + ROOM_HEADER;
}

/* What the process had allocated before it was copied is left alone: its allocator may be locked. */
static void
region_free(void *context, void *data)
{
    if (data == NULL || !is_in_region(data)) {
        return;
    }
    char *block = (char *)data - ROOM_HEADER;
    size_t index = *(size_t *)block;
    *(void **)data = region.free[index];
    region.free[index] = block;
}

static void *
region_calloc(void *context, size_t count, size_t item)
{
    if (item && count > (size_t)PY_SSIZE_T_MAX / item) {
        return NULL;
    }
    void *data = region_malloc(context, count * item);
    return data == NULL ? NULL : memset(data, 0, count * item);
}

/* Copy a block of before, whose size is unknown: pymalloc does not tell it. What lies behind it is
   copied too, as far as the kernel says that it can be read. */
static int
copy_of_before(void *moved, void *data, size_t size)
{
    struct iovec own = {moved, size}, theirs = {data, size};
    return process_vm_readv(getpid(), &own, 1, &theirs, 1, 0) > 0 ? 0 : -1;
}

static void *
region_realloc(void *context, void *data, size_t size)
{
    if (data == NULL) {
        return region_malloc(context, size);
    }
    if (!is_in_region(data)) {
        void *moved = region_malloc(context, size);
        return moved == NULL || (size && copy_of_before(moved, data, size) < 0) ? NULL : moved;
    }
    size_t before = room_of(*(size_t *)((char *)data - ROOM_HEADER)) - ROOM_HEADER;
    if (size <= before) {
        return data;
    }
    void *moved = region_malloc(context, size);
    if (moved != NULL) {
        memcpy(moved, data, before);
        region_free(context, data);
    }
    return moved;
}

/* tracemalloc and the like, which stand before the allocators, see no block of the copy. */
static int
use_region(size_t most)
{
    void *start = mmap(NULL, most, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return -1;
    }
    region.start = region.next = start;
    region.end = region.start + most;
    PyMemAllocatorEx allocator = {NULL, region_malloc, region_calloc, region_realloc, region_free};
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &allocator);
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &allocator);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
    return 0;
}

/* ---- the copy ---------------------------------------------------------------------------------- */

static void
limit_to(int resource, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)) {
        limit.rlim_cur = most;
        (void)setrlimit(resource, &limit);
    }
}

/* A limit of one byte leaves no core: one of none would still feed a program that takes cores. */
static void
leave_no_core(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
}

/* What getdents64 writes; the C library's way to it allocates. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char kind;
    char name[];
};

/* Close, on kernels before 5.9, what /proc names. */
static int
close_listed_files(void)
{
    _Alignas(struct entry) char room[4096];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long filled = -1;
    while (folder >= 0 && (filled = syscall(SYS_getdents64, folder, room, sizeof(room))) > 0) {
        for (long at = 0; at < filled; at += ((struct entry *)(room + at))->length) {
            const char *name = ((struct entry *)(room + at))->name;
            int fd = name[0] == '.' ? folder : atoi(name);
            if (fd != folder) {
                (void)close(fd);
            }
        }
    }
    return folder < 0 || filled < 0 ? -1 : close(folder);
}

/* Have no files: while a copy has them open, a pipe that the program closes does not end, a port stays
   taken, a lock stays held, a program that was just written cannot be started, and what is written to
   them arrives twice. So the copy is made with the very table of the process, and leaves it for an
   empty one: there is no moment in which both have a file open. Before 5.9 there is such a moment. */
static int
leave_files(void)
{
    if (syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE) != 0 &&
        (unshare(CLONE_FILES) != 0 || close_listed_files() < 0)) {
        return -1;
    }
    for (int fd = 0; fd < 3; fd++) {
        (void)!open("/dev/null", O_RDWR);
    }
    return 0;
}

static void
set_timer(int which, double seconds)
{
    struct itimerval timer = {.it_value = {(time_t)seconds,
                                           (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    setitimer(which, &timer, NULL);
}

/* Cut the copy off: it says nothing, has no file of the program's, leaves no core, dies with its
   parent, when its time of CPU or on the clock is up, and first where memory runs out. Of all signals
   that can be held back only those two reach it. */
static int
seclude(size_t most, rlim_t address_space, double seconds, double longest)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (leave_files() < 0) {
        return -1;
    }
    struct sigaction plain = {.sa_handler = SIG_DFL};
    const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT,
                          SIGTRAP, SIGSYS, SIGALRM, SIGPROF};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++) {
        sigaction(deadly[i], &plain, NULL);
    }
    sigset_t late;
    sigemptyset(&late);
    sigaddset(&late, SIGALRM);
    sigaddset(&late, SIGPROF);
    sigprocmask(SIG_UNBLOCK, &late, NULL);
    set_timer(ITIMER_PROF, seconds);
    set_timer(ITIMER_REAL, longest);
    leave_no_core();
    if (address_space) {
        limit_to(RLIMIT_AS, address_space);
    }
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        ssize_t written = write(score, "1000", 4);
        (void)written;
        (void)close(score);
    }
    return most ? use_region(most) : 0;
}

/* Let a thread that waits for Python's lock have it: its request would be pending in the copy too,
   and the copy would wait for a thread that it does not have. */
static void
serve_request(void)
{
    Py_BEGIN_ALLOW_THREADS
    sched_yield();
    Py_END_ALLOW_THREADS
}

/* Forget, in the copy, the threads that want Python's lock: they are not here. One may have asked for
   it since, and all of them stand in the queue of the lock's condition, whose mutex one may just have
   held: whoever lets go of the lock would sooner or later wait for them. */
static void
forget_threads(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState_Get()->eval_breaker &= ~(uintptr_t)1;
#elif defined(HAVE_INSIDE)
    _Py_atomic_store_relaxed(&PyInterpreterState_Get()->ceval.gil_drop_request, 0);
#endif
#ifdef HAVE_INSIDE
    pthread_condattr_t by_clock;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&PYTHON_LOCK->mutex, NULL);
    pthread_cond_init(&PYTHON_LOCK->cond, &by_clock);
#endif
}

/* Return whether the C library asks the kernel which process and thread this is, see the top. */
static int
knows_itself(void)
{
    int major = 0, minor = 0;
    return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2
           && (major > 2 || (major == 2 && minor >= 25));
}

/* Do the work in the copy. It ends here whatever the work does: were it to return into the
   interpreter, there would be a second program. */
static void
work_and_end(PyObject *work, size_t most, size_t address_space, double seconds, double longest)
{
    if (seclude(most, (rlim_t)address_space, seconds, longest) < 0) {
        _exit(1);
    }
    forget_threads();
    (void)PyObject_CallNoArgs(work);
    _exit(0);
}

/* Handle the signals that have come: a handler of the program must not run in the copy as well. It
   is done before they are held back, since what a handler starts would hold them back for ever, and
   once more for the one that came between. */
static int
hold_signals_back(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    if (PyErr_CheckSignals() < 0) {
        return -1;
    }
    pthread_sigmask(SIG_SETMASK, &all, before);
    if (PyErr_CheckSignals() < 0) {
        pthread_sigmask(SIG_SETMASK, before, NULL);
        return -1;
    }
    return 0;
}

#endif

PyDoc_STRVAR(copy_process_doc,
"copy_process(most, address_space, seconds, longest, work)\n--\n\n"
"Have a copy of this process call ``work`` and end; return its number.\n\n"
"It may use ``most`` bytes for Python's larger blocks (0 leaves them with the C library, whose lock\n"
"may be held for ever there) and this much address space in all (0 for any), and is ended after so\n"
"many ``seconds`` of CPU, or after the ``longest`` on the clock. It has none of the process's files.\n"
"Only waitpid with __WCLONE hears of its end.");

static PyObject *
copy_process(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError,
                        "copy_process takes bytes, bytes, seconds, seconds and a callable");
        return NULL;
    }
    size_t most = PyLong_AsSize_t(args[0]), address_space = PyLong_AsSize_t(args[1]);
    double seconds = PyFloat_AsDouble(args[2]), longest = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
#ifdef HAVE_COPY
    if (!knows_itself()) {
        PyErr_SetString(PyExc_OSError, "processes are copied with glibc since 2.25 only");
        return NULL;
    }
    sigset_t before;
    serve_request();
    if (hold_signals_back(&before) < 0) {
        return NULL;
    }
    long made = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
    if (made == 0) {
        work_and_end(args[4], most, address_space, seconds, longest);
    }
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made < 0) {
        errno = reason;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyLong_FromLong(made);
#else
    (void)most, (void)address_space, (void)seconds, (void)longest, (void)module;
    PyErr_SetString(PyExc_OSError, "processes are copied on Linux with glibc only");
    return NULL;
#endif
}

#ifdef HAVE_COPY
/* How often a copy is asked whether it has ended, in nanoseconds: at first, and later. */
#define FIRST_INTERVAL 300000L
#define LAST_INTERVAL 2000000L

static int
has_ended(pid_t number)
{
    siginfo_t told = {0};
    int failed = waitid(P_PID, (id_t)number, &told, WEXITED | WNOHANG | WNOWAIT | __WCLONE);
    return failed ? errno != EINTR : told.si_pid == number;
}
#endif

PyDoc_STRVAR(is_over_doc,
"is_over(number, seconds)\n--\n\n"
"Wait so many seconds at most; return whether a copy has ended, which is not reaped by this.\n\n"
"Other threads run meanwhile. Nothing is allocated, so that it does not set off the collector.");

static PyObject *
is_over(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "is_over takes a number and seconds");
        return NULL;
    }
    long number = PyLong_AsLong(args[0]);
    double seconds = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred()) {
        return NULL;
    }
#ifdef HAVE_COPY
    double waited = 0;
    for (long interval = FIRST_INTERVAL;; interval += interval < LAST_INTERVAL ? interval / 2 : 0) {
        if (has_ended((pid_t)number)) {
            Py_RETURN_TRUE;
        }
        if (waited >= seconds) {
            Py_RETURN_FALSE;
        }
        struct timespec time = {0, interval};
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&time, NULL);
        Py_END_ALLOW_THREADS
        waited += (double)interval * 1e-9;
        if (PyErr_CheckSignals() < 0) {
            return NULL;
        }
    }
#else
    (void)number, (void)seconds, (void)module;
    Py_RETURN_TRUE;
#endif
}

PyMethodDef copy_functions[] = {
    {"is_over", (PyCFunction)(void (*)(void))is_over, METH_FASTCALL, is_over_doc},
    {"copy_process", (PyCFunction)(void (*)(void))copy_process, METH_FASTCALL, copy_process_doc},
    {NULL, NULL, 0, NULL},
};
