"""Memory that nobody holds: which lines made it, and a finding for each of several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.birthplace import RunBirths
from leakguard.analysis.case import Case
from leakguard.analysis.ledger import RunLedger
from leakguard.analysis.settlement import _objects
from leakguard.analysis.sources import growths
from leakguard.model import Births, Run
from leakguard.model.snapshot import LOOP_ENDED
from leakguard.testing import RunStory, State
from regression_tests.unit.analysis.test_births_tell import MB, ROUNDS, birthplace, holder, run


def made_by(*places) -> Run:
    """Tell a run whose memory gains a megabyte a round, with these births at its end."""
    return run(births=Births(32 * MB, 0.0, 1.0, 4_096.0, places, samples=96))


def lines(*sizes: float) -> list[str | None]:
    """Return the lines of the findings, of a run in which each line left so much a round."""
    places = [birthplace(line, [size] * ROUNDS) for line, size in enumerate(sizes, start=7)]
    return [finding.created_at for finding in diagnose(made_by(*places)).findings]


def test_line_of_a_holder_is_not_that_of_memory_that_nobody_holds():
    places = birthplace(7, [MB] * ROUNDS), birthplace(9, [0.9 * MB] * ROUNDS)
    known = RunBirths(made_by(*places))

    def line(*told):
        found = known.of_bytes(MB, told)
        return None if found is None else found.place.place

    assert line() == "train.py:7"
    assert line("train.py:7") == "train.py:9"
    assert line("train.py:7", "train.py:9") is None


def test_memory_that_two_lines_made_is_told_as_that_of_each():
    report = diagnose(made_by(birthplace(7, [450_000] * ROUNDS), birthplace(9, [3e5] * ROUNDS)))

    assert [f.created_at for f in report.findings] == ["train.py:7 in f7", "train.py:9 in f9"]
    assert [f.bytes_per_generation for f in report.findings] == [450_000, 300_000]
    assert len({finding.fingerprint for finding in report.findings}) == 2


def test_line_that_made_most_is_told_alone():
    assert lines(800_000, 300_000) == ["train.py:7 in f7"]


def test_lines_that_made_too_little_together_are_not_told():
    assert lines(260_000, 200_000) == [None]


def test_line_that_left_something_in_some_rounds_only_is_no_part():
    steady, early = birthplace(7, [450_000] * ROUNDS), birthplace(9, [4e5] * 4)
    assert [f.created_at for f in diagnose(made_by(steady, early)).findings] == [None]


def test_lines_of_one_function_are_told_together_where_each_alone_made_too_little():
    places = [
        replace(birthplace(line, [size] * ROUNDS), function="stage")
        for line, size in ((7, 240_000), (8, 230_000), (9, 200_000))
    ]
    (finding,) = diagnose(made_by(*places)).findings
    assert (finding.created_at, finding.bytes_per_generation) == ("train.py:7 in stage", 670_000)


@pytest.mark.parametrize(("left", "told"), [(6e5, 580_000), (1.9e6, 980_000), (4e5, None)])
def test_holder_is_given_what_its_line_left_and_no_more_of_the_memory(left, told):
    made = birthplace(7, [left] * ROUNDS)
    kept = holder("app.streams[*]", birthplace(7, [20_000] * ROUNDS), each=20_000)
    births = Births(32 * MB, 0.0, 1.0, 4_096.0, (made,), samples=48, native_interval=4_096.0)
    case = Case(run(kept, births=births))
    ledger = RunLedger(case, growths(case))
    _objects(ledger)

    found = ledger.maker(980_000)
    assert (None if found is None else round(found[1])) == told
    assert found is None or found[0].held_by == "app.streams[*]"


def test_generations_after_the_last_measured_one_are_a_round_of_their_own():
    late = [0] * (ROUNDS - 4) + [MB] * 4
    told = run(holder("app.kept[*]", birthplace(7, [*late, 20 * MB])))
    *before, last = told.snapshots
    end = replace(last, moment="end", label=LOOP_ENDED, generation=None, passed=20)
    whole = replace(told, snapshots=(*before, replace(last, holders=()), end))

    birth = RunBirths(whole).of_holder("app.kept[*]")
    assert (birth.trail.residue.steady, birth.trail.since, birth.trail.lasted) == (True, 13, 24)
    assert RunBirths(told).of_holder("app.kept[*]").trail.residue.steady is False


def test_type_that_nobody_holds_is_told_by_each_line_that_left_some_of_it():
    """The objects are counted together, and each line made some of them."""
    story = RunStory()
    sizes = {"rss": 100 * MB, "heap_in_use": 50 * MB}
    story.baseline(State(sizes, {"app.Frame": 10}))
    for n in range(1, ROUNDS + 1):
        grown = {name: size + n * MB for name, size in sizes.items()}
        story.generation(work=State(grown, {"app.Frame": 10 + 3 * n}))
    *before, last = story.run().snapshots
    lines = birthplace(7, [450_000] * ROUNDS), birthplace(9, [3e5] * ROUNDS)
    births = Births(16 * MB, 0.0, 1.0, 4_096.0, lines, samples=96)
    told = replace(story.run(), snapshots=(*before, replace(last, births=births, unheld=lines)))

    found = diagnose(told).findings
    assert [f.created_at for f in found] == ["train.py:7 in f7", "train.py:9 in f9"]
    assert {(f.type, f.bytes_per_generation) for f in found} == {
        ("app.Frame", 450_000),
        ("app.Frame", 300_000),
    }
    assert all("3 more" not in f.reason for f in found)


@pytest.mark.parametrize(("elsewhere", "made"), [(70_000, 930_000), (20_000, 970_000)])
def test_rest_that_a_holder_is_given_is_without_what_other_lines_left(elsewhere, made):
    """A look saw half of what the line of a holder left each generation."""
    story = RunStory()
    sizes = {"rss": 100 * MB, "heap_in_use": 50 * MB}
    story.baseline(State(sizes, {"app.Pool": 1}))
    for n in range(1, ROUNDS + 1):
        story.generation(work=State({k: v + n * MB for k, v in sizes.items()}, {"app.Pool": 1}))
    kept, other = (
        holder("app.streams[*]", birthplace(7, [520_000] * ROUNDS), each=520_000),
        birthplace(9, [elsewhere] * ROUNDS),
    )
    places = birthplace(7, [made] * ROUNDS), other
    births = Births(16 * MB, 0.0, 1.0, 4_096.0, places, samples=96, native_interval=4_096.0)
    *before, last = story.run().snapshots
    last = replace(last, holders=(kept,), births=births, unheld=(other,))

    found = diagnose(replace(story.run(), snapshots=(*before, last))).findings
    told = [(f.held_by, f.created_at, f.bytes_per_generation) for f in found]
    apart = [(None, "train.py:9 in f9", 70_000)] if elsewhere == 70_000 else []
    assert told == [("app.streams[*]", "train.py:7 in f7", told[0][2]), *apart]
    assert told[0][2] == pytest.approx(made, rel=0.05)
