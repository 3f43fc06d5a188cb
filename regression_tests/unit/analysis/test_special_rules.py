"""Defects that are no pile of objects, each with a healthy twin, on runs told as stories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run, Site, Snapshot, TypeCount
from leakguard.model.holder import Hop
from leakguard.model.snapshot import Collection
from leakguard.testing import RunStory, State

MB = 1_000_000
BASE = {
    "rss": 200 * MB,
    "rss_anonymous": 150 * MB,
    "heap_in_use": 80 * MB,
    "heap_held": 5 * MB,
    "python_in_use": 20 * MB,
    "python_held": 1 * MB,
    "rss_shared": 0,
    "threads": 2,
    "open_files": 5,
    "gc_enabled": 1,
    "gc_frozen": 0,
}


def story(rounds: int = 10, **growth: float) -> Run:
    """Tell ten generations in whose phase ``work`` each named metric grows by so much."""
    told = RunStory()
    told.baseline(State(BASE, {"list": 1000}))
    for n in range(1, rounds + 1):
        told.generation(
            work=State({m: v + n * growth.get(m, 0) for m, v in BASE.items()}, {"list": 1000})
        )
    return told.run()


def kinds(run: Run) -> list[str]:
    return [finding.kind for finding in diagnose(run).findings]


def test_freed_memory_that_the_allocator_keeps_is_fragmentation_with_advice_that_fits():
    run = story(rss=8 * MB, rss_anonymous=8 * MB, heap_held=8 * MB)
    (finding,) = diagnose(run).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("fragmentation", "suspect", "work")
    assert "malloc_trim" in finding.fix


def test_fragmentation_with_many_threads_is_a_matter_of_arenas():
    run = story(rss=8 * MB, heap_held=8 * MB)
    many = tuple(replace(s, metrics={**s.metrics, "threads": 40}) for s in run.snapshots)
    (finding,) = diagnose(replace(run, snapshots=many)).findings
    assert "MALLOC_ARENA_MAX" in finding.fix


def test_freed_memory_is_no_finding_while_the_allocator_keeps_little_beside_what_is_in_use():
    report = diagnose(story(rss=MB // 2, rss_anonymous=MB // 2, heap_held=MB // 2))
    assert (report.verdict, report.findings) == ("stable", ())
    assert any("keeps 10.0 MB of freed memory" in each.reason for each in report.cleared)


def test_allocator_that_keeps_a_constant_amount_is_silent():
    assert kinds(story()) == []


def test_held_memory_that_grows_beside_live_memory_is_not_called_fragmentation():
    run = story(rss=16 * MB, rss_anonymous=16 * MB, heap_held=8 * MB, heap_in_use=8 * MB)
    assert "fragmentation" not in kinds(run)


def test_mapping_that_no_allocator_knows_is_native_and_has_no_holder():
    (finding,) = diagnose(story(rss=4 * MB, rss_anonymous=4 * MB)).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("native", "leak", "work")
    assert finding.held_by is None
    assert finding.bytes_per_generation == pytest.approx(4 * MB)


def test_native_memory_that_memray_was_asked_about_is_not_told_to_install_memray():
    run = story(rss=4 * MB, rss_anonymous=4 * MB, heap_in_use=4 * MB)
    (before,) = diagnose(run).findings
    assert "With memray installed" in before.fix
    *rest, last = run.snapshots
    traced = replace(last, sites=(Site("app.py:1", "step", 5_000, 1, tracer="memray"),))
    (after,) = diagnose(replace(run, snapshots=(*rest, traced))).findings
    assert "With memray installed" not in after.fix
    assert "it does not see what ctypes calls" in after.fix


def test_pools_that_grow_under_nothing_that_can_be_reached_are_lost_by_an_extension():
    run = story(rss_anonymous=4 * MB, rss=4 * MB, python_in_use=4 * MB)
    (finding,) = diagnose(run).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("native", "leak", "work")
    assert finding.bytes_per_generation == pytest.approx(4 * MB)
    assert "small-object allocator but in no reachable object" in finding.reason
    assert "extension" in finding.fix


def test_pools_of_objects_that_a_census_sees_are_no_native_memory():
    run = story(rss_anonymous=4 * MB, rss=4 * MB, python_in_use=4 * MB)
    sized = []
    for snapshot in run.snapshots:
        number = snapshot.generation or 0
        types = {"app.Row": TypeCount(40_000 * number, 4 * MB * number)}
        census = replace(snapshot.census, types=types, bytes=4 * MB * number)
        sized.append(replace(snapshot, census=census))
    assert kinds(replace(run, snapshots=tuple(sized))) == ["instances"]


SPACE = {"vms": 900 * MB}


def _mapping(*added: int) -> Run:
    """Tell a run whose address space gains so many bytes in each generation."""
    told = RunStory()
    told.baseline(State({**BASE, **SPACE}, {"list": 1000}))
    size = SPACE["vms"]
    for more in added:
        size += more
        told.generation(work=State({**BASE, "vms": size}, {"list": 1000}))
    return told.run()


def test_mappings_that_nobody_touches_are_a_leak_of_address_space_and_of_no_memory():
    (finding,) = diagnose(_mapping(*[160_000] * 20)).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("native", "leak", "work")
    assert finding.bytes_per_generation is None
    assert "unmap" in finding.fix


def test_arenas_of_threads_that_come_now_and_then_are_no_leak_of_address_space():
    assert kinds(_mapping(*([0] * 6 + [64 * MB]) * 4)) == []


def test_shared_memory_that_stays_mapped_is_reported_with_its_fix():
    run = story(rss=2 * MB, rss_shared=2 * MB, open_files=1)
    shared = [f for f in diagnose(run).findings if f.type == "shared memory"]
    assert [(f.kind, f.verdict, f.phase) for f in shared] == [("native", "leak", "work")]
    assert "unlink()" in shared[0].fix


def test_shared_memory_whose_mappings_are_kept_by_views_has_the_holder_of_the_views():
    run = story(rss=2 * MB, rss_shared=2 * MB)
    way = (Hop(".base", "memoryview"), Hop(".obj", "mmap.mmap"))
    views = Holder("app.pinned[*]", "numpy.ndarray", 20, onward=way)
    seen = tuple(replace(s, holders=(views,)) for s in run.snapshots)
    shared = [f for f in diagnose(replace(run, snapshots=seen)).findings if f.kind == "native"]
    assert [(f.held_by, f.type) for f in shared] == [("app.pinned[*]", "mmap.mmap")]


@pytest.mark.parametrize("mappings", [0, 1])
def test_shared_memory_beside_as_large_a_leak_of_objects_is_that_of_mappings_that_become_more(
    mappings,
):
    told = RunStory()
    for n in range(1, 21):
        more = {"rss": 4 * MB, "rss_shared": 2 * MB, "heap_in_use": 2 * MB}
        metrics = {name: value + n * more.get(name, 0) for name, value in BASE.items()}
        counts = {"app.Order": 10 * n, "mmap.mmap": 5 + mappings * n}
        told.generation(work=State(metrics, counts, {"app.Order": 2 * MB * n, "mmap.mmap": 500}))
    shared = [f for f in diagnose(told.run()).findings if f.kind == "native"]
    assert [f.bytes_per_generation for f in shared] == [2 * MB] * mappings


@pytest.mark.parametrize(("mapped", "verdict"), [(0, "stable"), (2 * MB, "leak")])
def test_shared_pages_of_a_segment_that_was_mapped_once_are_no_leak(mapped, verdict):
    base = {**BASE, "vms": 9_000 * MB}
    told = RunStory()
    told.baseline(State(base, {"list": 1000}))
    for n in range(1, 21):
        grown = {"rss": 2 * MB, "rss_shared": 2 * MB, "vms": mapped}
        metrics = {name: value + n * grown.get(name, 0) for name, value in base.items()}
        told.generation(work=State(metrics, {"list": 1000}))
    report = diagnose(told.run())
    assert report.verdict == verdict
    assert bool([c for c in report.cleared if c.metric == "rss_shared"]) == (mapped == 0)


def _touched(in_use: list[int], touched: int) -> Run:
    """Tell a run that touches ``touched`` bytes more a generation of what it has in use."""
    told = RunStory()
    told.baseline(State({**BASE, "heap_in_use": in_use[0]}, {"list": 1000}))
    for n, size in enumerate(in_use, 1):
        metrics = {"rss": 200 * MB + n * touched, "rss_anonymous": 150 * MB + n * touched}
        told.generation(work=State({**BASE, **metrics, "heap_in_use": size}, {"list": 1000}))
    return told.run()


def test_memory_that_was_allocated_at_once_and_is_touched_bit_by_bit_is_no_leak():
    assert kinds(_touched([280 * MB] * 60, 400_000)) == []


def test_builtin_objects_without_a_holder_are_instances_that_an_extension_may_have_lost():
    told = RunStory()
    for n in range(1, 11):
        state = State({"rss": 100 * MB, "heap_in_use": 50 * MB + n * MB},
                      {"tuple": 30_000 + 3_000 * n}, {"tuple": MB * n})  # fmt: skip
        told.generation(work=state)
    run = told.run()
    looked = Holder("app.names[*]", "str", 10)
    seen = tuple(replace(s, holders=(looked,)) for s in run.snapshots)
    (finding,) = diagnose(replace(run, snapshots=seen)).findings
    assert (finding.kind, finding.type, finding.held_by) == ("instances", "tuple", None)
    assert "extension" in finding.fix


def test_objects_frozen_in_each_generation_are_a_collector_that_is_kept_from_its_work():
    (finding,) = diagnose(story(gc_frozen=500)).findings
    assert (finding.kind, finding.verdict) == ("cycles", "suspect")
    assert "once" in finding.fix


def test_memory_of_objects_that_are_frozen_again_and_again_is_theirs():
    run = story(gc_frozen=500, heap_in_use=2 * MB, rss=2 * MB, rss_anonymous=2 * MB)
    (finding,) = diagnose(run).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("cycles", "leak", "work")
    assert finding.bytes_per_generation == pytest.approx(2 * MB)


def test_objects_frozen_once_at_the_start_are_silent():
    run = story()
    frozen = tuple(replace(s, metrics={**s.metrics, "gc_frozen": 90_000}) for s in run.snapshots)
    assert kinds(replace(run, snapshots=frozen)) == []


def _environments_in_cycles(watch: dict[str, tuple[int, int] | None]) -> Run:
    """Tell a loop whose evaluations leave 16 environments in cycles.

    The collector comes by itself after every other generation and, in the fourth, amid the
    evaluation; the guard collects at the end of the sixth.
    """

    def state(environments: int) -> State:
        return State(BASE, {"app.Env": environments}, {"app.Env": environments * 400_000})

    told = RunStory(watch=watch)
    told.baseline(state(2))
    for evaluated, evolved in ((18, 18), (34, 2), (18, 18), (18, 2), (18, 2), (18, 18), (18, 2)):
        told.generation(evaluate=state(evaluated), train=state(evaluated), evolve=state(evolved))
    run = told.run()
    (sixth,) = (s for s in run.snapshots if (s.generation, s.moment) == (6, "generation"))
    collection = Collection(160, bytes=16 * 400_000, types={"app.Env": 16})
    return replace(
        run,
        snapshots=tuple(
            replace(s, collection=collection) if s is sixth else s for s in run.snapshots
        ),
    )


def test_cycles_the_collector_frees_in_between_are_told_by_what_their_phase_makes():
    (finding,) = diagnose(_environments_in_cycles({"app.Env": (2, 2)})).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("cycles", "suspect", "evaluate")
    assert (finding.count_per_generation, finding.bytes_per_generation) == (16, 16 * 400_000)


def test_cycles_the_collector_frees_are_silent_where_no_count_was_promised():
    assert kinds(_environments_in_cycles({})) == []
    assert kinds(_environments_in_cycles({"app.Env": None})) == []  # counted, nothing expected


def _checkpoints(peak: int, kept: int = 0) -> Run:
    def with_peak(snapshot: Snapshot) -> Snapshot:
        if snapshot.phase != "checkpoint":
            return snapshot
        after = {"peak": peak, "rss": BASE["rss"] + kept, "heap_held": kept}
        entry = {**BASE, "heap_held": 0}
        return replace(snapshot, metrics={**snapshot.metrics, **after}, entry=entry)

    told = RunStory()
    told.baseline(State(BASE, {"list": 1000}))
    for _ in range(6):
        told.generation(train=State(BASE, {"list": 1000}), checkpoint=State(BASE, {"list": 1000}))
    run = told.run()
    return replace(run, snapshots=tuple(map(with_peak, run.snapshots)))


def test_checkpoint_that_takes_its_size_twice_is_a_warning_and_no_leak():
    report = diagnose(_checkpoints(410 * MB))
    (finding,) = report.findings
    assert (finding.kind, finding.pattern, finding.phase) == ("peak", "transient", "checkpoint")
    assert finding.verdict not in ("leak", "suspect")
    assert report.verdict == "stable"
    assert "briefly takes 210 MB more" in finding.reason


def test_what_the_allocator_keeps_of_a_peak_was_given_back():
    (finding,) = diagnose(_checkpoints(410 * MB, kept=200 * MB)).findings
    assert (finding.kind, finding.phase) == ("peak", "checkpoint")


def test_checkpoint_that_is_streamed_is_silent():
    assert diagnose(_checkpoints(216 * MB)).findings == ()
