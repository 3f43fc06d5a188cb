"""Of many runs the terminal tells each bug once, with its worst run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Report
from leakguard.render import render_many
from leakguard.testing import RunStory, State

MB = 1_000_000


def told(name: str, kind: str | None, gains: int = MB) -> Report:
    """Return the report of a run in which this class grows; calm if there is none."""
    story = RunStory()
    for number in range(13):
        size = 80 * MB + number * gains * (kind is not None)
        counts = {kind: number} if kind else {}
        state = State({"heap_in_use": size, "rss": size + 40 * MB}, counts)
        story.generation(train=state) if number else story.baseline(state)
    run = story.run()
    return replace(diagnose(run), run=replace(run, info=replace(run.info, name=name)))


@pytest.fixture
def reports() -> list[Report]:
    frames = [told(f"frame{n}.jsonl", "app.Frame", MB + n) for n in range(9)]
    others = [told("batch.jsonl", "app.Batch"), told("calm.jsonl", None), told("idle.jsonl", None)]
    return [*others, *frames]


def test_bug_of_most_runs_is_told_first_and_once(reports):
    page = render_many(reports, "terminal")

    assert "12 runs, by what grows first" in page
    assert page.count("leakguard: frame") == 1
    assert "leakguard: frame8.jsonl" in page  # the worst
    assert page.index("leakguard: frame8.jsonl") < page.index("leakguard: batch.jsonl")
    assert "leakguard: calm.jsonl" not in page


def test_each_run_is_told_where_all_is_asked_for_or_runs_are_few(reports):
    assert render_many(reports, "terminal", detail="full").count("leakguard: frame") == 9
    assert render_many(reports[:4], "terminal").count("leakguard: ") == 4
