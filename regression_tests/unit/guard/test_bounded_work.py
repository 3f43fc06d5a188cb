"""What a look costs is counted whatever happens after it, and many names are not many looks."""

from __future__ import annotations

import math

import pytest
from played_loops import played, run_script

import leakguard
from leakguard import LeakGuard
from leakguard.live.active import open_phases
from leakguard.live.names import MOST_OPEN_PHASES
from leakguard.testing import FakeClock


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
    assert sum(bool(s.phase) for s in guard.run.snapshots) <= 2 * MOST_OPEN_PHASES
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


def test_long_run_tells_all_of_its_generations_and_costs_though_not_all_are_kept(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("leakguard.live.numbers.MEASURED_SECONDS", math.inf)
    with LeakGuard(out=tmp_path / "run.jsonl", report=None, max_overhead=1e-9) as guard:
        for _ in guard.generations(range(1_100)):
            for name in ("one", "two", "three"):
                with guard.phase(name):
                    pass
    here, written = guard.run, leakguard.load(tmp_path / "run.jsonl")
    assert len(here.generations) < 1_000
    assert here.recorded_generations == here.generations_until(None) == 1_100
    assert 500 < here.generations_until(550) < 600
    assert here.watch_seconds == pytest.approx(written.watch_seconds)
    assert len(written.generations) == 1_100


@pytest.mark.parametrize(
    "arguments", ["", "log=open('log.txt', 'w').write", "out='runs/'", "on_leak=print"]
)
def test_nothing_is_imported_while_the_loop_runs(tmp_path, arguments):
    program = f"""
        import sys
        from leakguard import LeakGuard
        kept, loaded = [], []
        guard = LeakGuard(report=None, {arguments})
        with guard:
            for _ in guard.generations(range(8)):
                with guard.phase("work"):
                    kept.append([bytearray(10_000)])
                loaded.append(set(sys.modules))
            loaded.append(set(sys.modules))
        print(sorted(loaded[-1] - loaded[0]), file=sys.stderr)
    """
    assert run_script(program, tmp_path).stderr.splitlines()[-1] == "[]"
