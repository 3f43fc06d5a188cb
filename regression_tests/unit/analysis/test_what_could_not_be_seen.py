"""What a report says of what its run could not show: the holder, the file's losses, the cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Cost, Holder, Run
from leakguard.render import facts
from leakguard.testing import RunStory, State

MB = 1_000_000
PROBE = "app.Probe"
ASKED_LATER = "who holds it is asked at a later look"


@pytest.fixture
def leaking() -> Run:
    """Ten probes more in each of eight generations, and nobody asked who holds them."""
    story = RunStory()
    for number in range(9):
        state = State({"heap_in_use": 80 * MB + number * MB}, {PROBE: 10 * number}, {PROBE: MB})
        if number:
            story.generation(train=state)
        else:
            story.baseline(state)
    return story.run()


def changed(run: Run, number: int, **fields) -> Run:
    """Change the end of a generation."""
    end = {s.serial for s in run.generation_ends() if s.generation == number}
    shots = (replace(s, **fields) if s.serial in end else s for s in run.snapshots)
    return replace(run, snapshots=tuple(shots))


def holder_told(run: Run) -> str | None:
    (finding,) = diagnose(run).findings
    assert finding.type == PROBE
    return next((f.value for f in facts.leak_facts(finding) if f.label == "Held by"), None)


def test_missing_holder_is_told_with_its_reason(leaking):
    unasked = changed(leaking, 5, unavailable={"holders": ASKED_LATER})
    assert holder_told(unasked) == f"unknown: {ASKED_LATER}"
    elsewhere = Holder("app.table[*]", "int", 40, retained_bytes=1000)
    asked = changed(unasked, 8, holders=(elsewhere,))
    assert holder_told(asked) == "unknown: no observed container gained as many"
    found = changed(asked, 8, holders=(Holder("app.probes[*]", PROBE, 80, retained_bytes=8 * MB),))
    assert holder_told(found) == "app.probes[*]"


def test_nothing_is_said_of_a_holder_where_nobody_could_tell_one(leaking):
    assert holder_told(leaking) is None


def test_losses_of_the_file_are_in_the_short_report(leaking):
    lost = "line 9 was skipped: JSON is malformed"
    assert lost in diagnose(replace(leaking, notes=(lost,))).limits


def test_tracing_is_part_of_what_the_guard_took(leaking):
    shots = (
        replace(s, seconds=float(n), census=None if n == 4 else s.census)
        for n, s in enumerate(leaking.snapshots)
    )
    run = replace(leaking, snapshots=tuple(shots))
    last = run.generation_ends()[-1].generation or 0
    run = changed(run, last - 1, cost=Cost(0.5, slowdown=2.0))
    said = next(line for line in diagnose(run).limits if line.startswith("objects were counted"))
    assert "the guard took " in said and said.endswith("% more")
    assert "tracing" not in " ".join(diagnose(changed(run, last - 1, cost=Cost(0.5))).limits)


def risen_at_last(measured: tuple[int, ...], rose: int) -> Run:
    """Tell a flat run of 90 generations whose memory was ``rose`` bytes more at the last."""
    story = RunStory()
    story.baseline(State({"heap_in_use": 90_000_000}, {}, {}))
    for number in range(1, 91):
        story.generation(
            work=State({"heap_in_use": 90_000_000 + (rose if number == 90 else 0)}, {}, {})
        )
    run = story.run()
    return replace(run, snapshots=tuple(s for s in run.snapshots if s.generation in measured))


@pytest.mark.parametrize(
    ("measured", "rose", "verdict"),
    [
        ((*range(1, 31), 45, 90), 16_000_000, "inconclusive"),
        ((*range(1, 31), 45, 90), 600_000, "stable"),
        (range(1, 91), 16_000_000, "stable"),
    ],
)
def test_rise_in_generations_that_were_not_measured_is_not_called_stable(measured, rose, verdict):
    report = diagnose(risen_at_last(tuple(measured), rose))
    assert (report.verdict, report.findings) == (verdict, ())
    assert ("in the last 45 generations" in report.headline) == (verdict == "inconclusive")
