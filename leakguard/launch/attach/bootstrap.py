"""What runs in the target: a thread that waits for orders, and copies the process to do them.

The text of this file is run there by itself, with a call of ``begin`` added to it. Of leakguard it
imports nothing, and of the standard library what is compiled into the interpreter, and ``ctypes``.
A look is taken in a copy of the process, made by a bare ``clone`` as in ``capture.heap``: no
handler of ``os.fork`` runs, ``wait()`` and SIGCHLD never hear of it, and it has none of the
program's files. The copy imports leakguard, writes its answer into a file, and is gone.

The thread is not one of ``threading`` and takes no signals. It leaves when it is told to, or when
the other end of its pipe is closed, which the kernel does for whoever is killed; then it takes its
folder away, which nobody else will.
"""

import _signal  # type: ignore[import-not-found]
import _thread
import _tracemalloc
import gc
import posix
import sys
import time

TYPE_CHECKING = False  # nothing is imported for it
if TYPE_CHECKING:
    import ctypes

# Seconds to be connected to; and from one question whether a copy has ended to the next.
_UNTIL_CONNECTED, _FIRST_PAUSE, _LAST_PAUSE = 10.0, 0.002, 0.05
# Seconds for which a copy may sleep: then it waits for a lock of a thread that it does not have.
_LONGEST_SLEEP = 1.0
# Seconds of the clock for each of CPU time, and more: on a busy machine.
_CROWD, _GRACE = 8.0, 10.0
# Source: <linux/sched.h>, <linux/wait.h>, <linux/prctl.h>, <sys/resource.h>, unistd.h.
_CLONE_FILES, _WCLONE, _DIE_WITH_PARENT, _UNSHARE_TABLE = 0x400, -0x80000000, 1, 2
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLOSE_RANGE, _NO_FILE = 436, 0xFFFFFFFF
_CONDITION, _MUTEX, _MONOTONIC = 32, 80, 1


def begin(folder: str, lock: tuple[int, int, int]) -> None:
    """Start the thread; called in the middle of the program, so it does no more.

    ``lock`` says where Python's lock is: the addresses of the lock and of the request to let go of
    it, and the distance of the latter in a thread's state where it is there; 0 where not known.
    """
    _thread.start_new_thread(_serve, (folder, lock))


def _serve(folder: str, lock: tuple[int, int, int]) -> None:
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    ask = answer = -1
    told = False
    try:
        ask = posix.open(folder + "/ask", posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
        answer = posix.open(folder + "/answer", posix.O_WRONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
        order = _first(ask)
        posix.set_blocking(ask, True)
        posix.set_blocking(answer, True)
        told = _carry_out(folder, lock, ask, answer, order)
    except BaseException:  # nobody is there to be told, and the program is not to hear of it
        pass
    finally:
        for descriptor in (ask, answer):
            if descriptor >= 0:
                posix.close(descriptor)
        if not told:
            _remove(folder)
        globals().clear()  # functions and their globals hold each other until a collection


def _first(ask: int) -> bytes:
    """Wait for the first order: nobody may have come yet."""
    deadline = time.monotonic() + _UNTIL_CONNECTED
    while time.monotonic() < deadline:
        try:
            order = posix.read(ask, 256)
        except BlockingIOError:
            order = b""
        if order:
            return order
        time.sleep(_FIRST_PAUSE)
    return b""


def _carry_out(
    folder: str, lock: tuple[int, int, int], ask: int, answer: int, order: bytes
) -> bool:
    """Do what is ordered; return whether the last order was to leave."""
    traces = False
    try:
        while order and order != b"leave":
            word, *rest = order.decode().split()
            said = "ok"
            if word == "look":
                said = _look(folder, lock, float(rest[0]))
            elif word == "trace":
                traces = not _tracemalloc.is_tracing()
                if traces:
                    _tracemalloc.start(int(rest[0]))
            elif word == "untrace" and traces:
                traces = False
                _tracemalloc.stop()
            posix.write(answer, said.encode() + b"\n")
            order = posix.read(ask, 256)
        return bool(order)
    finally:
        if traces:
            _tracemalloc.stop()


def _look(folder: str, lock: tuple[int, int, int], seconds: float) -> str:
    """Have a copy answer the question in the folder; say how that ended and what it cost."""
    import ctypes

    library = ctypes.PyDLL(None)  # keeps Python's lock: nothing happens between two calls
    time.sleep(0)  # whoever waits for the lock had it, and asks for it anew
    began = time.perf_counter()
    copy = _copied(library, lock)
    if copy == 0:
        try:
            _be_a_copy(library, folder, lock, seconds)
        finally:
            posix._exit(1)
    stood = time.perf_counter() - began
    if copy < 0:
        return f"refused 0 {stood:f}"
    how, used = _ended(copy, _CROWD * seconds + _GRACE)
    return f"{how} {used:f} {stood:f}"


def _copied(library: "ctypes.PyDLL", lock: tuple[int, int, int]) -> int:
    """Copy the process; return the number of the copy, and 0 in the copy.

    Another thread may have asked for Python's lock by then. The copy would let go of it, and wait
    for a thread that it does not have to take it, before its first instruction. So the request is
    taken back by the call that follows in C; the thread that has made it asks again in 5 ms.
    """
    import ctypes

    _, request, of_thread = lock
    size = 4
    if of_thread:
        library.PyThreadState_Get.restype = ctypes.c_size_t
        request, size = library.PyThreadState_Get() + of_thread, 1
    clone = (_CLONE[posix.uname().machine], _files(library), 0, 0, 0, 0)
    forget = (request, 0, size, 0, 0, 0)  # what is too much is not looked at
    calls = [(library.syscall, clone), (library.memset, forget)][: 2 if request else 1]
    values = zip(*([ctypes.c_long(value) for value in given] for _, given in calls), strict=True)
    call = type(library.syscall).__call__
    number, *_ = map(call, [function for function, _ in calls], *values)  # all in C
    return int(number)


def _files(library: "ctypes.PyDLL") -> int:
    """Return how a copy is made, so that no moment has two owners of a file where that can be.

    It shares the table of the process and leaves it in one step. Before Linux 5.9 there is no such
    step, and it has a table of its own from the beginning.
    """
    can_leave = library.syscall(_CLOSE_RANGE, _NO_FILE, _NO_FILE, 0) == 0
    return _CLONE_FILES if can_leave else 0


def _leave_files(library: "ctypes.PyDLL") -> None:
    if not _files(library):
        for name in posix.listdir("/proc/self/fd"):
            try:
                posix.close(int(name))
            except OSError:  # what listed them
                continue
    elif library.syscall(_CLOSE_RANGE, 0, _NO_FILE, _UNSHARE_TABLE):
        posix._exit(2)
    for _ in range(3):
        posix.open("/dev/null", posix.O_RDWR)


def _ended(copy: int, longest: float) -> tuple[str, float]:
    """Wait for the end of a copy; return how it came, and its CPU time."""
    deadline, slept, pause, how = time.monotonic() + longest, 0.0, _FIRST_PAUSE, ""
    while True:
        ended, status, usage = posix.wait4(copy, posix.WNOHANG | _WCLONE)
        if ended:
            used = usage.ru_utime + usage.ru_stime
            return how or ("done" if status == 0 else f"failed:{status}"), used
        slept = slept + pause if _sleeps(copy) else 0.0
        if not how and (slept > _LONGEST_SLEEP or time.monotonic() > deadline):
            how = "hung" if slept > _LONGEST_SLEEP else "late"
            posix.kill(copy, 9)
        time.sleep(pause)
        pause = min(pause * 1.5, _LAST_PAUSE)


def _sleeps(process: int) -> bool:
    try:
        file = posix.open(f"/proc/{process}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    try:
        return posix.read(file, 4096).rpartition(b")")[2].split()[:1] == [b"S"]
    finally:
        posix.close(file)


def _be_a_copy(
    library: "ctypes.PyDLL", folder: str, lock: tuple[int, int, int], seconds: float
) -> None:
    """Answer, in the copy: first of all nothing of the program may run here, nor wait for it."""
    gc.disable()
    _free_lock(library, lock)
    library.prctl(_DIE_WITH_PARENT, 9, 0, 0, 0)
    _leave_files(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "leakguard"]:
        del sys.modules[name]  # the program's own is another one, and knows that it has a guard
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = False
    from leakguard.launch.attach import sight

    sight.answer(folder, seconds)
    posix._exit(0)


def _free_lock(library: "ctypes.PyDLL", lock: tuple[int, int, int]) -> None:
    """Forget the threads that wait for Python's lock: they are not here.

    They stand in the queue of its condition, whose mutex one may just have held.
    """
    import ctypes

    gil, _, _ = lock
    if gil:
        by_clock = ctypes.create_string_buffer(64)
        library.pthread_condattr_init(by_clock)
        library.pthread_condattr_setclock(by_clock, _MONOTONIC)
        library.pthread_mutex_init(ctypes.c_void_p(gil + _MUTEX), None)
        library.pthread_cond_init(ctypes.c_void_p(gil + _CONDITION), by_clock)


def _remove(folder: str) -> None:
    """Take away the folder that was made for this thread; follow no links."""
    try:
        for name in posix.listdir(folder):
            path = folder + "/" + name
            try:
                posix.unlink(path)
            except OSError:
                _remove(path)
        posix.rmdir(folder)
    except OSError:
        pass
