"""A second leak that begins late: told beside the first one, whatever both weigh."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.case import Case
from leakguard.analysis.holders import holder_of_rest
from leakguard.analysis.place_in_loop import loose_start
from leakguard.analysis.sources.containers import containers
from leakguard.analysis.sources.types import types
from leakguard.model import Holder, Run
from leakguard.testing import RunStory, State

GENERATIONS, START = 60, 31
TICKET, CURSOR = "app.Ticket", "app.Cursor"
KB = 1_000
LOOKS = (1, 2, 3, 4, 5, 6, 12, 24, 30, 36, 42, 48, 54, 60)


def alive(name: str, generation: int) -> int:
    return 10 * generation if name == TICKET else 8 * max(0, generation - START + 1)


def told(each: dict[str, int]) -> Run:
    """Tell a run that keeps 10 tickets a generation, and 8 cursors from generation 31 on.

    Only the tickets' list was looked at often enough to be seen growing; the cursors' dict is found
    by the last look, and nothing is counted in phases.
    """
    story = RunStory()

    def state(generation: int, now: int, query: int) -> State:
        kept = {TICKET: alive(TICKET, generation), CURSOR: alive(CURSOR, query)}
        sizes = {name: count * each[name] for name, count in kept.items()}
        metrics = {"heap_in_use": 50_000 * KB + sum(sizes.values()), "rss": 100_000 * KB}
        return State(metrics, kept, sizes) if now in LOOKS else State(metrics, {}, {})

    story.baseline(state(0, 1, 0))
    for now in range(1, GENERATIONS + 1):
        story.generation(query=state(now - 1, 0, now), answer=state(now, now, now))
    run = story.run()
    return replace(run, snapshots=tuple(with_holders(s, each) for s in run.snapshots))


def with_holders(snapshot, each: dict[str, int]):
    number = snapshot.generation
    if snapshot.moment != "generation" or number not in LOOKS:
        return snapshot
    place, entries = LOOKS.index(number), alive(TICKET, number)
    before = alive(TICKET, LOOKS[place - 1]) if place else None
    held = [
        Holder("app.desk.tickets[*]", TICKET, entries, before, place,
               retained_bytes=entries * each[TICKET])
    ]  # fmt: skip
    if number == GENERATIONS:
        late = alive(CURSOR, number)
        held.append(Holder("app.desk.cursors[*]", CURSOR, late, retained_bytes=late * each[CURSOR]))
    return replace(snapshot, holders=tuple(held))


@pytest.mark.parametrize(
    "cursor", [8 * KB, 20 * KB, 40 * KB], ids=["smaller", "as much over the run", "larger"]
)
def test_second_leak_that_weighs_like_the_first_is_told_with_its_own_holder_and_bytes(cursor):
    each = {TICKET: 8 * KB, CURSOR: cursor}
    findings = {finding.type: finding for finding in diagnose(told(each)).findings}
    assert findings.keys() == {TICKET, CURSOR}
    late = findings[CURSOR]
    assert late.held_by == "app.desk.cursors[*]"
    assert late.started_at == pytest.approx(START, abs=1)
    assert late.bytes_per_generation == pytest.approx(8 * cursor, rel=0.1)
    assert findings[TICKET].held_by == "app.desk.tickets[*]"
    assert findings[TICKET].bytes_per_generation == pytest.approx(80 * KB)


ONE_TYPE_LOOKS = frozenset({1, 2, 3, 4, 5, 6, 8, 45, 52, GENERATIONS})


def of_one_type(*, failures: int = 30, looks: frozenset[int] = ONE_TYPE_LOOKS) -> Run:
    """Tell a run that keeps 20 rows a generation, and ``failures`` more from generation 31 on.

    Looks followed the list of the first ones; the other one's was worth naming at the end only.
    """
    story = RunStory()

    def late(n: int) -> int:
        return failures * max(0, n - START + 1)

    def state(now: int, played: int, evaluated: int) -> State:
        rows = 20 * played + late(evaluated)
        metrics = {"heap_in_use": 50_000 * KB + 2 * KB * rows, "rss": 200_000 * KB}
        return State(metrics, {TICKET: rows}, {TICKET: 2 * KB * rows}) if now in looks else (
            State(metrics, {}, {})
        )  # fmt: skip

    story.baseline(state(1, 0, 0))
    for now in range(1, GENERATIONS + 1):
        story.generation(play=state(0, now, now - 1), evaluate=state(now, now, now))
    run = story.run()

    def held(snapshot):
        number = snapshot.generation
        if snapshot.moment != "generation" or number not in (3, 4, 5, GENERATIONS):
            return snapshot
        streak = (3, 4, 5, GENERATIONS).index(number)
        before = 20 * (number - 1) if number < GENERATIONS else 100
        holders = [Holder("app.log.played[*]", TICKET, 20 * number, before, streak,
                          retained_bytes=40 * KB * number)]  # fmt: skip
        if number == GENERATIONS and failures:
            size = 2 * KB * late(number)
            holders.append(Holder("app.log.failures[*]", TICKET, late(number), retained_bytes=size))
        return replace(snapshot, holders=tuple(holders))

    return replace(run, snapshots=tuple(map(held, run.snapshots)))


def test_two_leaks_of_one_type_each_have_their_holder_phase_start_and_bytes():
    found = {finding.held_by: finding for finding in diagnose(of_one_type()).findings}
    assert found.keys() == {"app.log.played[*]", "app.log.failures[*]"}
    played, failures = found["app.log.played[*]"], found["app.log.failures[*]"]
    assert (played.phase, failures.phase) == ("play", "evaluate")
    assert played.started_at == 1
    assert failures.started_at == pytest.approx(START, abs=1)
    assert played.bytes_per_generation == pytest.approx(40 * KB, rel=0.1)
    assert failures.bytes_per_generation == pytest.approx(60 * KB, rel=0.1)


def test_one_leak_of_a_type_has_one_finding():
    (finding,) = diagnose(of_one_type(failures=0)).findings
    assert finding.held_by == "app.log.played[*]"


def test_container_that_one_look_alone_saw_filled_began_after_the_look_before():
    case = Case(of_one_type(looks=frozenset({1, 2, 3, 4, 5, START - 1, GENERATIONS})))
    (growing,) = types(case)
    found = holder_of_rest(case, growing, containers(case))
    assert found is not None
    assert found.name == "app.log.failures[*]"
    assert START - 1 <= (loose_start(case, found) or 0) <= GENERATIONS
