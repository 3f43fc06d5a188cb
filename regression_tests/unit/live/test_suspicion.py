"""When a look at who holds what is asked for, and of which classes."""

from __future__ import annotations

import pytest

from leakguard.live.suspicion import Suspicion
from leakguard.model import TypeCount


def notes(*counts: int, name: str = "app.Ticket") -> tuple[list[bool], Suspicion]:
    suspicion = Suspicion()
    return [suspicion.note({name: TypeCount(count, 100 * count)}) for count in counts], suspicion


def test_class_that_grew_in_two_rounds_is_suspicious():
    said, suspicion = notes(5, 10, 15)
    assert said == [False, False, True]
    assert suspicion.suspects() == ["app.Ticket"]


def test_class_that_grows_in_every_second_round_stays_suspicious_while_it_rests():
    said, _ = notes(5, 10, 10, 15, 15, 20, 20)
    assert said == [False, False, False, True, True, True, True]


def test_class_that_stopped_growing_is_no_longer_suspicious():
    said, suspicion = notes(5, 10, 15, 15, 15)
    assert said[-2:] == [False, False]
    assert suspicion.suspects() == []


def test_class_that_falls_back_begins_anew():
    said, _ = notes(5, 10, 3, 10, 15)
    assert not any(said[:4])


def test_builtin_types_ask_for_a_look_after_three_rises_and_for_no_holder():
    said, suspicion = notes(50, 75, 100, 125, name="dict")  # of 100 bytes each
    assert said == [False, False, False, True]
    assert suspicion.suspects() == []


def test_builtins_that_rest_in_between_ask_for_a_look_only_when_they_are_many():
    few, _ = notes(*(50 + 25 * (round_ // 2) for round_ in range(12)), name="dict")
    many, _ = notes(*(50 + 90 * (round_ // 2) for round_ in range(12)), name="dict")
    assert not any(few)
    assert many[-1]


def test_record_of_every_round_asks_for_nothing():
    said, _ = notes(*range(50, 110, 4), name="dict")
    assert not any(said)


def test_patterns_that_the_standard_library_caches_ask_for_nothing():
    said, _ = notes(*range(50, 80, 2), name="re.Pattern")
    assert not any(said)


def test_memory_that_goes_on_growing_is_suspicious_whatever_the_types_say():
    suspicion = Suspicion()
    sizes = [100_000_000 + 500_000 * number for number in range(4)]
    assert [suspicion.note_memory(size) for size in sizes] == [False, False, True, True]


def test_memory_that_gains_little_a_generation_climbs_from_look_to_look():
    suspicion, alongside = Suspicion(), Suspicion()
    sizes = [100_000_000 + 10_000 * number for number in range(120)]
    assert not any(suspicion.note_memory(size) for size in sizes)
    looks = [alongside.note_memory_at_look(size) for size in sizes[::39]]
    assert looks == [False, False, True, True]


def test_memory_that_sways_is_not_suspicious():
    suspicion = Suspicion()
    sizes = [100_000_000 + 200_000 * (number % 2) for number in range(8)]
    assert not any(suspicion.note_memory(size) for size in sizes)


@pytest.mark.parametrize(("each", "is_asked"), [(100, False), (2_000, True)])
def test_record_of_every_generation_asks_for_nothing_however_far_apart_looks_lie(each, is_asked):
    suspicion, size = Suspicion(), 5_000
    for _ in range(5):
        for _ in range(40):
            suspicion.note_memory(50_000_000)
            size += each
        asked = suspicion.note({"float": TypeCount(size // 24, size)})
    assert asked is is_asked
