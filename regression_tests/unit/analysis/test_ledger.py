"""The ledger: parts that sum to the growth of RSS, and reasons where a part is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.rss_ledger import ledger, ledger_history
from leakguard.model import Census, Run, RunInfo, Snapshot, Storage
from leakguard.model.ledger import PARTS

MB = 10**6

START = {
    "rss": 500 * MB, "rss_anonymous": 440 * MB, "rss_file": 50 * MB, "rss_shared": 10 * MB,
    "heap_in_use": 300 * MB, "heap_held": 20 * MB, "python_in_use": 100 * MB,
    "python_held": 5 * MB, "swap": 0,
}  # fmt: skip
NO_GROWTH = dict.fromkeys(START, 0)


def census(tensors=0, arrays=0, others=0, cuda=0):
    return Census(
        bytes=tensors + arrays + others + cuda,
        arrays=Storage(1, 1, arrays),
        tensors={"cpu": Storage(1, 1, tensors), "cuda:0": Storage(1, 1, cuda)},
    )


def run_with(change, before=None, after=None, **more):
    end = {name: value + change.get(name, 0) for name, value in START.items()}
    return Run(
        RunInfo(),
        (
            Snapshot(0, "start", "baseline", metrics=START, census=before or census()),
            Snapshot(
                1, "end", "generation", generation=1, metrics=end, census=after or census(), **more
            ),
        ),
    )


def total(found):
    return sum(size for size in found.parts.values() if size is not None)


def test_every_part_is_told_apart_and_they_sum_to_the_growth():
    found = ledger(
        run_with(
            {"rss": 100 * MB, "heap_in_use": 75 * MB, "python_in_use": 8 * MB,
             "python_held": 1 * MB, "heap_held": 9 * MB, "rss_file": 2 * MB, "swap": 3 * MB},
            after=census(tensors=40 * MB, arrays=20 * MB, others=10 * MB),
        )
    )  # fmt: skip
    assert {name: size / MB for name, size in found.parts.items()} == {
        "tensors": 40, "arrays": 20, "python": 10, "native": 13, "interpreter": 1, "allocator": 9,
        "shared": 2, "swapped": -3, "unexplained": 8,
    }  # fmt: skip
    assert total(found) == found.growth == 100 * MB
    assert found.unknown == {}
    assert (found.since, found.until, found.generations) == ("start", "end", 1)


def test_tensors_on_other_devices_take_no_ram():
    found = ledger(run_with({}, after=census(cuda=900 * MB)))
    assert found.parts["tensors"] == 0
    assert found.parts["python"] == 0


def test_untouched_arrays_make_the_rest_negative_and_the_sum_still_holds():
    found = ledger(run_with({"heap_in_use": 200 * MB}, after=census(arrays=200 * MB)))
    assert found.parts["unexplained"] == -200 * MB
    assert total(found) == found.growth == 0


@pytest.mark.parametrize(
    ("missing", "unknown"),
    [
        (("heap_in_use", "heap_held"), {"native", "allocator"}),
        (("python_in_use", "python_held"), {"native", "interpreter"}),
        (("rss_file",), {"shared"}),
        (("swap",), {"swapped"}),
    ],
)
def test_unknown_parts_are_null_with_a_reason_and_go_into_the_rest(missing, unknown):
    run = run_with({"rss": 50 * MB, "heap_in_use": 50 * MB}, after=census(arrays=50 * MB))
    poor = tuple(
        replace(s, metrics={k: v for k, v in s.metrics.items() if k not in missing})
        for s in run.snapshots
    )
    found = ledger(replace(run, snapshots=poor))
    assert {name for name, size in found.parts.items() if size is None} == unknown
    assert set(found.unknown) == unknown
    assert all(found.unknown.values())
    assert total(found) == found.growth == 50 * MB


def test_reason_is_the_probe_s_own_where_it_gave_one():
    reason = "the allocator is jemalloc; in-use bytes are known for glibc"
    run = run_with({}, unavailable={"allocator": reason})
    blind = tuple(
        replace(s, metrics={k: v for k, v in s.metrics.items() if k != "heap_held"})
        for s in run.snapshots
    )
    assert ledger(replace(run, snapshots=blind)).unknown["allocator"] == reason


def test_log_that_knows_only_rss_leaves_the_whole_growth_unexplained():
    shots = tuple(
        Snapshot(i, f"s{i}", "generation", generation=i, metrics={"rss": (5 + i) * MB})
        for i in range(4)
    )
    found = ledger(Run(RunInfo(source="log"), shots))
    assert found.parts == {**dict.fromkeys(PARTS), "unexplained": 3 * MB}
    assert set(found.unknown) == set(PARTS) - {"unexplained"}


def test_last_generation_that_was_counted_is_taken_not_one_that_was_skipped():
    run = run_with({"rss": 10 * MB})
    skipped = replace(run.snapshots[1], serial=2, label="skipped", generation=2, census=None)
    assert ledger(replace(run, snapshots=(*run.snapshots, skipped))).until == "end"


def test_run_with_one_moment_has_no_ledger():
    run = run_with({})
    assert ledger(replace(run, snapshots=run.snapshots[:1])) is None
    assert ledger(replace(run, snapshots=())) is None


def test_diagnosis_carries_the_ledger():
    report = diagnose(run_with({"rss": 7 * MB}))
    assert report.ledger.growth == 7 * MB


def test_history_has_a_ledger_for_each_sized_generation_thinned_to_the_latest():
    end = {**START, "rss": START["rss"] + MB}
    shots = [Snapshot(0, "start", "baseline", metrics=START, census=census())]
    shots += [
        Snapshot(g, f"g{g}", "generation", generation=g, metrics=end, census=census(arrays=g))
        for g in range(1, 101)
    ]
    shots[7] = replace(shots[7], census=None)
    run = Run(RunInfo(), tuple(shots))
    assert len(ledger_history(run, most=200)) == 99
    thin = ledger_history(run, most=10)
    assert len(thin) == 10
    assert thin[-1].generation == 100
    assert all(total(one) == one.growth for one in thin)
    assert [one.parts["arrays"] for one in thin] == [one.generation for one in thin]
