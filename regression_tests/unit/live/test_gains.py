"""When objects count as growth from look to look, and of which classes."""

from __future__ import annotations

from collections.abc import Mapping

from leakguard.capture.recorder import Observation
from leakguard.live.inquiry import Inquiry
from leakguard.model import Census, TypeCount
from leakguard.model.snapshot import Watched


def seen(types: Mapping[str, TypeCount]) -> Observation:
    return Observation({}, {}, {}, census=Census(types))


def told(*counts: int, name: str = "app.Ticket", apart: int = 1) -> tuple[list[bool], Inquiry]:
    """Return what each look says of a type of 100 bytes, and what is known in the end."""
    inquiry, said = Inquiry(), []
    for number, count in enumerate(counts):
        inquiry.note(seen({name: TypeCount(count, 100 * count)}), 0, apart * number)
        said.append(inquiry.grows)
    return said, inquiry


def test_class_grows_if_it_has_more_than_one_instance_more_than_at_the_look_before():
    said, inquiry = told(5, 10, 11, 13)
    assert said == [False, True, False, True]
    assert inquiry.suspects == ["app.Ticket"]


def test_class_that_stopped_growing_is_no_longer_asked_about():
    said, inquiry = told(5, 10, 10)
    assert said == [False, True, False]
    assert not inquiry.suspects


def test_builtin_types_grow_by_bytes_and_are_not_asked_about_by_name():
    said, inquiry = told(50, 150, 450, name="dict")
    assert said == [False, False, True]
    assert not inquiry.suspects


def test_few_numbers_of_each_generation_are_no_growth_however_far_apart_looks_lie():
    said, _ = told(1_000, 1_200, 1_400, name="float", apart=400)
    assert not any(said)


def test_patterns_that_the_standard_library_caches_are_no_growth():
    said, _ = told(*range(50, 80, 2), name="re.Pattern")
    assert not any(said)


def test_what_the_guard_took_between_two_looks_is_no_growth():
    inquiry = Inquiry()
    for number, own in enumerate((0, 60_000, 60_000)):
        inquiry.note(seen({"bytes": TypeCount(1, 60_000 * number)}), own, number)
        assert inquiry.grows is (number == 2)


def test_what_the_guard_lets_go_of_between_two_looks_hides_and_adds_no_growth():
    for more, grows in ((5_000, False), (60_000, True)):
        inquiry = Inquiry()
        inquiry.note(seen({"bytearray": TypeCount(1, 60_000), "list": TypeCount(5, 1_000)}), 60_000)
        later = {"bytearray": TypeCount(1, 1_000), "list": TypeCount(9, 1_000 + more)}
        inquiry.note(seen(later), 1_000, 1)
        assert inquiry.grows is grows


def test_end_is_compared_with_the_first_look_in_the_loop_and_not_with_the_start():
    inquiry, start = Inquiry(), Census({"app.Model": TypeCount(1, 100)})
    for index, tickets in ((1, 5), (9, 5), (19, 6)):
        now = {"app.Model": TypeCount(9, 900_000), "app.Ticket": TypeCount(tickets, 500)}
        inquiry.note(seen(now), 0, index)
    assert not inquiry.has_gained(start, Census(now), 0, 20)
    assert inquiry.has_gained(start, Census({**now, "app.Ticket": TypeCount(7, 700)}), 0, 20)


def test_end_is_compared_with_the_start_where_there_was_no_look_before():
    inquiry, now = Inquiry(), {"app.Ticket": TypeCount(9, 900)}
    inquiry.note(seen(now), 0, 1)
    assert inquiry.has_gained(Census({"app.Ticket": TypeCount(7, 700)}), Census(now), 0, 2)
    assert not inquiry.has_gained(Census({"app.Ticket": TypeCount(8, 800)}), Census(now), 0, 2)
    assert inquiry.has_gained(None, Census(now), 0, 2)


def test_classes_are_asked_about_in_the_order_of_what_they_gained():
    inquiry = Inquiry()
    counts = {f"app.C{number}": 3 * number for number in range(20)}
    inquiry.note(seen({}), 0, 0)
    inquiry.note(seen({name: TypeCount(count, count) for name, count in counts.items()}), 0, 1)
    assert inquiry.suspects == [f"app.C{number}" for number in range(19, 9, -1)]


def test_too_many_instances_of_a_watched_class_are_growth_at_once():
    inquiry = Inquiry(follows=lambda: False)
    watched = {"app.Ticket": Watched(2, expected=(0, 1))}
    inquiry.note(Observation({}, {}, {}, census=Census({}), watched=watched), 0, 0)
    assert inquiry.grows


def test_growth_that_is_not_to_be_followed_yet_is_none():
    inquiry = Inquiry(follows=lambda: False)
    inquiry.note(seen({"app.Ticket": TypeCount(5, 500)}), 0, 0)
    inquiry.note(seen({"app.Ticket": TypeCount(50, 5_000)}), 0, 1)
    assert not inquiry.grows


def test_counts_after_a_collection_are_compared_with_none_from_before():
    said, inquiry = told(500, 900)
    inquiry.collected()
    assert inquiry.grows
    inquiry.note(seen({"app.Ticket": TypeCount(20, 2_000)}), 0, 2)
    assert not inquiry.grows
    inquiry.note(seen({"app.Ticket": TypeCount(40, 4_000)}), 0, 3)
    assert (said[-1], inquiry.grows) == (True, True)
