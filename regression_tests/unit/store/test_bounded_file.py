"""A run file that comes to its bound is thinned in one step, whatever happens meanwhile."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import leakguard
from leakguard import LeakGuard, UsageError
from leakguard.model import RunInfo
from leakguard.store import load_runs
from leakguard.store.jsonl import RunWriter


@pytest.fixture(autouse=True)
def every_generation_is_measured(monkeypatch):
    monkeypatch.setattr("leakguard.live.numbers.MEASURED_SECONDS", math.inf)


LINE = b'{"snapshot":{"serial":1,"label":"x"}}\n'


class Kept(bytearray):
    """Only this file makes it: what other tests left behind and lose in mid-run is not counted."""


def recorded(out, generations, **arguments):
    kept = []
    guard = LeakGuard(out=out, max_file_size="1 MB", report=None, **arguments)
    with guard:
        for number in guard.generations(range(1, generations + 1)):
            with guard.phase("work"):
                kept.append(Kept(1_000 if number != 400 else 1_000_000))
    return guard


def test_long_run_stays_below_its_bound_and_reads_back_as_the_guard_has_it(tmp_path):
    path = tmp_path / "run.jsonl"
    guard = recorded(path, 800)
    assert path.stat().st_size <= 1_000_000
    assert path.stat().st_mode & 0o777 == 0o600
    run = leakguard.load(path)
    assert run.finished
    assert (run.generations[0], run.generations[-1]) == (1, 800)
    assert len(run.notes) == 1 and "max_file_size" in run.notes[0]
    looks = [s.generation for s in run.snapshots if s.census is not None]
    assert looks == [s.generation for s in guard.run.snapshots if s.census is not None]
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]


def test_thinned_run_finds_the_same_leak_at_the_same_rate(tmp_path):
    path = tmp_path / "run.jsonl"
    recorded(path, 800)
    (finding,) = leakguard.diagnose(leakguard.load(path)).findings
    assert finding.type.endswith(".Kept")
    assert finding.count_per_generation == pytest.approx(1, rel=0.05)


def test_runs_of_before_stay_whole_beside_one_that_is_thinned(tmp_path):
    path = tmp_path / "run.jsonl"
    recorded(path, 20)
    first = path.read_bytes()
    recorded(path, 700)
    assert path.read_bytes().startswith(first)
    one, other = load_runs(path)
    assert one.generations == tuple(range(1, 21))
    assert other.notes and other.finished


def test_link_to_a_run_file_stays_a_link(tmp_path):
    real, link = tmp_path / "disk" / "run.jsonl", tmp_path / "run.jsonl"
    real.parent.mkdir()
    real.touch()
    link.symlink_to(real)
    recorded(link, 700)
    assert link.is_symlink()
    assert leakguard.load(real).notes


def test_second_process_is_refused_after_the_file_was_replaced_too(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, RunInfo(pid=os.getpid()), 10_000)
    writer.anew([LINE] * 3, 2)
    with pytest.raises(UsageError, match="is being written by process"):
        RunWriter(path, RunInfo())
    writer.write(LINE)
    writer.close()
    (run,) = load_runs(path)
    assert len(run.snapshots) == 4


@pytest.mark.parametrize("moment", ["write", "replace", "replaced"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_thinning_that_is_interrupted_leaves_a_whole_file_that_goes_on(
    tmp_path, monkeypatch, moment, error
):
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, RunInfo(), 1_000)
    for _ in range(30):
        writer.write(LINE)
    assert writer.is_full
    real = type(path).replace

    def replace(self, target):
        if moment == "replaced":
            real(self, target)
        raise error

    if moment == "write":
        monkeypatch.setattr("leakguard.store.run_lock._copy", lambda *_: replace(path, path))
        moment = "never"
    else:
        monkeypatch.setattr(type(path), "replace", replace)
    with pytest.raises(error):
        writer.anew([LINE] * 10, 4)
    monkeypatch.undo()
    writer.write(LINE)
    writer.close()
    (run,) = load_runs(path)
    assert len(run.snapshots) == (11 if moment == "replaced" else 31)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]


KILLED = """
    from leakguard.model import RunInfo, Snapshot
    from leakguard.store import schema
    from leakguard.store.jsonl import RunWriter
    writer = RunWriter(__import__("pathlib").Path("run.jsonl"), RunInfo(), 200_000)
    lines = [schema.encode_snapshot(Snapshot(n, "x" * 200)) for n in range(3_000)]
    writer.anew(lines, 2)
    print("ready", flush=True)
    while True:
        for line in lines[:100]:
            writer.write(line)
        writer.anew(lines, 2)
"""


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.029, 0.051, 0.083])
def test_process_killed_while_it_thins_leaves_a_file_that_can_be_read(tmp_path, delay):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED)], cwd=tmp_path, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert child.stdout.readline() == b"ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(delay)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    (run,) = load_runs(tmp_path / "run.jsonl")
    assert len(run.snapshots) >= 2_999
    RunWriter(tmp_path / "run.jsonl", RunInfo()).close()  # nobody holds it any more


def test_file_that_cannot_be_thinned_any_further_is_not_thinned_again_and_again(tmp_path):
    writer = RunWriter(tmp_path / "run.jsonl", RunInfo(), 1_000)
    writer.anew([LINE] * 100, 2)
    writer.write(LINE)
    assert not writer.is_full


def test_file_without_a_bound_is_left_alone(tmp_path):
    writer = RunWriter(tmp_path / "run.jsonl", RunInfo())
    for _ in range(100):
        writer.write(LINE)
    assert not writer.is_full


@pytest.mark.parametrize("size", ["10 kB", 0, "many", -1, float("nan"), []])
def test_size_that_is_none_is_refused_in_one_line(tmp_path, size):
    with pytest.raises(UsageError) as refused:
        LeakGuard(out=tmp_path / "run.jsonl", max_file_size=size)
    assert "\n" not in str(refused.value)
