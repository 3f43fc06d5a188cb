"""What grows by next to nothing, or towards a bound of its own, is no leak."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run, TypeCount
from leakguard.testing import RunStory, State

RECORD = "app.Record"
PATH = "app.history"
GENERATIONS = 12


def run_of(
    size: int,
    *,
    each: int = 4,
    capacity: int | None = None,
    watch: bool = False,
    in_use: int = 0,
    of: str = RECORD,
    **metrics: int,
) -> Run:
    """Tell a run that adds ``each`` records of ``size`` bytes a generation to one list.

    ``in_use`` is what the process gains a generation beside; ``metrics`` likewise.
    """
    story = RunStory(watch={RECORD: None} if watch else {})

    def state(n: int) -> State:
        count = each * n
        taken = {"heap_in_use": 100_000_000 + n * in_use + count * size}
        beside = {name: 10 + n * more for name, more in metrics.items()}
        return State({**taken, **beside}, {of: count}, {of: count * size})

    story.baseline(state(0))
    for number in range(1, GENERATIONS + 1):
        story.generation(collect=state(number - 1), note=state(number))
    run = story.run()
    snapshots = tuple(
        replace(s, holders=(_holder(each * s.generation, each, size, capacity, s.generation, of),))
        if s.moment == "generation"
        else s
        for s in run.snapshots
    )
    return replace(run, snapshots=snapshots)


def _holder(
    entries: int, each: int, size: int, capacity: int | None, number: int, of: str
) -> Holder:
    return Holder(
        path=f"{PATH}[*]",
        element=of,
        entries=entries,
        before=entries - each if number > 1 else None,
        streak=number - 1,
        capacity=capacity,
        retained_bytes=entries * size,
        fingerprint="0123456789ab",
    )


def test_a_record_or_two_a_generation_is_no_leak_and_is_mentioned():
    report = diagnose(run_of(size=120, each=2))
    assert (report.verdict, report.findings) == ("stable", ())
    (cleared,) = report.cleared
    assert cleared.metric == f"{PATH}[*]"
    assert "240 B per generation" in cleared.reason


@pytest.mark.parametrize(
    "run",
    [
        run_of(size=5_000),
        run_of(size=120, watch=True),
        run_of(size=120, in_use=2_000_000),
        run_of(size=120, open_files=4),
    ],
    ids=["kilobytes", "watched", "in front of native memory", "in front of files"],
)
def test_more_than_that_is_a_leak_with_its_holder(run):
    report = diagnose(run)
    assert report.verdict == "leak"
    assert f"{PATH}[*]" in {finding.held_by for finding in report.findings}


def test_numbers_do_not_stand_for_files_that_grow_beside_them():
    report = diagnose(run_of(size=32, each=1, of="float", open_files=4))

    assert f"{PATH}[*]" not in {finding.held_by for finding in report.findings}
    assert f"{PATH}[*]" in {cleared.metric for cleared in report.cleared}


def test_a_list_with_room_fills_until_a_known_generation():
    report = diagnose(run_of(size=200_000, capacity=80))
    assert (report.verdict, report.findings) == ("stable", ())
    (cleared,) = report.cleared
    assert (cleared.pattern, cleared.plateau, cleared.until) == ("filling", 80, 20)
    assert cleared.reason == f"{PATH}[*] fills until generation 20: 48 of 80"


def test_a_list_whose_room_grows_with_it_is_a_leak():
    run = run_of(size=200_000, capacity=0)
    snapshots = tuple(
        replace(s, holders=tuple(replace(h, capacity=2 * h.entries) for h in s.holders))
        for s in run.snapshots
    )
    assert diagnose(replace(run, snapshots=snapshots)).verdict == "leak"


def test_what_grows_beside_a_filling_list_is_not_excused():
    report = diagnose(run_of(size=20_000, capacity=80, in_use=5_000_000))
    assert [finding.kind for finding in report.findings] == ["native"]


def test_what_a_leak_brings_along_in_small_is_not_named_beside_it():
    run = run_of(size=300_000, in_use=4_000_000)
    noted = Holder("app.notes[*]", "app.Note", 1, streak=1, fingerprint="ba9876543210")

    def with_note(s):
        number = s.generation or 0
        entry = replace(noted, entries=number, streak=number - 1, retained_bytes=200 * number)
        types = {**s.census.types, "app.Note": TypeCount(number, 200 * number)}
        holders = (*s.holders, entry) if s.moment == "generation" else s.holders
        return replace(s, holders=holders, census=replace(s.census, types=types))

    report = diagnose(replace(run, snapshots=tuple(map(with_note, run.snapshots))))
    assert {f.held_by for f in report.findings if f.held_by} == {f"{PATH}[*]"}
    assert "app.notes[*]" in {cleared.metric for cleared in report.cleared}
