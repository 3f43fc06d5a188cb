"""``leakguard attach`` on real processes that know nothing of it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leakguard import diagnose, load
from leakguard.cli import main
from leakguard.errors import UsageError
from leakguard.launch.attach import bootstrap
from leakguard.launch.attach.attached_run import AttachedRun, Timetable
from leakguard.launch.attach.attachment import attached_to
from leakguard.launch.attach.running_process import RunningProcess
from regression_tests.benchmarks.attach.strangers import (
    child_of,
    files_of,
    interpreters,
    running,
    threads_of,
)

COUNTED = {"modules": 0, "threads": 1, "files": 2, "names": 5}


def _why_not() -> str | None:
    """Return why no process can be attached to here."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            RunningProcess.of(process.pid)
        except UsageError as refusal:
            return str(refusal)
        finally:
            process.kill()
    return None


WHY_NOT = _why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has other users' processes")


def attach(pid, tmp_path, *options):
    """Attach by the command, and return the report of the run that it wrote."""
    out = tmp_path / f"{pid}.jsonl"
    assert main(["attach", str(pid), "-o", str(out), *options]) == 0
    return diagnose(load(out))


QUICK = ("--every", "0.4", "--looks", "8")


def test_leaking_loop_is_named_with_its_holder_and_its_line(tmp_path, capsys):
    with running("loop", "leak") as process:
        report = attach(process.pid, tmp_path, *QUICK)
        assert process.poll() is None
    assert report.verdict == "leak"
    printed = capsys.readouterr().out
    assert "__main__.Service.history[*]" in printed
    assert "loop.py:17 in handle" in printed


@pytest.mark.parametrize("program", ["loop", "threads", "tasks", "lock"])
def test_calm_program_is_not_accused(program, tmp_path):
    with running(program, "calm") as process:
        report = attach(process.pid, tmp_path, *QUICK)
    assert report.verdict in ("stable", "inconclusive"), report.findings


@pytest.mark.parametrize(
    ("program", "holder"),
    [
        ("threads", "visits[*]"),
        ("tasks", "__main__.cache"),
        ("lock", "done[*]"),
        ("collector", "__main__.registry"),
    ],
)
def test_holder_is_named_whatever_the_program_is_made_of(program, holder, tmp_path):
    with running(program, "leak") as process:
        report = attach(process.pid, tmp_path, *QUICK)
    assert report.verdict == "leak"
    assert any(holder in (finding.held_by or "") for finding in report.findings)


def test_look_that_comes_late_ends_as_many_generations_as_have_passed():
    with running("loop", "leak") as process, attached_to(process.pid, 20) as session:
        run = AttachedRun(session, Timetable(every=1.0))
        for pause in (0.0, 1.0, 1.0, 1.0, 5.0):
            time.sleep(pause)
            run.poll()
        run.poll(last=True)
    ends = [s.generation for s in run.runs()[0].snapshots if s.generation is not None]
    *_, usual, late, last = ends
    assert late - usual >= 3
    assert last > late


@pytest.mark.parametrize("version", interpreters())
def test_each_python_answers_who_holds_what(version):
    python = interpreters()[version]
    with running("loop", "leak", python=python) as process:
        with attached_to(process.pid, 20) as session:
            until, paths = time.monotonic() + 60, set[str]()  # a young history is not yet large
            while "__main__.Service.history[*]" not in paths and time.monotonic() < until:
                told = session.ask("inspection", dict, large=10**9, targets=[], suspects=[])
                paths = {holder["path"] for holder in told["holders"]}
        time.sleep(0.1)
        assert process.poll() is None
        assert threads_of(process.pid) == 1
    assert "__main__.Service.history[*]" in paths


def test_kernel_that_cannot_leave_a_table_of_files_at_once_is_enough(monkeypatch, tmp_path):
    text = Path(bootstrap.__file__).read_text("utf-8")
    older = tmp_path / "bootstrap.py"
    older.write_text(text.replace("_CLOSE_RANGE, _NO_FILE = 436", "_CLOSE_RANGE, _NO_FILE = 9999"))
    assert older.read_text() != text
    monkeypatch.setattr(bootstrap, "__file__", str(older))
    with running("threads", "calm") as process:
        with attached_to(process.pid, 20) as session:
            files = files_of(process.pid)
            assert session.ask("census", dict, large=10**9)
        assert abs(files_of(process.pid) - files) < 6  # it has connections that come and go
        assert process.poll() is None


def test_program_that_waits_in_c_is_left_as_it_was(capsys):
    with running("blocked") as process:
        files = files_of(process.pid)
        assert main(["attach", str(process.pid), "--wait", "1"]) == 2
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == ""
    assert files == 3
    assert "is busy or waits in C code" in capsys.readouterr().err


def test_attaching_and_leaving_leave_no_trace():
    with running("counts") as process:
        before = _cycles_then_counts(process, 2)  # ctypes is imported for the first time
        after = _cycles_then_counts(process, 10)
    assert {name: after[at] for name, at in COUNTED.items()} == {
        name: before[at] for name, at in COUNTED.items()
    }
    assert after[COUNTED["threads"]] == 2
    assert after[3] - before[3] < 500  # blocks of Python's allocator, where a module has thousands


def _cycles_then_counts(process, cycles):
    for _ in range(cycles):
        with attached_to(process.pid, 20) as session:
            session.ask("facts", dict)
    time.sleep(0.2)
    process.stdin.write("\n")
    process.stdin.flush()
    return [int(number) for number in process.stdout.readline().split()]


def test_target_survives_whatever_moment_we_are_killed_at(tmp_path):
    chance = random.Random(7)
    command = [sys.executable, "-m", "leakguard", "attach"]
    with running("loop", "calm") as process:
        for _ in range(8):
            options = [str(process.pid), "--every", "0.1", "-o", str(tmp_path / "run.jsonl")]
            with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as attached:
                time.sleep(chance.uniform(0.2, 1.5))
                attached.kill()
            assert process.poll() is None
        deadline = time.monotonic() + 30
        while threads_of(process.pid) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert threads_of(process.pid) == 1
        assert files_of(process.pid) == 3
        assert process.poll() is None


def test_detach_has_a_last_look_taken_and_the_report_shown(tmp_path):
    out = tmp_path / "run.jsonl"
    with running("loop", "leak") as process:
        options = [str(process.pid), "--every", "0.3", "--looks", "1000", "-o", str(out)]
        command = [sys.executable, "-m", "leakguard", "attach", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attached:
            _wait_for_generations(out, 5)
            assert main(["attach", str(process.pid)]) == 2  # one at a time
            assert main(["detach", str(process.pid)]) == 0
            printed, _ = attached.communicate(timeout=60)
        assert main(["detach", str(process.pid)]) == 2
        assert process.poll() is None
    assert "__main__.Service.history[*]" in printed
    assert load(out).finished


def _wait_for_generations(out: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if out.exists() and out.read_bytes().count(b'"moment":"generation"') >= count:
            return
        time.sleep(0.1)
    raise TimeoutError(f"there are no {count} generations")


def test_end_of_the_target_ends_the_run_with_what_was_seen(tmp_path):
    out = tmp_path / "run.jsonl"
    with (
        running("loop", "leak") as process,
        attached_to(process.pid, 20) as session,
    ):
        attached = AttachedRun(session, Timetable(0.1, None, out))

        def kill_after_the_second(number):
            if number == 2:
                process.kill()
                process.wait()

        attached.follow(kill_after_the_second)
    assert attached.ended == f"process {process.pid} has ended"
    assert len(load(out).generations) == 2


def test_snapshot_and_watch_ask_a_process_without_a_guard(capsys):
    with running("loop", "leak") as process:
        # A process that has just begun keeps less than its modules do.
        time.sleep(2)
        assert main(["snapshot", "--attach", str(process.pid)]) == 0
        assert "__main__.Service.history[*]" in capsys.readouterr().out
        assert main(["watch", "--attach", "--once", "--every", "0.2", str(process.pid)]) == 0
        assert "Request" in capsys.readouterr().out


@as_root
def test_another_users_process_is_attached_to_by_root(tmp_path):
    python = interpreters().get("system", sys.executable)
    with running("loop", "leak", python=python, user="nobody", group="nogroup") as process:
        report = attach(process.pid, tmp_path, *QUICK)
        assert process.poll() is None
    assert report.verdict == "leak"


@as_root
def test_process_in_namespaces_of_its_own_is_attached_to(tmp_path):
    inside = 'mount -t tmpfs none /tmp && exec "$@"'
    before = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", inside, "sh"]
    if subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    if Path(__file__).is_relative_to("/tmp"):
        pytest.skip("the program itself would be hidden by the mount")
    with running("loop", "leak", before=before) as process:
        pid = child_of(process.pid)
        report = attach(pid, tmp_path, *QUICK)
        os.kill(pid, signal.SIGKILL)
    assert report.verdict == "leak"


def test_what_is_asked_is_answered_as_json_that_fits():
    with (
        running("loop", "calm") as process,
        attached_to(process.pid, 20) as session,
    ):
        told = session.ask("census", dict, large=10**9)
    assert json.dumps(told)
    assert told["census"]["census"]["types"]["__main__.Service"]["count"] == 1
