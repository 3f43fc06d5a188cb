"""A guard may be switched on in a long run: whatever happens in it, the program goes on."""

from __future__ import annotations

import gc
import io
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from pathlib import Path

import pytest

import leakguard
from leakguard import LeakGuard, UsageError
from leakguard.capture import heap
from leakguard.capture.allocation_sites import TRACERS
from leakguard.live.active import active_guard, open_phases
from leakguard.live.beacon import beacon_path, find_beacon, process_began
from leakguard.live.names import DEEPEST
from leakguard.testing import FakeClock


def played(guard: LeakGuard, count: int = 3) -> LeakGuard:
    with guard:
        for _ in guard.generations(range(1, count + 1)):
            with guard.phase("work"):
                pass
    return guard


def run_script(text: str, folder, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True, text=True, timeout=120, cwd=folder, check=check,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip


# -- what enters is checked once ------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "12", b"12", None, [1], object(), 10**400, 1j]
)
def test_gauge_that_is_no_finite_number_is_a_note_and_the_file_stays_readable(tmp_path, value):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None)
    guard.gauge("odd", lambda: value)
    guard.gauge("fine", lambda: 7)
    played(guard)
    loaded = leakguard.load(path)
    assert loaded.notes == ()
    assert all("odd" not in s.gauges and "gauge odd" in s.unavailable for s in loaded.snapshots)
    assert loaded.snapshots[-1].gauges["fine"].value == 7


def test_gauge_of_a_numpy_integer_is_a_number():
    numpy = pytest.importorskip("numpy")
    guard = LeakGuard(report=None)
    guard.gauge("buffer", lambda: numpy.int64(5), capacity=numpy.float32(10))
    assert played(guard).run.snapshots[-1].gauges["buffer"].value == 5


def test_gauge_that_adds_gauges_does_not_end_the_look():
    guard = LeakGuard(report=None)
    guard.gauge("first", lambda: guard.gauge("second", lambda: 2) or 1)
    assert set(played(guard).run.snapshots[-1].gauges) == {"first", "second"}


def test_command_line_with_an_undecodable_byte_is_recorded(tmp_path):
    program = (
        "import sys\nfrom leakguard import LeakGuard\nLeakGuard(out=sys.argv[1]).start().stop()"
    )
    path = tmp_path / "run.jsonl"
    subprocess.run(
        [sys.executable, "-c", program, str(path), b"caf\xe9"], check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert "caf\\udce9" in leakguard.load(path).info.command


def test_secrets_of_the_command_line_are_not_recorded(tmp_path):
    program = (
        "import sys\nfrom leakguard import LeakGuard\nLeakGuard(out='run.jsonl').start().stop()"
    )
    arguments = ["--db-password", "p 4's", "--api-key=k1", "HF_TOKEN=h2", "s3://ada:u3@host/x"]
    subprocess.run(
        [sys.executable, "-c", program, *arguments, "--lr", "0.1"], check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    said = "--db-password *** --api-key=*** HF_TOKEN=*** s3://***@host/x --lr 0.1"
    command = leakguard.load(tmp_path / "run.jsonl").info.command
    assert command.replace("'", "").endswith(said)


def test_labels_that_no_file_can_hold_are_written_as_escapes(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, report=None) as guard, guard.phase("bad \udce9\n\x00 name"):
        guard.snapshot("x" * 5_000)
    labels = [s.label for s in leakguard.load(path).snapshots]
    assert max(map(len, labels)) <= 220
    assert any("\\udce9" in label for label in labels)


# -- bounded work ---------------------------------------------------------------------------------


def test_names_with_numbers_in_them_are_one_phase_for_what_they_may_cost():
    kept = []
    with LeakGuard(clock=FakeClock(), report=None) as guard:
        for number in guard.generations(range(1, 7)):
            for episode in range(50):
                with guard.phase(f"episode {number}.{episode}"):
                    kept.append(bytearray(100))
    looked_into = [s for s in guard.run.snapshots if s.phase and s.census is not None]
    assert len(looked_into) <= 6
    assert len({s.phase for s in guard.run.snapshots if s.phase}) <= 9
    assert sum(t.times for t in guard.run.generation_ends()[-1].phases.values()) == 50


def test_layers_that_are_numbered_stay_apart():
    with LeakGuard(report=None) as guard:
        for layer in (1, 2, 3):
            with guard.phase(f"layer {layer}"):
                pass
    assert [s.phase for s in guard.run.snapshots if s.phase] == ["layer 1", "layer 2", "layer 3"]


def test_a_thousand_nested_phases_are_bounded_work():
    with LeakGuard(report=None) as guard:
        for _ in guard.generations(range(2)):
            stack = [guard.phase(f"level {'x' * depth}") for depth in range(1, 900)]
            for phase in stack:
                phase.__enter__()
            for phase in reversed(stack):
                phase.__exit__(None, None, None)
    assert open_phases() == ()
    assert sum(bool(s.phase) for s in guard.run.snapshots) <= 2 * DEEPEST
    assert any("phases" in s.unavailable for s in guard.run.snapshots)


def test_cost_of_a_look_is_counted_though_the_log_cannot_be_written(capsys):
    def broken(block: str) -> None:
        raise OSError("no space")

    guard = played(LeakGuard(log=broken), 40)
    ends = guard.run.generation_ends()
    assert len(ends) == 40
    assert sum(s.census is not None for s in ends) < 40
    assert all(s.cost.total is not None for s in ends)
    assert capsys.readouterr().err.count("log cannot be written") == 1


def test_costs_of_all_snapshots_add_up_to_the_total():
    snapshots = played(LeakGuard(report=None), 6).run.snapshots
    added = sum(s.cost.seconds for s in snapshots)
    assert snapshots[-1].cost.total == pytest.approx(added)


# -- interrupts, threads, forks -------------------------------------------------------------------


def interrupted(monkeypatch, times: int) -> None:
    """Have the reading that the guard takes raise KeyboardInterrupt at one of its calls."""
    calls = [0]
    from leakguard.capture import recorder

    real = recorder.measure

    def measure(probes):
        calls[0] += 1
        if calls[0] == times:
            raise KeyboardInterrupt
        return real(probes)

    monkeypatch.setattr(recorder, "measure", measure)


@pytest.mark.parametrize("times", range(2, 11))
def test_interrupt_inside_the_guard_reaches_the_user_and_leaves_nothing_open(monkeypatch, times):
    with LeakGuard(report=None, clock=FakeClock()) as guard:
        interrupted(monkeypatch, times)
        seen = 0
        for _ in range(6):
            try:
                with guard.generation(), guard.phase("work"):
                    pass
            except KeyboardInterrupt:
                seen += 1
            assert open_phases() == ()
            assert gc.isenabled()
    assert seen == 1
    ends = guard.run.generation_ends()
    assert len(ends) >= 4
    assert [s.phase for s in guard.run.snapshots].count("work") >= 4


def test_fork_while_the_guard_walks_leaves_the_childs_collector_on(monkeypatch):
    walking, forked = threading.Event(), threading.Event()
    real = heap.census

    def slow(*args, **kwargs):
        walking.set()
        forked.wait(20)
        return real(*args, **kwargs)

    answers = []

    def fork() -> None:
        walking.wait(20)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, b"1" if gc.isenabled() else b"0")
            os._exit(0)
        forked.set()
        answers.append(os.read(read, 1))
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)

    monkeypatch.setattr(heap, "census", slow)
    thread = threading.Thread(target=fork)
    thread.start()
    with LeakGuard(report=None) as guard, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard.snapshot("now")
    thread.join()
    assert answers == [b"1"]
    assert gc.isenabled()


def test_with_twice_one_after_the_other_records_two_runs(tmp_path):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None)
    played(guard)
    played(guard)
    runs = leakguard.store.load_runs(path)
    assert [run.generations for run in runs] == [(1, 2, 3), (1, 2, 3)]
    assert all(run.finished for run in runs)


def test_with_inside_with_is_one_run():
    guard = LeakGuard(report=None)
    with guard:
        with guard, guard.phase("inner"):
            pass
        assert active_guard() is guard
        with guard.phase("outer"):
            pass
    assert active_guard() is None
    assert [s.phase for s in guard.run.snapshots if s.phase] == ["inner", "outer"]


def test_stop_from_another_thread_lets_the_loop_go_on():
    guard = LeakGuard(report=None).start()
    done = 0
    for number in guard.generations(range(6)):
        with guard.phase("work"):
            if number == 2:
                thread = threading.Thread(target=guard.stop)
                thread.start()
                thread.join()
        done += 1
    assert done == 6
    assert guard.run.finished
    assert open_phases() == ()
    assert guard.run.snapshots[-1].moment == "end"


def test_forked_childs_exit_leaves_the_parents_beacon_and_file(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, on_signal="SIGUSR1", report=None):
        child = os.fork()
        if child == 0:
            try:
                active_guard().stop()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert find_beacon(os.getpid()).out == path
    assert not beacon_path(os.getpid()).exists()
    assert leakguard.load(path).finished


def test_interleaved_generators_close_their_own_phases():
    with LeakGuard(report=None) as guard:

        def steps(name: str):
            with guard.phase(name):
                yield 1

        first, second = steps("a"), steps("b")
        next(first), next(second)
        assert next(first, None) is None
        assert open_phases() == ("b",)
        assert next(second, None) is None
        assert open_phases() == ()
        with guard.phase("a"):
            pass
    assert [s.phase for s in guard.run.snapshots if s.phase].count("a") == 2


def test_nearly_full_stack_is_no_error_of_the_guard():
    def deep(left: int) -> int:
        with guard.phase("deep"):
            pass
        return deep(left - 1) if left else 0

    with LeakGuard(report=None) as guard:
        with pytest.raises(RecursionError):
            deep(10_000)
        assert open_phases() == ()
        with guard.phase("after"):
            pass
    assert "after" in [s.phase for s in guard.run.snapshots]


# -- how a run ends -------------------------------------------------------------------------------

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
                time.sleep(1)
                os._exit(7)
            os.kill(child, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


# -- files and channels ---------------------------------------------------------------------------


def test_run_file_is_the_users_alone_and_says_whose_it_is(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, report=None):
        assert path.stat().st_mode & 0o777 == 0o600
        header = json.loads(path.read_text().splitlines()[0])["run"]
    assert header["pid"] == os.getpid()
    assert header["started"]


def test_two_processes_with_one_file_are_refused_in_one_line(tmp_path):
    with LeakGuard(out=tmp_path / "run.jsonl", report=None):
        program = "from leakguard import LeakGuard; LeakGuard(out='run.jsonl').start()"
        done = run_script(program, tmp_path, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert f"is being written by process {os.getpid()} since" in last


def test_worker_that_outlives_the_training_does_not_keep_its_file_locked(tmp_path):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None).start()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os._exit(0)
    try:
        guard.stop()
        played(LeakGuard(out=path, report=None))
    finally:
        os.write(write, b"x")
        os.waitpid(child, 0)
    assert len(leakguard.store.load_runs(path)) == 2


@pytest.mark.parametrize("kind", ["pipe", "nul"])
def test_what_is_no_file_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path = f"{tmp_path}/a\0b"
    with pytest.raises(UsageError) as refused:
        LeakGuard(out=path).start()
    assert "\n" not in str(refused.value)
    assert active_guard() is None


def test_file_that_is_deleted_in_mid_run_is_missed_in_one_line(tmp_path, capsys):
    path = tmp_path / "runs" / "run.jsonl"
    with LeakGuard(out=path, report=None) as guard:
        for number in guard.generations(range(6)):
            if number == 2:
                shutil.rmtree(path.parent)
    assert len(guard.run.generation_ends()) == 6
    said = capsys.readouterr().err
    assert said.count("the run is no longer written") == 1
    assert "the file was deleted" in said


def test_equality_of_a_metaclass_is_not_asked_by_a_promise():
    class Hostile(type):
        def __eq__(cls, other):
            raise AssertionError("asked")

        __hash__ = type.__hash__

    class Thing(metaclass=Hostile):
        pass

    with LeakGuard(report=None) as guard:
        for _ in guard.generations(range(2)):
            guard.expect_freed(Thing(), "dropped")
            guard.expect_freed([Thing()], "dropped")
    assert all("expect_freed" not in snapshot.unavailable for snapshot in guard.run.snapshots)
    assert [e.alive for s in guard.run.snapshots for e in s.expectations] == [0] * 4


def test_beacon_of_another_process_or_in_an_open_folder_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = beacon_path(os.getpid())
    told = {"signal": int(signal.SIGUSR1), "out": "x", "began": process_began(os.getpid())}
    path.parent.mkdir(mode=0o700)
    path.write_text(json.dumps(told))
    assert find_beacon(os.getpid()).signal == signal.SIGUSR1

    for wrong in ({"began": 1.0}, {"signal": int(signal.SIGKILL)}, {"signal": "x"}):
        path.write_text(json.dumps({**told, **wrong}))
        with pytest.raises(UsageError):
            find_beacon(os.getpid())

    path.write_text(json.dumps(told))
    path.parent.chmod(0o755)
    with pytest.raises(UsageError):
        find_beacon(os.getpid())


def test_beacon_is_not_written_through_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = beacon_path(os.getpid())
    path.parent.mkdir(mode=0o700)
    path.symlink_to(victim)
    with LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1", report=None):
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o600
    assert victim.read_text() == "precious"


def test_folder_of_beacons_that_is_a_link_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    beacon_path(1).parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="private folder"):
        LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1").start()
    assert active_guard() is None


def test_missing_folder_for_temporary_files_is_no_error_of_the_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setitem(TRACERS, "tracemalloc", TRACERS["memray"])
    kept = []
    with LeakGuard(clock=FakeClock(), trace="auto", report=None) as guard:
        for _ in guard.generations(range(8)):
            kept += [bytearray(100_000)]
    assert len(guard.run.generation_ends()) == 8


# -- no global state of the program changes -------------------------------------------------------


def global_state() -> dict[str, object]:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    import locale

    umask = os.umask(0o022)
    os.umask(umask)
    return {
        "random": random.getstate(),
        "numpy": None if numpy is None else numpy.random.get_state()[1].tolist(),
        "torch": None if torch is None else torch.get_rng_state().tolist(),
        "warnings": list(warnings.filters),
        "locale": locale.setlocale(locale.LC_ALL),
        "umask": umask,
        "signals": {n: signal.getsignal(n) for n in signal.valid_signals() if n not in (9, 19)},
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
        "recursion": sys.getrecursionlimit(),
        "trace": (sys.gettrace(), sys.getprofile()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "folder": Path.cwd(),
        "files": len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0,
    }


def test_no_global_state_is_changed_by_a_loop_with_findings_tracing_and_reports(tmp_path):
    kept = []
    state = global_state()
    log = io.StringIO()
    with LeakGuard(out=tmp_path / "run.jsonl", log=log, clock=FakeClock()) as guard:
        for _ in guard.generations(range(1, 9)):
            with guard.phase("work"):
                kept.append([bytearray(50_000) for _ in range(4)])
    assert guard.report().verdict == "leak"
    assert "LEAK" in log.getvalue()
    after = global_state()
    assert {name for name in state if state[name] != after[name]} == set()
