"""A copy of the process works something out, and nothing that happens in it reaches the process."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import ENGINE, process_copy
from leakguard.capture.heap.copied_look import CopiedLook, decoded, encoded
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, ProcessCopy
from leakguard.capture.resources import child_processes

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)
MEMORY = 256_000_000


class Kept:
    """What the tests count."""


def _answer(work, *, seconds=30.0, memory=MEMORY, patience=60.0):
    return ProcessCopy.begin(work, seconds=seconds, memory=memory).answer(patience)


def test_copy_sees_the_process_as_it_was():
    kept = [Kept() for _ in range(1234)]
    here = heap.census().census.count(f"{__name__}.Kept")

    told = decoded(_answer(lambda: encoded(CopiedLook(heap.census())))).census.census

    assert told.count(f"{__name__}.Kept") == here == len(kept)


def test_holders_found_in_a_copy_are_those_found_here():
    kept = {"found": [Kept() for _ in range(500)]}
    memory = heap.inspect().memory
    kept["found"] += [Kept() for _ in range(500)]

    look = decoded(_answer(lambda: encoded(CopiedLook(heap.census(), heap.inspect(memory)))))
    here = heap.inspect(memory)

    assert look.found is not None
    mine = {path: growth.entries for path, growth in here.growing.items() if "kept" in path}
    assert mine
    assert {path: look.found.growing[path].entries for path in mine} == mine


def test_look_survives_its_way_back_whole():
    look = CopiedLook(heap.census(), heap.inspect())

    assert decoded(encoded(look)) == look


def test_crash_in_the_copy_is_told_as_one():
    with pytest.raises(CopyFailed, match="SIGSEGV") as caught:
        _answer(lambda: ctypes.string_at(0))

    assert caught.value.crashed


def test_copy_that_hangs_is_ended_by_its_own_alarm():
    def hang():
        while True:
            pass

    with pytest.raises(CopyFailed, match="too long") as caught:
        _answer(hang, seconds=0.3)

    assert not caught.value.crashed


def test_copy_that_holds_its_alarm_back_is_ended_from_here():
    def hang():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            pass

    copy = ProcessCopy.begin(hang, seconds=0.3, memory=MEMORY)
    with pytest.raises(CopyFailed, match="too long"):
        copy.answer(60)

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

    with pytest.raises(CopyFailed, match="not whole"):
        _answer(work)


def test_error_in_the_copy_is_told_in_its_words():
    def fail():
        raise ValueError("no such thing")

    with pytest.raises(CopyFailed, match="ValueError: no such thing"):
        _answer(fail)


def test_program_never_hears_of_the_copy():
    heard = []
    before = signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    try:
        copy = ProcessCopy.begin(lambda: time.sleep(0.2) or b"done", seconds=30, memory=MEMORY)
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        assert child_processes() == {"children": 0}
        assert copy.answer(60) == b"done"
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
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(500))
            bytes(100_000)

    threads = [threading.Thread(target=spin) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert _answer(lambda: b"%d" % heap.census().census.objects)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_process_that_may_have_no_copy_is_told_why(monkeypatch):
    def refused(*_):
        raise OSError("Operation not permitted")

    monkeypatch.setattr(process_copy, "copy_process", refused)

    with pytest.raises(CopyRefused, match="not permitted"):
        ProcessCopy.begin(lambda: b"", seconds=1, memory=MEMORY)
