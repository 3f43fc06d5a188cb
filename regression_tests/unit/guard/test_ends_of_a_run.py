"""However a run ends, it has its last look, and signals are as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from played_loops import played, run_script

import leakguard
from leakguard import LeakGuard

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
    assert last.census is not None
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
        [sys.executable, script, when], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGTERM
    assert "leakguard: LEAK" in done.stderr
    assert done.stdout == ""
    assert leakguard.load(tmp_path / "run.jsonl").finished


def test_sized_loop_has_its_last_look_at_its_last_generation():
    guard = played(LeakGuard(report=None), 40)
    last = guard.run.snapshots[-1]
    assert (last.moment, last.generation, last.cost.why) == ("generation", 40, "last generation")
    assert last.census is not None


def test_handler_of_sigterm_looks_like_the_default_and_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with LeakGuard(report=None):
        assert signal.getsignal(signal.SIGTERM) in (None, signal.SIG_DFL)
    assert signal.getsignal(signal.SIGTERM) is before


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


def test_newborn_child_dies_of_sigterm_as_without_a_guard():
    with LeakGuard(report=None):
        for _ in range(20):
            child = os.fork()
            if child == 0:
                time.sleep(60)  # a busy machine may come to the kill much later
                os._exit(7)
            os.kill(child, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
