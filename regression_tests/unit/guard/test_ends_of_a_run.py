"""However a run ends, it has its last look, and signals are as they were."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from played_loops import played, run_script, with_this_leakguard

import leakguard
from leakguard import LeakGuard

PATIENCE = 30.0  # seconds; what is waited for takes two, on a machine that is not busy

ENDS = """
    import os, signal, sys
    from leakguard import LeakGuard
    guard = LeakGuard(out="run.jsonl", report=None).start()
    for number in guard.generations(iter(range(1, 60))):
        if number == 30:
            {how}
"""


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("sys.exit(3)", 3),
        ("raise RuntimeError", 1),
        ("guard.stop(); break", 0),
        ("break", 0),
    ],
)
def test_run_has_a_last_look_however_it_ends(tmp_path, how, status):
    done = run_script(ENDS.format(how=how), tmp_path, check=False)
    assert done.returncode == status
    run = leakguard.load(tmp_path / "run.jsonl")
    assert run.finished
    last = run.snapshots[-1]
    assert last.census is not None or last.cost.why == "nothing gained"
    assert last.moment == "end" or last.generation == 30


_TERMINATED = """
import os, signal, sys
from leakguard import LeakGuard
now, kept = [], []
def asked():
    if sys.argv[1] in now:
        now.clear()
        os.kill(os.getpid(), signal.SIGTERM)
    return len(kept)
guard = LeakGuard(out="run.jsonl", max_overhead=None)
guard.gauge("kept", asked)
with guard:
    for generation in guard.generations(iter(range(12))):
        kept.append([bytearray(100_000) for _ in range(20)])
        if generation == 10:
            now.append("while the guard looks")
    with guard.phase("save"):
        pass
    now.append("while the run ends")
print("went on")
"""


@pytest.mark.parametrize("when", ["while the guard looks", "while the run ends"])
def test_sigterm_in_the_middle_of_the_guards_work_still_gives_the_report(tmp_path, when):
    script = tmp_path / "program.py"
    script.write_text(_TERMINATED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, when],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=with_this_leakguard(),
    )
    assert done.returncode == -signal.SIGTERM
    assert "leakguard: LEAK" in done.stderr
    assert done.stdout == ""
    assert leakguard.load(tmp_path / "run.jsonl").finished


_STUCK = """
import sys, threading
from leakguard import LeakGuard

lock = threading.Lock()
lock.acquire()

def work_in_c():
    print("now", flush=True)
    return sum(range(10**12))

def wait_for_ever():
    print("now", flush=True)
    lock.acquire()

with LeakGuard(out="run.jsonl", report=None) as guard:
    for generation in guard.generations(iter(range(12))):
        if generation == 5:
            {how}
"""


def _terminated(tmp_path, source: str) -> int:
    """Send SIGTERM to a program once it has said something; return its status."""
    script = tmp_path / "program.py"
    script.write_text(source, encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, script],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        env=with_this_leakguard(),
    )
    try:
        running.stdout.readline()
        time.sleep(0.3)  # until it is where it said to go
        running.terminate()
        return running.wait(PATIENCE)
    finally:
        running.kill()
        running.communicate()


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("work_in_c()", id="one long call of C code"),
        pytest.param("guard.gauge('waits', wait_for_ever)", id="deadlock in the guard's own work"),
        pytest.param("threading.Thread(target=work_in_c).start()", id="thread that keeps the lock"),
    ],
)
def test_sigterm_ends_what_the_guards_handler_would_wait_for(tmp_path, how):
    assert _terminated(tmp_path, _STUCK.format(how=how)) == -signal.SIGTERM
    run = leakguard.load(tmp_path / "run.jsonl")
    assert run.generations[:5] == (0, 1, 2, 3, 4)  # all that had ended by then


def test_program_that_waits_for_ever_is_ended_by_sigterm_and_its_run_closed(tmp_path):
    assert _terminated(tmp_path, _STUCK.format(how="wait_for_ever()")) == -signal.SIGTERM
    assert leakguard.load(tmp_path / "run.jsonl").finished


def test_sigterm_that_comes_twice_at_once_still_gives_the_report(tmp_path):
    """As ``timeout`` sends it: to the process, and to its group."""
    twice = "[os.kill(os.getpid(), signal.SIGTERM) for _ in range(2)]"
    done = run_script(ENDS.format(how=twice), tmp_path, check=False)
    assert done.returncode == -signal.SIGTERM
    assert leakguard.load(tmp_path / "run.jsonl").finished


_HANDLED_IN_C = """
import faulthandler, os, signal
from leakguard import LeakGuard
def hear(): faulthandler.register(signal.SIGTERM, chain=True)
{before}
guard = LeakGuard(report=None).start()
{after}
guard.stop()
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.parametrize(("before", "after"), [("hear()", ""), ("", "hear()")])
def test_handler_of_sigterm_that_python_knows_nothing_of_stays_in_force(tmp_path, before, after):
    done = run_script(_HANDLED_IN_C.format(before=before, after=after), tmp_path, check=False)
    assert "most recent call first" in done.stderr
    assert done.returncode == -signal.SIGTERM


def test_sized_loop_has_its_last_look_at_its_last_generation():
    kept = []
    guard = LeakGuard(report=None)
    with guard:
        for number in guard.generations(range(1, 41)):
            kept += [[float(number)] * 500]
    last = guard.run.snapshots[-1]
    assert (last.moment, last.generation, last.cost.why) == ("generation", 40, "last generation")
    assert last.census is not None


def test_last_look_at_a_loop_that_gained_nothing_is_left_out():
    guard = played(LeakGuard(report=None), 40)
    last = guard.run.snapshots[-1]
    assert (last.moment, last.generation, last.cost.why) == ("generation", 40, "nothing gained")
    assert last.census is None
    assert leakguard.diagnose(guard.run).verdict == "stable"


def test_handler_of_sigterm_looks_like_the_default_and_is_put_back():
    with LeakGuard(report=None):
        assert signal.getsignal(signal.SIGTERM) in (None, signal.SIG_DFL)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_handler_that_another_thread_could_not_put_back_gives_way_to_the_next_run():
    guard = LeakGuard(report=None).start()
    stopping = threading.Thread(target=guard.stop)
    stopping.start()
    stopping.join()
    left = signal.getsignal(signal.SIGTERM)
    with LeakGuard(report=None):
        assert signal.getsignal(signal.SIGTERM) is not left
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_programs_own_handler_of_sigterm_is_left_alone():
    def mine(number, frame):
        pass

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with LeakGuard(report=None):
            assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_newborn_child_dies_of_sigterm_as_without_a_guard(tmp_path):
    with LeakGuard(report=None):
        for _ in range(20):
            with _parents_stack(tmp_path / "stack", after=20.0) as waited:
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(7)
                os.kill(child, signal.SIGTERM)
            if stack := waited():  # the child may have ended before it was told
                assert f"{Path(leakguard.__file__).parent}{os.sep}" not in stack, stack
                warnings.warn(f"stood still between fork and kill:\n{stack}", stacklevel=1)
                os.waitpid(child, 0)
                continue
            assert _ended_within(20.0, child) == -signal.SIGTERM
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@contextlib.contextmanager
def _parents_stack(file, after):
    """Yield a function that returns where this process stood after so many seconds, if it did."""
    with file.open("w+") as stack:
        faulthandler.dump_traceback_later(after, file=stack)
        try:
            yield file.read_text
        finally:
            faulthandler.cancel_dump_traceback_later()


def _ended_within(seconds, child):
    """Return the exit code of a child, or the state of one that still lives, which is killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    alive = Path(f"/proc/{child}/status").read_text()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return alive
