"""What runs in the target: a thread that answers requests, and copies the process for each look.

The target runs the text of ``live.protocol`` and of this file, with a call of ``begin`` appended.
The text imports nothing of leakguard. Of the standard library it imports ``ctypes``, ``json`` and
modules that are compiled. A look is taken in a copy of the process, made by a bare ``clone`` as in
``capture.heap``. So no handler of ``os.fork`` runs, the program gets no SIGCHLD for the copy and
cannot ``wait()`` for it, and the copy has none of the program's open files. The copy imports
leakguard, writes its answer into a file, and exits; the thread sends what is in that file.

The thread is unknown to ``threading`` and blocks all signals. It answers one caller, on a socket in
a folder that only the target's user can enter. It ends when it is asked to leave, or when the
caller hangs up. The kernel does so if the process of
``leakguard attach`` is killed. Then the thread removes its folder, because no other process does.

On request the thread loads one compiled part of leakguard, which samples births until the thread
ends. The part stays loaded, because other threads may be in it.
"""

import _imp
import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import _tracemalloc
import gc
import posix
import sys
import time

TYPE_CHECKING = False  # defined here, so that the target need not import ``typing``
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator
    from typing import Any

    from leakguard.live.protocol import receive, send

#: The names of the socket, and of the file with what a copy answers.
SOCKET, ANSWER = "socket", "answer.json"
# The thread waits ``_UNTIL_CONNECTED`` seconds for its caller. The pauses between checks whether a
# copy has ended grow from ``_FIRST_PAUSE`` to ``_LAST_PAUSE`` seconds. Chosen.
_UNTIL_CONNECTED, _FIRST_PAUSE, _LAST_PAUSE = 10.0, 0.002, 0.05
# A copy that sleeps for this many consecutive seconds is assumed to hang, and is killed. A copy has
# only one thread, so it waits forever for a lock that another thread of the target held. Chosen.
_LONGEST_SLEEP = 1.0
# A copy may take ``_CROWD`` seconds of wall time per allowed CPU second, plus ``_GRACE`` seconds.
# Chosen: enough on a machine with eight times as many runnable threads as cores.
_CROWD, _GRACE = 8.0, 10.0
# Numbers of the Linux interface: the flag of ``clone`` that shares the table of open files
# (<linux/sched.h>), the option of ``wait4`` for children without SIGCHLD (<linux/wait.h>), the
# request PR_SET_PDEATHSIG (<linux/prctl.h>), and CLOSE_RANGE_UNSHARE (<linux/close_range.h>).
_CLONE_FILES, _WCLONE, _DIE_WITH_PARENT, _UNSHARE_TABLE = 0x400, -0x80000000, 1, 2
# Number of the system call ``clone`` for each machine (<asm/unistd.h>).
_CLONE = {"x86_64": 56, "aarch64": 220}
# Number of the system call ``close_range`` (<asm/unistd.h>), and the highest possible number of an
# open file.
_CLOSE_RANGE, _NO_FILE = 436, 0xFFFFFFFF
# Offsets in bytes from the start of the global interpreter lock: of its condition variable, and of
# the condition variable's mutex. ``queue_layout`` has the same two numbers, but cannot be imported
# here. ``_MONOTONIC`` is CLOCK_MONOTONIC (<time.h>).
_CONDITION, _MUTEX, _MONOTONIC = 32, 80, 1


def begin(folder: str, lock: tuple[int, int, int]) -> None:
    """Start the thread, and do nothing else, because the program is interrupted meanwhile.

    ``lock`` is the place of the global interpreter lock in the target: the address of the lock, the
    address of the request to release the lock, and the offset of this request in a thread's state.
    Of the last two, only one is nonzero: where the request is depends on the Python version. All
    three are 0 if they are unknown.
    """
    _thread.start_new_thread(_serve, (folder, lock))


def _serve(folder: str, lock: tuple[int, int, int]) -> None:
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    caller = None
    told = False
    try:
        caller = _called(folder + "/" + SOCKET)
        told = _answer_all(folder, lock, caller)
    except BaseException:  # no error message may appear in the program's output
        pass
    finally:
        if caller is not None:
            caller.close()
        if not told:
            _remove(folder)
        globals().clear()  # breaks the cycle of functions and globals, so that all are freed now


def _called(path: str) -> _socket.socket:
    """Wait for the one caller, at most ``_UNTIL_CONNECTED`` seconds; return the connection."""
    listening = _socket.socket(_socket.AF_UNIX)
    try:
        listening.bind(path)
        listening.listen(1)
        listening.settimeout(_UNTIL_CONNECTED)
        number, _ = listening._accept()  # type: ignore[attr-defined]
    finally:
        listening.close()
    caller = _socket.socket(fileno=number)
    caller.settimeout(None)  # the program may have set another default
    return caller


def _answer_all(folder: str, lock: tuple[int, int, int], caller: _socket.socket) -> bool:
    """Answer until the caller asks this thread to leave, and return True, or until it hangs up."""
    traces, births = False, None
    try:
        while True:
            request = receive(caller)
            word = request["ask"]
            if word == "leave":
                return True
            answer: dict[str, Any] = {"told": word}
            more: Iterator[bytes] = iter(())
            if word == "look":
                untrace = traces and request.get("untrace", False)
                traces = traces and not untrace
                answer = _look(folder, lock, request, untrace, births)
                if "problem" not in answer:
                    more = _pieces(folder + "/" + ANSWER)
            elif word == "trace":
                traces = not _tracemalloc.is_tracing()
                if traces:
                    _tracemalloc.start(request["frames"])
            elif word == "untrace" and traces:
                traces = False
                _tracemalloc.stop()
            elif word == "load births":
                births, answer["problem"] = _loaded(request)
            elif word == "record births" and births is not None:
                interval = request["interval"]
                answer["problem"] = births.start(interval, interval, request["seed"], True)
            elif word == "round" and births is not None:
                answer["problem"], answer["native_problem"], _ = births.check(True)
                births.mark(request["number"], 0)
            send(caller, {name: what for name, what in answer.items() if what is not None}, more)
    finally:
        if traces:
            _tracemalloc.stop()
        if births is not None:
            births.stop()


def _loaded(request: "dict[str, Any]") -> "tuple[Any, str | None]":
    """Return the compiled part that records births, or None and the reason.

    No module of the program can find it. What this thread allocates is not recorded. The record
    ends before the interpreter, which deletes the states of threads that still run.
    """
    if any(name.partition(".")[0] == "leakguard" for name in sys.modules):
        return None, "the process has leakguard of its own"
    spec = sys.modules["_frozen_importlib"].ModuleSpec("_births", None, origin=request["path"])
    try:
        births = _imp.create_dynamic(spec)
        _imp.exec_dynamic(births)
    except Exception as error:
        return None, str(error)
    if request["interface"] != births.INTERFACE:
        return None, "another leakguard has recorded births in the process"
    births.hush(True)
    if not request["again"]:
        import atexit

        atexit.register(births.stop)
    return births, None


def _pieces(path: str) -> "Iterator[bytes]":
    """Yield what is in a file, so that a long answer is never whole in the target's memory."""
    file = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    try:
        while piece := posix.read(file, 65_536):
            yield piece
    finally:
        posix.close(file)


def _look(
    folder: str,
    lock: tuple[int, int, int],
    request: "dict[str, Any]",
    untrace: bool,
    births: "Any | None",
) -> "dict[str, Any]":
    """Have a copy answer the question of a request into a file.

    With ``untrace``, the trace ends as soon as the copy is made, which has what was traced.

    Returns:
        The seconds of CPU time that the copy used, the seconds for which copying stopped the
        program, and, if there is no answer, how the copy ended.
    """
    import ctypes

    library = ctypes.PyDLL(None)  # its calls do not release the global interpreter lock
    seconds = request["seconds"]
    time.sleep(0)  # lets a thread that waits for the lock run first
    began = time.perf_counter()
    copy = _copied(library, lock)
    if copy == 0:
        try:
            _be_a_copy(library, folder, lock, births)
            _answer(folder, request["question"], seconds)
        finally:
            posix._exit(1)
    stood = time.perf_counter() - began
    if untrace:
        _tracemalloc.stop()
    how, used = ("refused", 0.0) if copy < 0 else _ended(copy, _CROWD * seconds + _GRACE)
    answer = {"used": used, "stood": stood}
    return answer if how == "done" else answer | {"problem": how}


def _copied(library: "ctypes.PyDLL", lock: tuple[int, int, int]) -> int:
    """Copy the process; return the process id of the copy, and 0 in the copy.

    Another thread may have requested the global interpreter lock before the copy is made. In the
    copy, the interpreter would release the lock before its next instruction, and wait until the
    requesting thread has taken the lock. The copy does not have this thread, so it would wait
    forever. Therefore ``memset`` erases the request directly after ``clone``: ``map`` makes both
    calls in C, with no Python instruction between them. In the target, the requesting thread
    repeats its request after 5 ms.
    """
    import ctypes

    _, request, of_thread = lock
    size = 4
    if of_thread:
        library.PyThreadState_Get.restype = ctypes.c_size_t
        request, size = library.PyThreadState_Get() + of_thread, 1
    clone = (_CLONE[posix.uname().machine], _files(library), 0, 0, 0, 0)
    forget = (request, 0, size, 0, 0, 0)  # memset ignores the last three
    calls = [(library.syscall, clone), (library.memset, forget)][: 2 if request else 1]
    values = zip(*([ctypes.c_long(value) for value in given] for _, given in calls), strict=True)
    call = type(library.syscall).__call__
    number, *_ = map(call, [function for function, _ in calls], *values)  # all in C
    return int(number)


def _files(library: "ctypes.PyDLL") -> int:
    """Return the flag of ``clone`` that decides which table of open files a copy has.

    From Linux 5.9 on, a copy first shares the table of the process, and leaves the table by one
    call of ``close_range``. So no open file ever has two owners. Older kernels do not have this
    call; there, a copy has its own table from the beginning, and closes the files one by one.
    """
    can_leave = library.syscall(_CLOSE_RANGE, _NO_FILE, _NO_FILE, 0) == 0
    return _CLONE_FILES if can_leave else 0


def _leave_files(library: "ctypes.PyDLL") -> None:
    if not _files(library):
        for name in posix.listdir("/proc/self/fd"):
            try:
                posix.close(int(name))
            except OSError:  # the folder that ``listdir`` had open
                continue
    elif library.syscall(_CLOSE_RANGE, 0, _NO_FILE, _UNSHARE_TABLE):
        posix._exit(2)
    for _ in range(3):
        posix.open("/dev/null", posix.O_RDWR)


def _ended(copy: int, longest: float) -> tuple[str, float]:
    """Wait until a copy ends, and kill it if it is late; return how it ended and its CPU time."""
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
    library: "ctypes.PyDLL", folder: str, lock: tuple[int, int, int], births: "Any | None"
) -> None:
    """Ensure that no code of the program runs in this copy, and that it waits for no thread.

    Then leakguard can be imported from the folder.
    """
    gc.disable()
    _free_lock(library, lock)
    library.prctl(_DIE_WITH_PARENT, 9, 0, 0, 0)
    _leave_files(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "leakguard"]:
        del sys.modules[name]  # of the program's own leakguard, which may have a running guard
    if births is not None:
        sys.modules["leakguard.capture.births._births"] = births
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = False


def _answer(folder: str, question: "dict[str, Any]", seconds: float) -> None:
    """Answer the question and exit; runs in the copy."""
    from leakguard.launch.attach import sight

    sight.answer(folder, question, ANSWER, seconds)
    posix._exit(0)


def _free_lock(library: "ctypes.PyDLL", lock: tuple[int, int, int]) -> None:
    """Make the copy forget the threads that wait for the global interpreter lock.

    The copy does not have these threads. They wait at the lock's condition variable, and one of
    them may have held its mutex when the copy was made. So both are initialised anew.
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
    """Remove the folder that was made for this thread; follow no links."""
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
