"""What births say of memory that no holder has, beside what a look found held."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_births_tell import MB, ROUNDS, birthplace, holder, run

from leakguard import diagnose
from leakguard.model import Births, Census, Collection, Holder, TypeCount

KB = 1_000
LARGE = holder("app.kept[*]", birthplace(7, [MB] * ROUNDS))


def looked(*holders, unheld, gains, collection=None):
    """Tell a run whose last look told apart what no holder has; memory gains ``gains`` bytes."""
    places = tuple(place for h in holders for place in h.born) + unheld
    births = Births(sum(p.bytes for p in places), 0.0, 1.0, 4_096.0, places, samples=99)
    told = run(*holders, births=births, gains=gains)
    last = max(s.serial for s in told.snapshots if s.holders or s.births)
    counted = Census({"app.Frame": TypeCount(ROUNDS, ROUNDS * KB)})
    return replace(
        told,
        snapshots=tuple(
            replace(s, unheld=unheld, collection=collection, census=counted)
            if s.serial == last
            else s
            for s in told.snapshots
        ),
    )


def findings(told):
    return {(f.held_by, f.created_at): f for f in diagnose(told).findings}


def test_small_rest_that_lines_left_in_no_holder_is_a_leak_for_each_line():
    left = (birthplace(20, [60 * KB] * ROUNDS), birthplace(30, [50 * KB] * ROUNDS))
    found = findings(looked(LARGE, unheld=left, gains=MB + 110 * KB))
    lines = {(None, "train.py:20 in f20"): 60 * KB, (None, "train.py:30 in f30"): 50 * KB}
    assert set(found) == {("app.kept[*]", "train.py:7 in f7"), *lines}
    for line, rate in lines.items():
        assert found[line].verdict == "leak"
        assert found[line].bytes_per_generation == pytest.approx(rate, rel=0.1)


def test_small_rest_that_no_line_left_is_not_told():
    few = (birthplace(20, [0] * (ROUNDS - 3) + [400 * KB] * 3),)  # it is still in use
    assert set(findings(looked(LARGE, unheld=few, gains=MB + 110 * KB))) == {
        ("app.kept[*]", "train.py:7 in f7")
    }


def test_garbage_that_was_made_all_along_explains_what_its_collection_freed():
    born = (birthplace(20, [100 * KB] * ROUNDS),)
    freed = Collection(9_000, bytes=ROUNDS * 200 * KB, types={"float": 9_000}, born=born)
    report = diagnose(looked(unheld=(), gains=200 * KB, collection=freed))
    assert (report.verdict, report.findings) == ("stable", ())

    young = replace(freed, born=(birthplace(20, [0] * (ROUNDS - 2) + [MB] * 2),))
    assert diagnose(looked(unheld=(), gains=200 * KB, collection=young)).findings


def test_few_large_entries_that_one_look_saw_are_no_trifle_beside_a_larger_leak():
    entries = ROUNDS // 4  # one in four generations
    born = (birthplace(20, [17 * KB / 4] * ROUNDS),)
    hooks = Holder("app.hooks[*]", "function", entries, retained_bytes=entries * 17 * KB, born=born)
    found = findings(looked(LARGE, hooks, unheld=(), gains=MB + 5 * KB))
    assert "app.hooks[*]" in {held_by for held_by, _ in found}
