"""What births say of one object that is replaced by a larger one: line, rate, start and holder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.live_totals import LiveTotals
from leakguard.model import Birthplace, Births, Holder
from leakguard.testing import RunStory, State

KB, MB = 1_000, 1_000_000
GENERATIONS = 40
DOUBLED = (1, 2, 4, 8, 16, 40)


def line(number, size, function="extend", phase="track"):
    """Return what a line has alive: one sampled block."""
    return Birthplace(phase, True, size, 0.0, 1.0, 1, f"train.py:{number}", function)


def run(made, looks=DOUBLED, holders=(), gains=64 * KB):
    """Tell 40 generations, of which some saw births: those that ``made(generation)`` returns."""
    story = RunStory()
    story.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB}))
    for n in range(1, GENERATIONS + 1):
        memory = {"rss": 100 * MB + n * gains, "heap_in_use": 50 * MB + n * gains}
        story.generation(work=State(memory))
    told = story.run()

    def looked(snapshot):
        at = snapshot.generation
        if snapshot.moment != "generation" or at not in looks:
            return snapshot
        places = tuple(place for place in made(at) if place.bytes)
        births = Births(40 * MB, 0.0, 1.0, 4_096.0, places, samples=3)
        return replace(snapshot, births=births, holders=holders if at == GENERATIONS else ())

    return replace(told, snapshots=tuple(map(looked, told.snapshots)))


def totals(made, looks=DOUBLED):
    return LiveTotals(run(made, looks), lambda snapshot: snapshot.generation)


# -- live memory that a line may explain -----------------------------------------------------------


@pytest.mark.parametrize(("told", "place"), [((), "train.py:7"), (("train.py:7",), None)])
def test_line_that_made_what_another_finding_tells_is_not_that_of_a_buffer(told, place):
    rising = totals(lambda at: [line(7, at * MB)], looks=(2, 8, 16))
    found = rising.risen_by(14 * MB, 1, set(told))
    assert (found and found.place) == place


def test_buffer_that_several_lines_of_a_function_extend_from_later_on_has_one_of_them():
    rising = totals(
        lambda at: [line(7 if at == 8 else 9, max(at - 3, 0) * MB)], looks=(2, 5, 8, 16)
    )
    found = rising.risen_by(13 * MB, 1)
    assert found is not None
    assert found.place == "train.py:9"


# -- a buffer that a look found --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "rate"),
    [
        (lambda at: at * 64 * KB, 64 * KB),
        (lambda at: min(at, 20) * 64 * KB, None),  # it is full
        (lambda at: [90, 100, 110, 120, 95, 125][DOUBLED.index(at)] * KB, None),  # its size varies
        (lambda at: 4 * MB + at * 64 * KB, None),  # most of it is from before
        (lambda at: max(at - 6, 0) * 64 * KB, 64 * KB),
    ],
    ids=["grows", "is full", "varies", "was there", "begins later"],
)
def test_only_a_buffer_that_goes_on_to_grow_has_a_rise(size, rate):
    rise = totals(lambda at: [line(7, size(at))]).rise_of(
        [line(7, size(GENERATIONS))], [line(7, size(GENERATIONS))]
    )
    assert (rise and round(rise.rate)) == rate


def test_buffer_that_took_more_than_it_needs_may_rest_until_the_last_look():
    sizes = {1: 9, 2: 18, 4: 36, 8: 72, 36: 330, 40: 330}
    buffer = line(7, 330 * KB)
    rise = totals(lambda at: [line(7, sizes[at] * KB)], tuple(sizes)).rise_of([buffer], [buffer])
    assert rise is not None
    assert rise.rate == pytest.approx(8.2 * KB, rel=0.02)


@pytest.mark.parametrize(
    ("at_20", "at_40", "looks"), [(180, 330, 5), (88, 90, None)], ids=["grows", "is full"]
)
def test_buffer_that_is_extended_once_in_several_generations_may_rest_between_early_looks(
    at_20, at_40, looks
):
    sizes = {1: 9, 2: 9, 4: 36, 8: 72, 20: at_20, 40: at_40}
    buffer = line(7, at_40 * KB)
    rise = totals(lambda at: [line(7, sizes[at] * KB)], tuple(sizes)).rise_of([buffer], [buffer])
    assert (rise and rise.looks) == looks


def test_buffers_of_one_line_share_its_rise_by_their_size():
    small, large = line(7, 640 * KB), line(7, 1_920 * KB)
    made = totals(lambda at: [line(7, at * 64 * KB)])
    rates = [made.rise_of([one], [small, large]).rate for one in (small, large)]
    assert rates == [pytest.approx(16 * KB), pytest.approx(48 * KB)]


def test_line_that_has_much_else_alive_says_nothing_of_a_buffer():
    buffer = line(7, 200 * KB)
    assert totals(lambda at: [line(7, at * 64 * KB)]).rise_of([buffer], [buffer]) is None


@pytest.mark.parametrize("grows", [True, False])
def test_buffer_that_grows_beside_a_larger_leak_is_told_with_holder_line_phase_and_start(grows):
    def size(at):
        return at * 20 * KB if grows else 800 * KB - at * KB

    def made(at):
        return [line(7, size(at)), line(9, at * 64 * KB, "keep", "keep")]

    (beside, largest) = (line(7, size(GENERATIONS)), line(9, GENERATIONS * 64 * KB, "keep", "keep"))
    buffers = [
        Holder(f"app.{name}", kind, 1, bytes=round(of.bytes), retained_bytes=round(of.bytes))
        for name, kind, of in (("text", "bytearray", beside), ("rows", "numpy.ndarray", largest))
    ]
    holders = (replace(buffers[0], born=(beside,)), replace(buffers[1], born=(largest,)))
    report = diagnose(run(made, holders=holders, gains=84 * KB if grows else 64 * KB))

    told = [
        (f.held_by, f.type, f.created_at, f.phase, f.started_at, round(f.bytes_per_generation))
        for f in report.findings
    ]
    rows = ("app.rows", "numpy.ndarray", "train.py:9 in keep", "keep", 1, 64 * KB)
    text = ("app.text", "bytearray", "train.py:7 in extend", "track", 1, 20 * KB)
    assert told == ([rows, text] if grows else [rows])
    assert all("is one object that is extended every generation" in f.fix for f in report.findings)
