"""Garbage that nobody collects is a leak, and garbage that the program collects in time is none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from leakguard import diagnose
from leakguard.analysis.sources.containers import NO_ROOT
from leakguard.model import Census, Collection, Cost, Holder, Run, RunInfo, Snapshot, TypeCount
from leakguard.model.holder import Hop

KB, MB = 1_000, 1_000_000
NODE = "app.Node"
#: Nodes, and bytes, that each generation makes in a cycle.
MADE, SIZE = 300, 100 * KB
#: The guard counts in generations 1 to 6, and collects after the fifth.
COLLECTED, LAST = 5, 400


def end(generation: int, metrics: Mapping[str, int], *, looked: bool, **more) -> Snapshot:
    """Tell the end of a generation, with a census if it was looked at."""
    return Snapshot(
        generation,
        f"Gen {generation}: End of generation",
        "generation",
        generation=generation,
        metrics=metrics,
        cost=Cost(0.01, int(looked)),
        **more,
    )


def told(left: int, *, enabled: int = 0, holders: Mapping[int, Holder] | None = None) -> Run:
    """Tell a run at whose last look ``left`` nodes are there."""
    shots = []
    for generation in (*range(1, 7), *range(16, LAST, 16), LAST):
        since = generation - COLLECTED if generation > COLLECTED else generation
        count = left if generation == LAST else MADE * since
        looked = generation <= 6 or generation == LAST
        # The program collects every sixteen generations where less is left than was made.
        kept = count if looked else MADE * since if left == MADE * (LAST - COLLECTED) else MADE
        freed = Collection(MADE * COLLECTED, bytes=SIZE * COLLECTED, types={NODE: MADE * COLLECTED})
        held = (holders or {}).get(generation)
        shots.append(
            end(
                generation,
                {
                    "rss": 60 * MB + SIZE // MADE * kept,
                    "heap_in_use": 5 * MB,
                    "python_in_use": 10 * MB + SIZE // MADE * kept,
                    "gc_enabled": enabled,
                    "gc_full_collections": int(generation > COLLECTED),
                },
                census=Census({NODE: TypeCount(count, 56 * count)}) if looked else None,
                collection=freed if generation == COLLECTED else None,
                holders=() if held is None else (held,),
                looked=looked,
            )
        )
    return Run(RunInfo(), tuple(shots), finished=True)


PILED = MADE * (LAST - COLLECTED)


def test_garbage_of_a_program_without_collector_is_a_leak_however_little_was_freed():
    (finding,) = diagnose(told(PILED)).findings
    assert (finding.verdict, finding.kind, finding.type) == ("leak", "cycles", NODE)
    assert finding.count_per_generation == MADE


@pytest.mark.parametrize("left", [0, MADE])
def test_garbage_that_the_program_collects_by_itself_now_and_then_is_none(left):
    assert diagnose(told(left)).verdict == "stable"


def test_what_is_garbage_while_the_loop_goes_on_was_not_let_go_of_after_it():
    path = f"{NODE}.children[*]"

    def tree(root: str, entries: int) -> Holder:
        return Holder(path, NODE, entries, trace=(Hop(root, NODE), Hop(".children", "list")))

    holders = {4: tree("local root in main()", 4), COLLECTED: tree(NO_ROOT, 600)}
    (finding,) = diagnose(told(PILED, holders=holders)).findings
    assert (finding.kind, finding.type) == ("cycles", NODE)


@pytest.mark.parametrize(("off", "kinds"), [(36, ["cycles"]), (None, [])])
def test_garbage_since_the_collector_was_switched_off_is_told_whatever_it_freed_before(off, kinds):
    """Until then the counts fall to nothing; at the last look the guard collects."""
    shots = []
    for generation in range(1, 91):
        is_off = off is not None and generation >= off
        left = MADE * (generation - off + 1) if is_off else 0
        looked = generation in (2, 3, 4, 12, 46, 90)
        metrics = {
            "rss": 60 * MB + SIZE // MADE * left,
            "heap_in_use": 5 * MB,
            "python_in_use": 10 * MB + SIZE // MADE * left,
            "gc_enabled": int(not is_off),
            "gc_full_collections": min(generation, off or generation) // 5,
        }
        shots.append(
            end(
                generation,
                metrics,
                census=Census({NODE: TypeCount(left, 56 * left)}) if looked else None,
                collection=Collection(left, bytes=SIZE // MADE * left, types={NODE: left})
                if generation == 90 and left
                else None,
                looked=looked,
            )
        )
    findings = diagnose(Run(RunInfo(), tuple(shots), finished=True)).findings
    assert [finding.kind for finding in findings] == kinds
    for finding in findings:
        assert (finding.verdict, finding.type, finding.started_at) == ("leak", NODE, off)
        assert finding.count_per_generation == MADE
        assert "gc.disable()" in finding.fix


# -- a collector that comes, and has not come yet --------------------------------------------------


def waiting(type_: str, kept: Mapping[int, int]) -> Run:
    """Tell 40 generations whose collector is on: ``kept`` are the objects that each look found.

    Each has 100 kB. The look at the end collects them.
    """
    shots = []
    for generation in range(1, 41):
        before = max(at for at in kept if at <= generation)
        after = min(at for at in kept if at >= generation)
        share = (generation - before) / max(after - before, 1)
        count = round(kept[before] + share * (kept[after] - kept[before]))
        size = 100 * KB * count
        types = {type_: count, "dict": count}
        shots.append(
            end(
                generation,
                {
                    "rss": 60 * MB + size,
                    "heap_in_use": 5 * MB + size,
                    "python_in_use": 10 * MB,
                    "gc_enabled": 1,
                    "gc_full_collections": 0,
                },
                census=Census({name: TypeCount(count, size) for name in types})
                if generation in kept
                else None,
                collection=Collection(count, bytes=size, types=types) if generation == 40 else None,
                looked=generation in kept,
            )
        )
    return Run(RunInfo(), tuple(shots), finished=True)


def test_garbage_of_a_library_that_waits_for_the_collector_explains_the_memory_that_it_takes():
    report = diagnose(waiting("ctypes.c_char_Array_99000", {1: 2, 2: 4, 10: 20, 20: 40, 40: 80}))
    assert (report.verdict, report.findings) == ("stable", ())
    assert {cleared.metric for cleared in report.cleared} == {"garbage in cycles"}


def test_some_garbage_at_the_end_is_no_growth():
    assert diagnose(waiting(NODE, {1: 20, 2: 22, 40: 18})).findings == ()


def test_garbage_that_piles_up_until_the_end_is_a_leak_of_cycles():
    (finding,) = diagnose(waiting(NODE, {1: 2, 2: 4, 10: 20, 20: 40, 40: 80})).findings
    assert (finding.verdict, finding.kind, finding.type) == ("leak", "cycles", NODE)
