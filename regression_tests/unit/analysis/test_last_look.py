"""A run whose last look came after its loop, when the program had made other things."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.case import Case
from leakguard.model import Census, Holder, Run, RunInfo, Snapshot, TypeCount

KB, MB = 1_000, 1_000_000
#: Bytes that each of the errors which an agent keeps takes in its list.
EACH = 40
ERROR = "numpy.float64"
#: Generations that are on record, of which some were looked at; the loop went on to the last one.
RECORDED = range(8, 481, 8)
LOOKS = (8, 48, 112, 144, 176)
LAST = 500


def errors(generation: int) -> int:
    """Episodes become a little longer as the agent learns."""
    return round(285 * generation + 0.022 * generation**2)


def snapshot(serial: int, generation: int, more: int = 0) -> Snapshot:
    kept = errors(generation)
    number = generation if generation in RECORDED else RECORDED[-1] + 16
    metrics = {"heap_in_use": 40 * MB + more, "python_in_use": 50 * MB + EACH * kept}
    is_looked_at = generation in (*LOOKS, LAST)
    types = {ERROR: TypeCount(kept, 32 * kept), "list": TypeCount(900, 80 * KB)}
    return Snapshot(
        serial,
        f"Gen {number}: End of generation",
        "end" if generation == LAST else "generation",
        generation=number,
        metrics=metrics,
        census=Census(types) if is_looked_at else None,
        holders=holders(generation, more) if generation in (48, 176, LAST) else (),
    )


def holders(generation: int, more: int) -> tuple[Holder, ...]:
    streak = (48, 176, LAST).index(generation)
    kept = errors(generation)
    held = [Holder("app.agent.errors[*]", ERROR, kept, streak=streak, retained_bytes=EACH * kept)]
    if more:
        held.append(Holder("app.axes[*]._children[*]", "app.Line", 180, retained_bytes=more))
    return tuple(held)


def told(*, figures: int) -> Run:
    ends = [snapshot(serial, generation) for serial, generation in enumerate(RECORDED)]
    return Run(RunInfo(), (*ends, snapshot(len(ends), LAST, figures)))


@pytest.mark.parametrize("figures", [0, 6 * MB, 60 * MB])
def test_what_is_made_after_the_loop_is_not_what_grew_in_it(figures):
    leading = diagnose(told(figures=figures)).findings[0]
    assert (leading.verdict, leading.held_by) == ("leak", "app.agent.errors[*]")
    assert leading.type == ERROR
    assert leading.count_per_generation == pytest.approx(295, rel=0.05)


def test_last_look_is_of_the_generation_that_it_came_in():
    run = told(figures=0)
    counted = diagnose(run).findings[0].counts
    assert counted[-1] == errors(LAST)


def test_class_that_is_kept_after_the_loop_was_still_growing_in_it():
    run = told(figures=80 * MB)
    *ends, last = map(with_walks, run.snapshots)
    leading = diagnose(replace(run, snapshots=(*ends, last))).findings[0]
    assert (leading.type, leading.held_by) == ("app.Walk", "app.bus.listeners[*]")
    assert leading.count_per_generation == pytest.approx(20, rel=0.05)


def with_walks(told: Snapshot) -> Snapshot:
    """Tell of walks of 8 kB in place of errors, with what keeps them as long as they are there."""
    is_last = told.moment == "end"
    walks = 20 * (LAST if is_last else told.generation or 0)
    size = 8 * KB * walks
    held = Holder("app.bus.listeners[*]", "app.Walk", walks, streak=2, retained_bytes=size)
    axes = [h for h in told.holders if h.path.startswith("app.axes")]
    return replace(
        told,
        metrics={**told.metrics, "python_in_use": 50 * MB + size},
        census=told.census and Census({"app.Walk": TypeCount(walks, 64 * walks)}),
        holders=(held, *axes) if told.holders else (),
    )


@pytest.mark.parametrize(("left", "said"), [(0.0, "let go of it"), (1.0, "may lie in C code")])
def test_memory_that_is_gone_after_the_loop_may_have_been_an_object_s(left, said):
    """No class was seen to grow; only where the memory is still there are objects ruled out."""
    run = told(figures=0)
    snapshots = tuple(only_memory(s, left if s.moment == "end" else 1.0) for s in run.snapshots)
    leading = diagnose(replace(run, snapshots=snapshots)).findings[0]
    assert leading.kind == "native"
    assert said in leading.fix


def only_memory(told: Snapshot, left: float) -> Snapshot:
    gained = round(left * 100 * KB * (LAST if told.moment == "end" else told.generation or 0))
    census = told.census and Census({"list": TypeCount(900, 80 * KB)})
    metrics = {"heap_in_use": 40 * MB + gained, "python_in_use": 50 * MB}
    return replace(told, metrics=metrics, census=census, holders=())


def test_look_after_the_loop_stands_for_the_last_generation_also_if_that_was_passed_over():
    def end(n: int, passed: int | None = None) -> Snapshot:
        return Snapshot(
            n, f"Gen {n}", "generation", generation=n, passed=passed,
            metrics={"rss": 100 * MB + 20 * KB * n},
            census=Census({"app.Sample": TypeCount(20 * n, 20 * KB * n)}) if n < 4 else None,
        )  # fmt: skip

    look = replace(end(80, 20), moment="end", generation=None, census=Census(
        {"app.Sample": TypeCount(1_600, 1_600 * KB)}))  # fmt: skip
    ends = [*map(end, range(1, 13)), *(end(n, 11) for n in (24, 36, 48, 60))]
    (finding,) = diagnose(Run(RunInfo(), (*ends, look), finished=True)).findings
    assert finding.type == "app.Sample"
    assert finding.count_per_generation == pytest.approx(20, rel=0.01)


def test_holders_of_a_look_after_the_loop_are_of_the_generation_that_it_stands_for():
    def end(n: int, passed: int | None = None) -> Snapshot:
        kept = Holder("app.kept[*]", "app.Sample", 20 * n, bytes=KB * n, retained_bytes=20 * KB * n)
        return Snapshot(
            n, f"Gen {n}", "generation", generation=n, passed=passed,
            metrics={"rss": 100 * MB + 20 * KB * n},
            census=Census({"app.Sample": TypeCount(20 * n, 20 * KB * n)}) if n < 4 else None,
            holders=(kept,) if n in (3, 80) else (),
        )  # fmt: skip

    look = replace(end(80, 20), moment="end", generation=None, census=Census(
        {"app.Sample": TypeCount(1_600, 1_600 * KB)}))  # fmt: skip
    ends = [*map(end, range(1, 13)), *(end(n, 11) for n in (24, 36, 48, 60))]
    case = Case(Run(RunInfo(), (*ends, look), finished=True))
    assert [generation for generation, _ in case.held] == [3, 80]


def test_end_of_a_generation_is_its_end_also_where_a_phase_goes_on_after_it():
    inside = Snapshot(0, "Gen 1: End of generation", "generation", generation=1, passed=3)
    after = Snapshot(1, "Gen 1: After learn", "phase", "learn", generation=1)
    only = Snapshot(2, "Gen 2: After learn", "phase", "learn", generation=2)
    assert Run(RunInfo(), (inside, after, only)).generation_ends() == (inside, only)
