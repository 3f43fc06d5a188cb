"""Faults made real: in processes of their own, each with a guard that must leave the loop alone.

Every program here trains on to its end and says so, whatever happens to the guard.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest
from faulty_programs import in_namespace, program, trained, went_on

import leakguard
from leakguard import LeakGuard
from leakguard.capture import recorder
from leakguard.testing import FakeClock

FAULTS = {
    "files may not grow (RLIMIT_FSIZE)": {
        "before": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))",
        "rounds": 60,
    },
    "there is no more memory (RLIMIT_AS)": {
        "body": """
            if number == 3:
                import resource
                size = int(open("/proc/self/statm").read().split()[0]) * 4096
                resource.setrlimit(resource.RLIMIT_AS, (size, size))
        """
    },
    "there are no more descriptors (RLIMIT_NOFILE)": {
        "body": """
            if number == 3:
                import resource
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        """
    },
    "no process or thread may be made (RLIMIT_NPROC)": {
        "before": "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))"
    },
    "standard error is closed": {"before": "os.close(2)", "arguments": "log=sys.stderr"},
    "standard error is None": {"before": "sys.stderr = None"},
    "standard input is closed": {"before": "os.close(0)"},
    "the stream of the log is closed": {
        "before": "stream = open(os.devnull, 'w')",
        "arguments": "log=stream",
        "body": "stream.close()",
    },
    "the reader of the log has gone": {
        "before": """
            read, write = os.pipe()
            os.close(read)
            def tell(block): os.write(write, block.encode())
        """,
        "arguments": "log=tell",
        "rounds": 3,
    },
    "the working folder is gone before the run begins": {
        "before": "import tempfile; gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)"
    },
    "the working folder is deleted": {"body": "if number == 2: os.rmdir(os.getcwd())"},
    "no file may be opened any more": {
        "body": """
            import builtins, io
            def refused(*_, **__): raise PermissionError(13, "refused")
            builtins.open = io.open = refused
        """
    },
    "RANK is no number": {"before": "os.environ['RANK'] = 'first'"},
    "the clock goes backwards": {
        "before": "import itertools; ticks = itertools.count(10**6, -7)",
        "arguments": "clock=lambda: float(next(ticks))",
    },
    "the clock stands still": {"arguments": "clock=lambda: 0.0"},
    "the clock says NaN": {"arguments": "clock=lambda: float('nan')"},
    "the clock raises": {
        "before": "ticks = iter([1.0] * 40)",
        "arguments": "clock=lambda: next(ticks)",
    },
    "a module is None": {"before": "sys.modules['torch'] = sys.modules['numpy'] = None"},
    "a module raises when it is asked": {
        "before": """
            import types
            class Lazy(types.ModuleType):
                def __getattr__(self, name): raise RuntimeError(name)
            for name in ("numpy", "torch", "jax"):
                sys.modules[name] = Lazy(name)
        """
    },
    "a profiler of the program is on": {
        "before": "seen = []; sys.setprofile(lambda *a: seen.append(1) if len(seen) < 9 else None)"
    },
    "everything is frozen": {"body": "gc.freeze()"},
    "a thread of the program never ends": {
        "before": "threading.Thread(target=threading.Event().wait, daemon=True).start()"
    },
    "a thread ends inside of its phase": {
        "body": """
            thread = threading.Thread(target=guard.phase("inner").__enter__)
            thread.start()
            thread.join()
        """
    },
    "a child is forked in each phase and goes on": {
        "body": """
            child = os.fork()
            if not child:
                with guard.phase("of the child"): pass
                guard.snapshot("child")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
    },
    "a thread forks while another is in a phase": {
        "body": """
            def fork():
                child = os.fork()
                if not child: os._exit(0 if gc.isenabled() else 1)
                assert os.waitpid(child, 0)[1] == 0
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        """
    },
    "the program is stopped and continues (SIGSTOP)": {
        "body": """
            if number == 5:
                os.system(f"(sleep 0.2; kill -CONT {os.getpid()}) & kill -STOP {os.getpid()}")
        """
    },
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc are Linux's")
@pytest.mark.parametrize("fault", FAULTS)
def test_loop_goes_on_and_the_file_can_be_read_when(tmp_path, fault):
    folder = tmp_path / "work"
    folder.mkdir()
    out = tmp_path / "run.jsonl"
    done = trained(out, cwd=folder, **FAULTS[fault])
    assert went_on(done), done.stderr[-2000:]
    assert leakguard.load(out).snapshots


def test_full_disk_ends_the_file_and_not_the_loop(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    small = in_namespace(f"mount -t tmpfs -o size=64k none {disk}")
    body = f"number == 60 and __import__('shutil').copy(out, '{tmp_path}')"
    each = {"rounds": 60, "arguments": "max_overhead=None"}  # each generation is written
    done = trained(disk / "run.jsonl", body=body, prefix=small, cwd=tmp_path, **each)
    assert went_on(done), done.stderr[-2000:]
    assert done.stderr.count("the run is no longer written") == 1
    assert leakguard.load(tmp_path / "run.jsonl").snapshots


def test_proc_that_cannot_be_read_is_a_note(tmp_path):
    without = in_namespace("mount -t tmpfs none /proc")
    done = trained(tmp_path / "run.jsonl", prefix=without)
    assert went_on(done), done.stderr[-2000:]
    last = leakguard.load(tmp_path / "run.jsonl").snapshots[-1]
    assert "process" in last.unavailable
    assert last.metrics.get("rss") is None  # missing is never 0
    assert last.metrics["python_blocks"] > 0


def test_peak_that_may_not_be_reset_is_a_note(tmp_path):
    sealed = in_namespace("mount -o remount,ro,bind /proc")  # clear_refs can be read, not written
    done = trained(tmp_path / "run.jsonl", prefix=sealed)
    assert went_on(done), done.stderr[-2000:]
    last = leakguard.load(tmp_path / "run.jsonl").snapshots[-1]
    assert "cannot be reset" in last.unavailable["peak"]
    assert last.metrics["rss"] > 0


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4])
def test_killed_at_any_moment_the_file_can_be_read(tmp_path, delay):
    child = subprocess.Popen(
        [sys.executable, "-c", program(rounds=10**6), str(tmp_path / "run.jsonl")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    while child.poll() is None and not (tmp_path / "run.jsonl").exists():
        time.sleep(0.01)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    try:
        run = leakguard.load(tmp_path / "run.jsonl")
    except leakguard.UnreadableRun as refused:
        assert "holds no snapshot" in str(refused)
    else:
        assert not run.finished
        assert len(run.notes) <= 1


FORK = """
import traceback

CHILDREN = {
    "exits": "os._exit(0 if gc.isenabled() else 1)",
    "ends as programs do": "sys.exit(0 if gc.isenabled() else 1)",
    "becomes another program": "os.execv(sys.executable, [sys.executable, '-S', '-c', 'pass'])",
    "goes on": '''
for _ in range(3):
    with guard.generation(), guard.phase("of the child"): guard.snapshot("child")
os._exit(0 if gc.isenabled() else 1)
''',
    "has a guard of its own": '''
with LeakGuard(report=None) as own:
    for _ in own.generations(3):
        with own.phase("of the child"): pass
os._exit(0 if gc.isenabled() and len(own.run.generations) == 3 else 1)
''',
}

def fork():
    for kind, code in CHILDREN.items():
        child = os.fork()
        if not child:
            try: exec(code, globals())
            except SystemExit: raise
            except BaseException: traceback.print_exc(); os._exit(9)
        ended[kind] = os.waitpid(child, 0)[1]

ended = {}

def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

def fork_in_a_phase():
    with guard.phase("of the thread"): fork()
"""
FORKED = {
    "the thread of the loop, in a phase": "if number == 3: fork()",
    "another thread, while the loop is in a phase": "if number == 3: in_a_thread(fork)",
    "another thread, which is in a phase too": "if number == 3: in_a_thread(fork_in_a_phase)",
    "another thread, while the guard looks": """
        if number == 3:
            from leakguard.capture import heap
            real = heap.census
            def slow(*given, **named):
                heap.census = real
                in_a_thread(fork)
                return real(*given, **named)
            heap.census = slow
            guard.snapshot("looked at")
            assert heap.census is real
    """,
    "a gauge, as it is asked": """
        if number == 3:
            guard.gauge("forks", lambda: fork() or 1)
            with guard.phase("asked"): pass
            guard.gauge("forks", lambda: 1)
    """,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("forked", FORKED)
def test_whatever_a_forked_child_does_both_go_on_when_it_was_forked_by(tmp_path, forked):
    """Five children: one exits, one ends, one executes, one goes on, one has its own guard."""
    out = tmp_path / "run.jsonl"
    body = textwrap.dedent(FORKED[forked]) + "\nif number == 12: print(ended)"
    done = trained(out, before=FORK, body=body, arguments="max_overhead=None")
    assert went_on(done), done.stderr[-2000:]
    children, _ = done.stdout.splitlines()
    assert ast.literal_eval(children) == {
        "exits": 0, "ends as programs do": 0, "becomes another program": 0, "goes on": 0,
        "has a guard of its own": 0,
    }  # fmt: skip
    run = leakguard.load(out)
    assert run.finished
    assert run.generations == tuple(range(1, 13))
    assert not run.notes


ASYNCHRONOUS = """
import ctypes, itertools

class Stop(BaseException): pass

def watched(told):
    inner = LeakGuard(report=None, max_overhead=0.2)
    with inner:
        while told["caught"] < 100:
            try:
                told["ready"] = True
                while True:
                    with inner.generation(), inner.phase("work"): pass
            except Stop:
                told["caught"] += 1
            with inner.generation(), inner.phase("after"): pass
            told["left_open"] += open_phases() != () or not gc.isenabled()
    told["finished"] = inner.run.finished

def interrupted():
    told = {"caught": 0, "sent": 0, "left_open": 0, "ready": False, "finished": False}
    thread = threading.Thread(target=watched, args=(told,))
    thread.start()
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for number in itertools.count():
        threading.Event().wait(number % 17 / 2000)
        if not thread.is_alive(): break
        if told["ready"]:
            told["ready"] = False
            told["sent"] += raised(ctypes.c_ulong(thread.ident), ctypes.py_object(Stop))
    print(told["caught"], told["sent"], told["left_open"], told["finished"])
"""


def test_exceptions_that_another_thread_sends_reach_the_loop_and_leave_nothing_open(tmp_path):
    body = "if number == 3: interrupted()"
    done = trained(tmp_path / "run.jsonl", before=ASYNCHRONOUS, body=body, rounds=4)
    assert went_on(done), done.stderr[-2000:]
    assert done.stdout.splitlines()[0] == "100 100 0 True"


def test_sub_interpreter_is_refused_or_right(tmp_path):
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    inside = "from leakguard import LeakGuard; LeakGuard(report=None).start().stop()"
    body = f"""
        import {module} as sub
        try: sub.run_string(sub.create(), {inside!r})
        except Exception as error: print(type(error).__name__)
    """
    done = trained(tmp_path / "run.jsonl", body=body, rounds=2)
    assert went_on(done), done.stderr[-2000:]


def test_gauge_that_hangs_again_and_again_is_asked_no_more(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(recorder, "time", SimpleNamespace(perf_counter=clock))
    asked = []

    def slow():
        asked.append(1)
        clock.advance(1.5)
        return 1

    guard = LeakGuard(report=None)
    guard.gauge("slow", slow)
    guard.gauge("fast", lambda: 2)
    with guard:
        for _ in guard.generations(range(5)):
            pass
    assert len(asked) == 2
    last = guard.run.snapshots[-1]
    assert "no longer read" in last.unavailable["gauge slow"]
    assert last.gauges["fast"].value == 2


def test_gauge_that_never_returns_is_ended_by_an_interrupt_and_the_run_goes_on(tmp_path):
    """It runs in the program's own thread, where nothing but a signal can end it."""
    body = """
        if number == 3:
            def never():
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                threading.Event().wait()
            def ring(*_): raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, ring)
            guard.gauge("never", never)
            try:
                with guard.phase("asked"): pass
            except KeyboardInterrupt: print("interrupted")
            guard.gauge("never", lambda: 1)
    """
    done = trained(tmp_path / "run.jsonl", body=body)
    assert went_on(done), done.stderr[-2000:]
    assert done.stdout.startswith("interrupted\n")
    run = leakguard.load(tmp_path / "run.jsonl")
    assert run.generations == tuple(range(1, 13))
    assert run.snapshots[-1].gauges["never"].value == 1


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_ends_a_program_goes_through_a_gauge(error):
    guard = LeakGuard(report=None, clock=FakeClock())

    def ends():
        raise error

    with guard:
        guard.gauge("ends", ends)
        with pytest.raises(error), guard.phase("work"):
            pass
        del guard._gauges["ends"]
        with guard.phase("after"):
            pass
    assert "after" in [snapshot.phase for snapshot in guard.run.snapshots]


def test_descriptor_that_the_program_has_closed_is_not_written_to_and_no_generation_is_lost(
    tmp_path,
):
    """As a daemon closes all that it has inherited, whose numbers then belong to its own files."""
    out, own = tmp_path / "run.jsonl", tmp_path / "log"
    with LeakGuard(out=out, report=None, trace="off") as guard:
        for generation in guard.generations(range(6)):
            if generation == 2:
                writer = guard._guarded.scribe.journal._writer
                number = writer._file.fileno()
                os.close(number)
                mine = os.open(own, os.O_RDWR | os.O_CREAT, 0o600)
                assert mine == number
    os.write(mine, b"mine")  # nobody has closed it
    os.close(mine)

    assert own.read_bytes() == b"mine"
    assert [s.generation for s in leakguard.load(out).generation_ends()] == list(range(6))


def test_process_that_has_no_descriptor_left_when_a_run_begins_goes_on_unwatched(
    monkeypatch, capsys
):
    def refused(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("leakguard.guard.Ending", refused)
    rounds = []
    with LeakGuard(report=None) as guard:
        rounds.extend(guard.generations(range(3)))

    assert rounds == [0, 1, 2]
    assert "not watched: OSError" in capsys.readouterr().err


def test_run_begins_near_the_recursion_limit_and_leaves_the_limit_as_it_was():
    limit, rounds = sys.getrecursionlimit(), []
    guard = LeakGuard(report=None, trace="off")

    def deeper(calls):
        if calls:
            deeper(calls - 1)
        else:
            with guard:
                rounds.extend(guard.generations(range(2)))

    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    deeper(limit - depth - 30)

    assert rounds == [0, 1]
    assert sys.getrecursionlimit() == limit
