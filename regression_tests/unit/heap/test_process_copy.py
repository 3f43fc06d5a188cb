"""A copy of the process works something out, and nothing that happens in it reaches the process."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import ENGINE, process_copy
from leakguard.capture.heap.process_copy import (
    CopyFailed,
    CopyRefused,
    ProcessCopy,
    fault_seconds,
)
from leakguard.capture.resources import child_processes

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)
MEMORY = 256_000_000


def _answer(work, *, seconds=30.0, memory=MEMORY):
    return ProcessCopy.begin(work, seconds=seconds, memory=memory).answer()


def test_crash_in_the_copy_is_told_as_one():
    with pytest.raises(CopyFailed, match="SIGSEGV") as caught:
        _answer(lambda: ctypes.string_at(0))

    assert caught.value.crashed


def _spin():
    while True:
        pass


def test_copy_that_takes_too_much_cpu_time_is_ended_by_its_own_timer():
    with pytest.raises(CopyFailed, match="too long") as caught:
        _answer(_spin, seconds=0.3)

    assert not caught.value.crashed
    assert not caught.value.hung


def test_copy_that_holds_its_timers_back_is_ended_from_here(monkeypatch):
    monkeypatch.setattr(process_copy, "_GRACE", 0.3)

    def hang():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
        _spin()

    copy = ProcessCopy.begin(hang, seconds=0.1, memory=MEMORY)
    with pytest.raises(CopyFailed, match="too long"):
        copy.answer()

    assert copy.number not in process_copy.at_work


def test_interrupt_of_the_program_ends_the_copy_that_is_waited_for():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    copy = ProcessCopy.begin(_spin, seconds=60, memory=MEMORY)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            copy.answer()
    finally:
        signal.signal(signal.SIGALRM, before)

    assert copy.number not in process_copy.at_work


def test_memory_that_runs_out_in_the_copy_is_a_reason():
    with pytest.raises(CopyFailed, match="MemoryError"):
        _answer(lambda: bytes(len([bytes(10_000) for _ in range(100_000)])))


def test_answer_that_is_too_long_is_refused():
    with pytest.raises(CopyFailed, match="too long"):
        _answer(lambda: bytes(20_000_000))


def test_torn_answer_is_none():
    def work():
        os._exit(0)

    with pytest.raises(CopyFailed, match="is incomplete"):
        _answer(work)


def test_error_in_the_copy_is_told_in_its_words():
    def fail():
        raise ValueError("no such thing")

    with pytest.raises(CopyFailed, match="ValueError: no such thing"):
        _answer(fail)


def _busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_program_never_hears_of_the_copy():
    heard = []
    before = signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    try:
        copy = ProcessCopy.begin(lambda: _busy(0.2) or b"done", seconds=30, memory=MEMORY)
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        assert child_processes() == {"children": 0}
        assert copy.answer() == b"done"
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert heard == []


def test_atfork_handlers_do_not_run_in_the_copy():
    seen = []
    os.register_at_fork(after_in_child=lambda: seen.append(1), before=lambda: seen.append(1))

    assert _answer(lambda: b"%d" % len(seen)) == b"0"
    assert seen == []


def test_what_the_copy_prints_reaches_nobody(capfd):
    _answer(lambda: os.write(1, b"out") and os.write(2, b"err") and b"")

    assert capfd.readouterr() == ("", "")


def test_threads_that_want_the_interpreter_do_not_hang_the_copy():
    """They stand in the queue of its lock, in the copy too, where nobody of them comes."""
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(500))
            bytes(100_000)

    def let_go_often():
        for _ in range(50):
            Path("/").stat()
        return b"%d" % heap.census().census.objects

    threads = [threading.Thread(target=spin) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert _answer(let_go_often)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_lock_that_another_thread_holds_ends_the_copy_and_nothing_else():
    lock, held, done = threading.Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    try:
        with pytest.raises(CopyFailed, match="waited for a lock") as caught:
            _answer(lambda: b"taken" if lock.acquire() else b"")
        assert caught.value.hung
    finally:
        done.set()
        holder.join()

    assert not lock.locked()
    assert _answer(lambda: b"taken" if lock.acquire() else b"") == b"taken"


def test_lock_of_the_allocator_that_another_thread_holds_is_not_waited_for():
    """``malloc_trim`` holds it while it goes through all that is free, without Python's lock."""
    library, stop, trims = ctypes.CDLL(None), threading.Event(), []
    if not hasattr(library, "malloc_trim"):
        pytest.skip("the C library has no malloc_trim")
    pieces = [bytes(2_000) for _ in range(100_000)]
    del pieces[::2]  # holes to go through

    def trim():
        while not stop.is_set():
            trims.append(library.malloc_trim(0))

    trimmer = threading.Thread(target=trim)
    trimmer.start()
    try:
        told = [_answer(lambda: b"%d" % heap.census().census.objects) for _ in range(5)]
    finally:
        stop.set()
        trimmer.join()

    assert trims
    assert all(int(objects) > len(pieces) for objects in told)


def test_process_that_may_have_no_copy_is_told_why(monkeypatch):
    def refused(*_):
        raise OSError("Operation not permitted")

    monkeypatch.setattr(process_copy, "copy_process", refused)

    with pytest.raises(CopyRefused, match="not permitted"):
        ProcessCopy.begin(lambda: b"", seconds=1, memory=MEMORY)


@pytest.fixture
def copy_at_work():
    copies = []

    def begin():
        copies.append(ProcessCopy.begin(_spin, seconds=600, memory=MEMORY))
        return copies[-1]

    yield begin
    for copy in copies:
        copy.end()


def test_pipe_that_the_program_closes_ends_while_a_copy_works(copy_at_work):
    end, start = os.pipe()
    copy = copy_at_work()

    os.close(start)
    ended, _, _ = select.select([end], [], [], 60)

    assert ended
    assert os.read(end, 1) == b""
    assert Path(f"/proc/{copy.number}").exists()  # it is still at work
    os.close(end)


def test_lock_that_the_program_lets_go_of_is_free_while_a_copy_works(tmp_path, copy_at_work):
    held = (tmp_path / "lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    copy = copy_at_work()

    held.close()

    with (tmp_path / "lock").open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX)
    assert Path(f"/proc/{copy.number}").exists()  # it is still at work


def test_what_waits_in_a_buffer_is_not_written_by_the_copy(tmp_path):
    file = (tmp_path / "log").open("w")
    file.write("once")

    with pytest.raises(CopyFailed, match="Bad file descriptor"):
        _answer(lambda: file.flush() or b"")

    file.close()
    assert (tmp_path / "log").read_text() == "once"


# Files are closed one by one where the kernel has no close_range, as this process thinks.
WITHOUT_CLOSE_RANGE = """
    import ctypes, os, struct
    from leakguard.capture.heap.process_copy import ProcessCopy
    rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 436), (0x06, 0, 0, 0x00050026), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    if libc.prctl(22, 2, program, 0, 0):
        print("cannot be tried here")
        raise SystemExit
    files = [os.open("/dev/zero", os.O_RDONLY) for _ in range(500)]
    work = lambda: " ".join(sorted(os.listdir("/proc/self/fd"))).encode()
    print(ProcessCopy.begin(work, seconds=60, memory=256_000_000).answer().decode())
"""


def test_copy_closes_its_files_on_kernels_without_close_range():
    script = [sys.executable, "-c", textwrap.dedent(WITHOUT_CLOSE_RANGE)]
    told = subprocess.run(script, capture_output=True, text=True, check=True).stdout.strip()

    if told == "cannot be tried here":
        pytest.skip("no filter of system calls may be set here")
    assert told == "0 1 2 3"  # the last one lists them


def test_copy_never_goes_on_as_a_second_program():
    home, tracer = os.getpid(), sys.gettrace()

    def interrupt(*_):
        if os.getpid() != home:
            raise KeyboardInterrupt

    sys.settrace(interrupt)
    try:
        with pytest.raises(CopyFailed, match="is incomplete"):
            _answer(lambda: b"done")
    finally:
        sys.settrace(tracer)


def test_copy_that_does_not_go_is_not_waited_for(monkeypatch, copy_at_work):
    copy = copy_at_work()
    with monkeypatch.context() as patched:
        patched.setattr(process_copy, "_LONGEST_DEATH", 0.01)
        patched.setattr(process_copy, "wait4", lambda *_: (0, 0, None))
        copy.end()

        with pytest.raises(CopyFailed, match="SIGKILL"):
            copy.answer()
        assert copy.number in process_copy.at_work  # no child of the program's

    while copy.number in process_copy.at_work:
        assert _answer(lambda: b"done") == b"done"
    assert not Path(f"/proc/{copy.number}").exists()


def test_copies_leave_no_process_file_or_mapping():
    def traces():
        with open("/proc/self/maps", "rb") as maps:
            return len(list(Path("/proc/self/fd").iterdir())), maps.read().count(b"\n")

    _answer(lambda: b"done")
    files, mappings = traces()
    for _ in range(50):
        assert _answer(lambda: b"done") == b"done"
    after = traces()

    assert after[0] == files
    assert after[1] <= mappings + 10  # each copy would leave one
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG | process_copy._WCLONE)


def test_pages_that_are_written_again_after_a_copy_are_what_the_copy_cost():
    pages = 5_000
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        for page in range(pages):
            held[page * mmap.PAGESIZE] = 1
        _answer(lambda: b"done")
        before = fault_seconds()
        for page in range(pages):
            held[page * mmap.PAGESIZE] = 2
        written = fault_seconds() - before
        for page in range(pages):
            held[page * mmap.PAGESIZE] = 3
        again = fault_seconds() - before - written
    # A large page of the kernel's is one fault, so there may be fewer faults than pages.
    assert written > 0
    assert again <= written / 2


def test_program_that_was_just_written_can_be_started_while_copies_are_made(tmp_path):
    """It could not where a copy had the file open for a moment: "text file busy"."""
    program, refused, done = tmp_path / "program", [], threading.Event()

    def write_and_start():
        for _ in range(40):
            program.write_text("#!/bin/sh\n")
            program.chmod(0o700)
            try:
                subprocess.run([program], check=True)
            except OSError as error:
                refused.append(error)
        done.set()

    writer = threading.Thread(target=write_and_start)
    writer.start()
    while not done.is_set():
        _answer(lambda: b"done")
    writer.join()

    assert refused == []
