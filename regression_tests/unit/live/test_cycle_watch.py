"""When garbage in cycles is worth a collection."""

from __future__ import annotations

from leakguard.live.cycle_watch import CycleWatch

NOBODY: frozenset[str] = frozenset()
ENVIRONMENTS = frozenset({"app.Environment"})
MB = 1_000_000


def looks(too_many: frozenset[str], sizes: list[int]) -> CycleWatch | None:
    """Return the watch after looks that found these bytes adrift; None if cycles tell nothing."""
    watch = CycleWatch()
    worth = [watch.note(too_many, 10, size) for size in sizes]
    return watch if worth[-1] else None


def test_garbage_that_piles_up_is_collected_whatever_is_in_it():
    watch = looks(NOBODY, [10 * MB, 20 * MB, 30 * MB])
    assert watch is not None
    assert watch.calls_for_collection({"dict"})


def test_garbage_that_the_collector_frees_in_between_is_left_to_it():
    assert looks(NOBODY, [10 * MB, 10 * MB, 10 * MB]) is None


def test_too_many_of_a_watched_class_are_collected_although_nothing_piles_up():
    watch = looks(ENVIRONMENTS, [10 * MB, 10 * MB, 10 * MB])
    assert watch is not None
    assert watch.calls_for_collection({"dict", "app.Environment"})


def test_too_many_that_are_in_no_cycle_set_off_no_collection():
    watch = looks(ENVIRONMENTS, [10 * MB, 10 * MB, 10 * MB])
    assert watch is not None
    assert not watch.calls_for_collection({"dict"})


def test_the_first_looks_collect_nothing():
    assert looks(ENVIRONMENTS, [10 * MB, 20 * MB]) is None


def test_the_last_look_decides_by_all_garbage_if_no_look_came_before_it():
    watch = CycleWatch()
    assert watch.note(NOBODY, 10, 20 * MB, last=True)
    assert watch.calls_for_collection(set())  # a library's objects have no cycle to be described
