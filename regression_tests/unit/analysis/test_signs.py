"""Each sign of a holder, asked by itself, and which of two signs decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.case import Case
from leakguard.analysis.holders import SIGNS, Sought, holder_of
from leakguard.model import Holder
from regression_tests.unit.analysis.test_few_looks import GENERATIONS, KB, PROBE, told

KEPT = Holder("app.kept[*]", PROBE, 100, retained_bytes=GENERATIONS * 50 * KB)
BY_NAME = {sign.name: sign for sign in SIGNS}


def asked(*held: Holder, looks: tuple[int, ...] = (2, 60, 100)) -> Case:
    """Return a run with as many probes as generations, whose last look finds ``held``."""
    return Case(told(looks=looks, start=1, held=held, counts=lambda n: {PROBE: n}))


def said(name: str, holder: Holder, *, rate: float = 1.0) -> bool:
    """Return whether a container has the sign of this name."""
    return BY_NAME[name].speaks_for(Sought(asked(holder), PROBE, rate, 100, True), holder)


@pytest.mark.parametrize(
    ("name", "entries", "element", "has_it"),
    [
        ("has all", 100, PROBE, True),
        ("has all", 80, PROBE, False),
        ("has all", 100, "app.Other", False),
        ("has one each", 100, "method", True),
        ("has one each", 99, "method", False),
        ("has one each", 100, "app.Other", False),
        ("has most", 50, PROBE, True),
        ("has most", 49, PROBE, False),
        ("gained most", 100, PROBE, False),  # one look cannot show a gain
    ],
)
def test_sign_is_seen_where_it_is_meant(name, entries, element, has_it):
    assert said(name, replace(KEPT, entries=entries, element=element)) is has_it


def test_as_many_entries_as_another_rate_would_give_are_not_all():
    assert not said("has all", KEPT, rate=2.0)


def test_strongest_sign_decides_and_of_equals_the_first():
    most = replace(KEPT, path="app.most[*]", entries=80)
    one_each = replace(KEPT, path="app.hooks[*]", element="method")
    more = replace(KEPT, path="app.more[*]", entries=60)
    for held, holder in (((most, one_each), one_each), ((more, most), more), ((most,), most)):
        found = holder_of(asked(*held), PROBE, 1.0)
        assert found is not None and found.name == holder.path
    halves = (replace(KEPT, path="app.one[*]", entries=60), replace(KEPT, entries=60))
    found = holder_of(asked(*halves), PROBE, 0.1)
    assert found is not None and found.name == halves[0].path


def test_holder_that_must_have_gained_is_not_one_that_has_most():
    most = replace(KEPT, entries=60)
    assert holder_of(asked(most), PROBE, 0.1) is not None
    assert holder_of(asked(most), PROBE, 0.1, must_gain=True) is None


def test_container_of_one_look_says_what_it_gained_and_not_at_how_many_looks():
    outer = Holder("app.kept[*]", "app.Rollout", 100, before=4, bytes=800, retained_bytes=5_000_000)
    size = GENERATIONS * 50 * KB
    inner = Holder("app.kept[*].rewards[*]", "float", 200_050, bytes=size, retained_bytes=size)
    held = (outer, inner)
    run = told(looks=(2, 60, 100), start=1, held=held, counts=lambda n: {"float": 2_000 * n})
    (finding,) = diagnose(run).findings
    assert finding.type == "app.Rollout"
    assert finding.reason.startswith("app.kept[*] gained 1 entry per generation since")
