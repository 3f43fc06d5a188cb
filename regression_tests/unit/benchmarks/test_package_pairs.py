"""Which words of the guard count as naming a leak, and which pairs count at all."""

from __future__ import annotations

import pytest

from leakguard.model import Finding
from regression_tests.benchmarks.packages import pairs
from regression_tests.benchmarks.packages.outcome import Outcome, names
from regression_tests.benchmarks.packages.pair import PAIRS
from regression_tests.benchmarks.packages.said import Said
from regression_tests.benchmarks.packages.table import nature, page

assert pairs

KEPT = PAIRS["babel_patterns"]
LOST = PAIRS["ujson_failed_write"]


def finding(**facts: object) -> Finding:
    """Return a finding that says leak, with these facts."""
    whole = {"fingerprint": "x", "kind": "native", "verdict": "leak", "pattern": "growing"}
    return Finding(**{**whole, "reason": "it grows", **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pair", "facts"),
    [
        (KEPT, {"type": "babel.dates.DateTimePattern"}),
        (KEPT, {"held_by": "babel.dates._pattern_cache[*]"}),
        (LOST, {"created_at": "site-packages/ujson/thing.py:3 in dump"}),
        (
            LOST,
            {"created_stack": ("regression_tests/benchmarks/packages/pairs/in_c.py:40 in call",)},
        ),
    ],
)
def test_type_holder_package_and_calling_line_name_a_leak(pair, facts) -> None:
    assert names(finding(**facts), pair)


def test_another_type_and_another_place_name_nothing() -> None:
    other = finding(type="builtins.dict", held_by="json.cache", created_at="json/decoder.py:1 in f")
    assert not names(other, KEPT)
    assert not names(finding(), LOST)


def test_pair_counts_only_when_plain_numbers_tell_it_apart() -> None:
    said = Said("leak", (finding(type="builtins.str"),))
    calm = Said("stable")
    apart = Outcome(LOST, {"leaky": 180_000.0, "fixed": 100.0}, said, calm)
    alike = Outcome(LOST, {"leaky": 180_000.0, "fixed": 170_000.0}, said, calm)
    assert apart.right and not alike.right
    assert page([apart, alike], []).startswith("1 pairs of released versions")


def test_accused_fixed_version_is_a_false_alarm() -> None:
    accused = Said("suspect", (finding(verdict="suspect"),))
    outcome = Outcome(LOST, {"leaky": 180_000.0, "fixed": 0.0}, Said("stable"), accused)
    assert outcome.alarmed and not outcome.found
    assert "missed, false alarm" in page([outcome], [])


def test_enough_pairs_of_every_language_and_of_memory_without_an_object() -> None:
    assert len(PAIRS) >= 25
    assert {pair.language for pair in PAIRS.values()} == {"C", "C++", "Cython", "Python", "Rust"}
    assert sum(nature(pair) == "memory of no object" for pair in PAIRS.values()) >= 8
    assert all(pair.source and pair.leaky != pair.fixed for pair in PAIRS.values())
