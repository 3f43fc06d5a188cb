"""A run becomes rows of the table of a fleet: one a finding, or one where there is none."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from leakguard.analysis import case, diagnose
from leakguard.analysis.diagnosis import diagnose_briefly
from leakguard.analysis.fleet import sightings
from leakguard.analysis.series import judge_series
from leakguard.model import Finding, Report, Run, RunInfo, Snapshot
from leakguard.testing import RunStory, State

_LEAK = Finding(
    "0123456789ab", "instances", "leak", "growing", "r", type="app.Env", held_by="app.envs[*]",
    bytes_per_generation=1_000.0, created_at="app.py:3 in f",
)  # fmt: skip


def report(*findings, started="2026-11-25T10:00:00+02:00"):
    shots = tuple(
        Snapshot(serial=g, label=f"Gen {g}", moment="generation", generation=g, seconds=g * 1_800.0)
        for g in range(3)
    )
    info = RunInfo(name="train", started=started, host="node7", python="3.11.7")
    run = Run(info, shots, finished=True)
    return Report(run, "leak" if findings else "stable", "h", findings=findings)


def test_leak_is_a_row_with_its_damage():
    [row] = sightings(report(_LEAK), "s3://b/run.jsonl")
    assert (row.run, row.host, row.fingerprint) == ("s3://b/run.jsonl", "node7", "0123456789ab")
    assert row.hours == pytest.approx(1.0)
    assert row.leaked_bytes == pytest.approx(3_000)
    assert row.damage == pytest.approx(3_000)
    assert row.started == datetime.datetime(2026, 11, 25, 8)


def test_run_without_a_leak_is_a_row_too():
    doubtful = replace(_LEAK, verdict="inconclusive")
    [row] = sightings(report(doubtful), "a.jsonl")
    assert (row.fingerprint, row.damage, row.verdict) == (None, None, "leak")
    [row] = sightings(report(), "a.jsonl")
    assert (row.fingerprint, row.verdict) == (None, "stable")


@pytest.mark.parametrize("started", [None, "", "yesterday"])
def test_time_that_cannot_be_read_is_unknown(started):
    [row] = sightings(report(_LEAK, started=started), "a.jsonl")
    assert row.started is None


def test_growth_without_bytes_has_no_damage():
    [row] = sightings(report(replace(_LEAK, bytes_per_generation=None)), "a.jsonl")
    assert row.leaked_bytes is None and row.damage is None


def leaking_run():
    story = RunStory()
    for kept in range(1, 13):
        used = 2_000_000 * kept
        metrics = {"rss": 90_000_000 + used, "heap_in_use": 30_000_000 + used}
        story.generation(train=State(metrics, {"app.Env": kept}, {"app.Env": used}))
    return story.run()


def test_brief_diagnosis_makes_the_same_rows():
    run = leaking_run()
    whole, brief = (sightings(told, "run.jsonl") for told in (diagnose(run), diagnose_briefly(run)))
    assert brief == whole
    assert brief[0].type == "app.Env"


def test_only_numbers_that_a_row_needs_are_judged_and_each_once(monkeypatch):
    judged = []

    def judge(values, **options):
        judged.append(values)
        return judge_series(values, **options)

    monkeypatch.setattr(case, "judge_series", judge)
    sightings(diagnose_briefly(leaking_run()), "run.jsonl")
    assert len(judged) == 2  # the count of the type, and live memory that confirms it
