"""What a change did is decided from two runs, whose numbers are given."""

from __future__ import annotations

import pytest

from leakguard import diagnose
from leakguard.fixing.edit import Edit
from leakguard.fixing.outcome import Played, judged, volatile_lines
from leakguard.testing import RunStory, State

EDIT = Edit("bound", "bound it", "train.py", "a\n", "b\n")
ROLLOUT = 2_000_000


def played(kept, *, generations=12, lines=("done",), status=0):
    """Return a run that keeps ``kept`` rollouts more in each generation."""
    story = RunStory()
    for number in range(1, generations + 1):
        alive = 1 + round(kept * number)
        used = alive * ROLLOUT
        metrics = {"rss": 90_000_000 + used, "rss_anonymous": 70_000_000 + used,
                   "heap_in_use": 30_000_000 + used}  # fmt: skip
        counts = {"training.Rollout": alive}
        story.generation(train=State(metrics, counts, {"training.Rollout": used}))
    return Played(diagnose(story.run()), status, lines)


LEAKS = played(1)
FINDING = LEAKS.report.findings[0]


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        (played(0), "fixed"),
        (played(0.5), "less"),
        (played(1), "no"),
        (played(0, generations=3), "no"),
        (played(0, lines=("other",)), "broke"),
        (played(0, status=1), "broke"),
        (Played(None, 0, ("done",)), "broke"),
    ],
)
def test_outcome_follows_from_the_growth_and_from_what_the_program_does(after, outcome):
    assert judged(EDIT, FINDING, LEAKS, after, frozenset()).outcome == outcome


def test_line_that_differs_without_a_change_is_not_compared():
    volatile = volatile_lines(("took 1 s", "done"), ("took 2 s", "done"))
    before = played(1, lines=("took 1 s", "done"))
    after = played(0, lines=("took 3 s", "done"))
    assert judged(EDIT, FINDING, before, after, volatile).outcome == "fixed"
    assert judged(EDIT, FINDING, before, after, frozenset()).outcome == "broke"


def test_output_without_a_common_length_is_not_compared():
    assert volatile_lines(("a",), ("a", "b")) is None
    after = played(0, lines=("other",))
    assert judged(EDIT, FINDING, LEAKS, after, None).outcome == "fixed"


def test_output_of_a_stopped_run_is_compared_as_far_as_it_goes():
    after = played(0, lines=("done", "and more"), status=None)
    assert judged(EDIT, FINDING, LEAKS, after, frozenset()).outcome == "fixed"


def test_reason_names_the_status_and_the_line():
    after = played(0, lines=("other",), status=0)
    assert judged(EDIT, FINDING, LEAKS, after, frozenset()).reason.startswith(
        "it prints 'other', was 'done'; the finding is gone"
    )
