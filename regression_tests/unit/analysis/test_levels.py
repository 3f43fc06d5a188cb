"""Rounds inside of rounds: what grows from epoch to epoch, at each evaluation, or by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose, load, render
from leakguard.analysis.levels import outer_rounds
from leakguard.model import Census, PhaseTotal, Run, RunInfo, Snapshot
from leakguard.model.births import Birthplace, Cohort
from leakguard.model.holder import Holder, Hop
from leakguard.store.jsonl import RunWriter
from leakguard.store.schema import encode_snapshot

MB = 1_000_000
EPOCH = 20  # generations of an epoch


def metrics(size):
    return {"rss": size, "rss_anonymous": size, "heap_in_use": size, "heap_held": 0}


def run_of(gain, generations, *, outer, kept_at=(), phases=lambda number: ("train",), width=1):
    """Tell a run.

    ``gain(number)`` gives the bytes that a generation adds, in the last of its ``phases``, and
    ``outer(number)`` the rounds that have begun. What was gained is kept by one list, whose births
    are known to the last look, by cohorts of ``width`` generations.
    """
    size, shots = 100 * MB, []
    for number in range(1, generations + 1):
        before, size = size, size + gain(number)
        ran = phases(number)
        changes = {name: PhaseTotal(1, 0.1, metrics(0)) for name in ran}
        changes[ran[-1]] = PhaseTotal(1, 0.1, metrics(size - before))
        shots.append(
            Snapshot(
                len(shots), f"Gen {number}: End of generation", "generation", None, number,
                float(number), metrics=metrics(size), entry=metrics(before), phases=changes,
                outer=outer(number),
            )
        )  # fmt: skip
    if kept_at:
        whole, number = sum(map(gain, kept_at)), len(kept_at)
        born = Birthplace(
            phases(kept_at[-1])[-1], False, whole, 0.0, number, number,
            place="train.py:7", function="keep", entries=len(kept_at),
            cohorts=tuple(
                Cohort((n - 1) // width * width, width, gain(n), 0.0, 1) for n in kept_at
            ),
        )  # fmt: skip
        holder = Holder(
            "__main__.kept[*]", "numpy.ndarray", len(kept_at), born=(born,),
            retained_bytes=sum(map(gain, kept_at)), trace=(Hop("__main__.kept", "list"),),
        )  # fmt: skip
        last = replace(shots[-1], holders=(holder,), census=Census({}, bytes=size))
        first = replace(shots[1], census=Census({}, bytes=100 * MB))
        shots = [shots[0], first, *shots[2:-1], last]
    return Run(RunInfo(), tuple(shots), finished=True)


def epochs(number):
    return {"epoch": -(-number // EPOCH)}


def ends_epoch(number):
    return 5 * MB if number % EPOCH == 0 else 0


def validates(number):
    return ("train", "validate") if number in (30, 60, 90) else ("train",)


def validations(number):
    return {"epoch": 1, "validation": number // 30}


def validation(number):
    return 5 * MB if number in (30, 60, 90) else 0


def told(run):
    report = diagnose(run)
    return report.verdict, [(f.held_by, f.level and f.level.words) for f in report.findings]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("length", [7, 20])
def test_growth_at_the_end_of_each_epoch_is_told_from_epoch_to_epoch(length, width):
    run = run_of(
        lambda number: 5 * MB if number % length == 0 else 0, 5 * length,
        outer=lambda number: {"epoch": -(-number // length)},
        kept_at=range(length, 5 * length + 1, length), width=width,
    )  # fmt: skip
    verdict, found = told(run)
    assert verdict == "leak"
    assert found == [("__main__.kept[*]", "from epoch to epoch, +5.0 MB each")]


@pytest.mark.parametrize("last", [65, 100])
def test_two_or_three_validations_suffice_where_each_steps_up(last):
    kept = [n for n in (30, 60, 90) if n <= last]
    run = run_of(validation, last, outer=validations, kept_at=kept, phases=validates)
    verdict, found = told(run)
    assert verdict == "leak"
    assert found == [("__main__.kept[*]", "at each validation, +5.0 MB each")]


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("validate", "at each validation, +5.0 MB each"),
        ("train", "from epoch to epoch, +5.0 MB each"),
    ],
)
def test_phase_tells_a_validation_at_the_end_of_an_epoch_from_the_epoch(phase, words):
    run = run_of(
        ends_epoch, 5 * EPOCH,
        outer=lambda number: {"epoch": -(-number // EPOCH), "validation": number // EPOCH},
        kept_at=range(EPOCH, 5 * EPOCH + 1, EPOCH),
        phases=lambda number: ("validate", phase) if number % EPOCH == 0 else ("train",),
    )  # fmt: skip
    assert told(run) == ("leak", [("__main__.kept[*]", words)])


def test_validation_in_a_generation_that_was_passed_over_counts():
    run = run_of(validation, 100, outer=validations, kept_at=(30, 60, 90), phases=validates)
    shots = [replace(s, passed=1) if s.generation == 61 else s for s in run.snapshots]
    passed_over = replace(run, snapshots=tuple(s for s in shots if s.generation != 60))
    verdict, found = told(passed_over)
    assert verdict == "leak"
    assert found == [("__main__.kept[*]", "at each validation, +5.0 MB each")]


def test_two_steps_without_a_holder_are_a_suspicion_and_three_are_a_leak():
    two = run_of(validation, 65, outer=validations, phases=validates)
    three = run_of(validation, 100, outer=validations, phases=validates)
    assert [told(run)[0] for run in (two, three)] == ["suspect", "leak"]


def test_growth_by_step_is_told_within_the_epoch():
    kept = range(1, 5 * EPOCH + 1)
    run = run_of(lambda number: MB // 4, 5 * EPOCH, outer=epochs, kept_at=kept)
    verdict, found = told(run)
    assert verdict == "leak"
    assert {words for _, words in found} == {"within the epoch"}


def test_growth_by_step_in_one_long_epoch_is_told_within_it():
    kept = range(1, 61)
    run = run_of(lambda number: MB // 4, 60, outer=lambda number: {"epoch": 1}, kept_at=kept)
    verdict, found = told(run)
    assert verdict == "leak"
    assert {words for _, words in found} == {"within the epoch"}


@pytest.mark.parametrize(
    "gain",
    [
        lambda number: 0,
        lambda number: 5 * MB if number == 30 else 0,  # a cache that the first validation fills
        lambda number: {30: 5 * MB, 60: MB}.get(number, 0),
        lambda number: {29: 5 * MB, 31: -5 * MB}.get(number, 0),
    ],
    ids=["flat", "cache", "less each time", "freed"],
)
def test_validations_that_give_back_what_they_take_are_no_leak(gain):
    run = run_of(gain, 100, outer=validations, phases=validates)
    assert diagnose(run).verdict in ("stable", "inconclusive")
    assert not [f for f in diagnose(run).findings if f.verdict in ("leak", "suspect")]


def test_list_that_keeps_only_what_the_last_validation_made_is_no_leak():
    run = run_of(validation, 100, outer=validations, kept_at=[90], phases=validates)
    assert not [f for f in diagnose(run).findings if f.held_by]


def test_generations_that_are_the_epochs_have_no_level_above():
    run = run_of(lambda number: MB, 12, outer=lambda number: {"epoch": number})
    assert outer_rounds(run) == ()
    assert all(f.level is None for f in diagnose(run).findings)


def test_run_without_outer_rounds_is_judged_as_before():
    run = run_of(lambda number: MB, 30, outer=lambda number: {})
    assert outer_rounds(run) == ()
    assert diagnose(run).verdict == "leak"
    assert "Level" not in render(diagnose(run), "terminal")


def test_outer_rounds_are_kept_in_a_run_file(tmp_path):
    run = run_of(ends_epoch, 3 * EPOCH, outer=epochs)
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, run.info)
    for snapshot in run.snapshots:
        writer.write(encode_snapshot(snapshot))
    writer.close()
    assert [s.outer for s in load(path).snapshots] == [s.outer for s in run.snapshots]


def test_report_says_the_level_in_words_and_in_json():
    kept = [n for n in range(1, 5 * EPOCH + 1) if ends_epoch(n)]
    report = diagnose(run_of(ends_epoch, 5 * EPOCH, outer=epochs, kept_at=kept))
    assert "from epoch to epoch, +5.0 MB each" in report.headline
    assert "from epoch to epoch, +5.0 MB each" in render(report, "markdown")
    assert '"words": "from epoch to epoch, +5.0 MB each"' in render(report, "json")
