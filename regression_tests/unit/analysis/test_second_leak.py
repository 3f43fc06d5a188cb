"""A second leak that begins late: told beside the first one, whatever both weigh."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
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
