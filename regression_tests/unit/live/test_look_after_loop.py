"""The look where a loop ends, whose function is about to let go of what it made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leakguard import LeakGuard, diagnose, load
from leakguard.live import policy
from leakguard.live.look import Looker
from leakguard.live.policy import Depth, LoopSoFar
from leakguard.live.purse import Purse
from leakguard.model.snapshot import LOOP_ENDED
from leakguard.testing import FakeClock


@pytest.fixture
def looks_are_dear(monkeypatch):
    """No generation is looked at, and no budget pays for a look at who holds what."""
    monkeypatch.setattr(Looker, "affords_holders", False)
    monkeypatch.setattr(policy, "reason_to_look", lambda *known, last=False: None)


@pytest.mark.usefixtures("looks_are_dear")
def test_loop_gets_its_last_look_if_it_is_the_longest_so_far():
    clock, seen = FakeClock(), []
    with LeakGuard(report=None, clock=clock) as guard:
        for seconds in (10.0, 2.0, 4.0, 1.0, 20.0):
            with guard.generation() as generation:
                clock.advance(seconds)
            generation.loop_over()
            seen.append(guard.run.snapshots[-1].label == LOOP_ENDED)
    # The first, and those at whose end the program has run half as long again as at the last look.
    assert seen == [True, False, True, False, True]


def looks_after_loops(clock, loops, seconds=0.0, *, outermost=False):
    with LeakGuard(report=None, clock=clock) as guard:
        for _ in range(loops):
            with guard.generation() as generation:
                clock.advance(seconds)
            generation.loop_over(outermost=outermost)
    return [s.label for s in guard.run.snapshots].count(LOOP_ENDED)


@pytest.mark.usefixtures("looks_are_dear")
def test_short_loops_beside_which_the_guard_takes_all_the_time_get_one_look():
    assert looks_after_loops(FakeClock(), 12) == 1


@pytest.mark.usefixtures("looks_are_dear")
def test_looks_after_loops_end_where_a_person_would_wait_no_longer(monkeypatch):
    monkeypatch.setattr(Purse, "owes", lambda self, depth: False)
    assert looks_after_loops(FakeClock(), 12, seconds=10.0) == 1
    # That of the outermost loop takes the place of the last look.
    assert looks_after_loops(FakeClock(), 12, seconds=10.0, outermost=True) == 5


class Kept:
    """What leaks: 2 kB each, which shows in the memory of any process."""

    def __init__(self) -> None:
        self.data = bytearray(2_000)


kept: list[Kept] = []


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(("leaks", "ends"), [(True, 1), (False, 0)])
def test_who_holds_what_grew_is_asked_once_after_a_last_generation_that_could_not_afford_it(
    monkeypatch, leaks, ends, is_told
):
    allows = Purse.allows
    monkeypatch.setattr(
        Purse,
        "allows",
        lambda self, depth, *more: depth is not Depth.HOLDERS and allows(self, depth, *more),
    )
    monkeypatch.setattr(policy, "reason_to_look", lambda *known, last=False: "spread")
    kept.clear()
    with LeakGuard(report=None, trace="off") as guard:
        for _ in range(8):
            with guard.generation() as generation:
                kept.extend(Kept() for _ in range(50 if leaks else 0))
        if is_told:
            generation.loop_over()
    asked = [s.moment for s in guard.run.snapshots if s.holders]
    assert [s.moment for s in guard.run.snapshots].count("end") == ends
    assert asked == ["end"] * ends
    holders = [f.held_by for f in guard.report().findings]
    assert holders == [f"{__name__}.kept[*]"] * ends


class Rollout:
    """What leaks, and is little beside the numbers in it."""

    def __init__(self) -> None:
        self.rewards = [float(step) for step in range(20_000)]


rollouts: list[Rollout] = []


def train(out: str, looked_at: set[int]) -> None:
    """Leak one a generation where no other generation can be looked at."""

    def reason(known: Any, purse: Any, loop: LoopSoFar, *, last: bool = False) -> str | None:
        return "spread" if loop.index in looked_at else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "reason_to_look", reason)
        patch.setattr(Looker, "affords_holders", False)
        patch.setattr(Looker, "start", Looker.census)
        with LeakGuard(out=out, report=None, trace="off") as guard:
            for _ in range(12):
                with guard.generation():
                    rollouts.append(Rollout())


@pytest.mark.parametrize("looked_at", [{1}, {1, 10}, {1, 11}, {5}, {1, 5}, {3, 6, 9}])
def test_report_is_the_same_whichever_few_generations_were_looked_at(tmp_path, looked_at):
    # A process of its own: what other tests have left in this one would come and go meanwhile.
    out, name = str(tmp_path / "run.jsonl"), __name__.rpartition(".")[2]
    subprocess.run(
        [sys.executable, "-c", f"import {name}; {name}.train({out!r}, {looked_at})"],
        cwd=Path(__file__).parent,
        check=True,
    )
    (finding,) = diagnose(load(out)).findings
    assert (finding.type, finding.held_by) == (f"{name}.Rollout", f"{name}.rollouts[*]")
    assert (finding.verdict, finding.started_at) == ("leak", 1)
    assert finding.count_per_generation == pytest.approx(1, rel=0.01)
