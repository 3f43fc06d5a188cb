"""The same data held twice is a warning; data that moves on, or is alone, is silent."""

from __future__ import annotations

from dataclasses import replace

from leakguard import diagnose
from leakguard.model import LargeObject, Run
from leakguard.model.units import MB
from leakguard.testing import RunStory, State

STATE = State({"rss": 400 * MB, "rss_anonymous": 300 * MB}, {"list": 1000})


def _panel(holder: str, digest: str | None) -> LargeObject:
    return LargeObject(
        "numpy.ndarray", 90 * MB, (100, 225_000), "float32", "cpu", f"{holder}.panel", digest=digest
    )


def _run(*looks: tuple[LargeObject, ...]) -> Run:
    told = RunStory()
    told.baseline(STATE)
    for _ in looks:
        told.generation(train=STATE)
    run = told.run()
    seen = dict(enumerate(looks, 1))
    snapshots = []
    for snapshot in run.snapshots:
        large = seen.get(snapshot.generation or 0, ())
        assert snapshot.census is not None
        snapshots.append(replace(snapshot, census=replace(snapshot.census, large=large)))
    return replace(run, snapshots=tuple(snapshots))


def _pair(first: str | None, second: str | None) -> tuple[LargeObject, ...]:
    return _panel("train_env", first), _panel("val_env", second)


def test_copies_are_a_warning_with_both_holders_and_what_is_spare():
    report = diagnose(_run(*[_pair("a", "a")] * 4))
    (finding,) = report.findings
    assert report.verdict == "stable"
    assert (finding.kind, finding.verdict, finding.started_at) == ("copies", "inconclusive", 1)
    assert finding.held_by == "train_env.panel"
    assert "2 times" in finding.reason
    assert "90.0 MB of it redundant" in finding.reason or "90 MB of it redundant" in finding.reason
    assert "train_env.panel, val_env.panel" in finding.reason
    assert "read-only" in finding.fix


def test_generations_without_a_deep_look_neither_confirm_nor_deny():
    unseen = _pair(None, None)
    report = diagnose(_run(_pair("a", "a"), unseen, _pair("a", "a"), unseen, _pair("a", "a")))
    assert [finding.kind for finding in report.findings] == ["copies"]


def test_different_data_of_the_same_shape_is_silent():
    assert diagnose(_run(*[_pair("a", "b")] * 5)).findings == ()


def test_unread_contents_are_silent():
    assert diagnose(_run(*[_pair(None, None)] * 5)).findings == ()


def test_copies_that_move_on_are_a_state_and_no_data():
    looks = [_pair(name, name) for name in "abcde"]
    assert diagnose(_run(*looks)).findings == ()


def test_copies_that_were_given_up_are_silent():
    looks = [*[_pair("a", "a")] * 4, (_panel("train_env", "a"),)]
    assert diagnose(_run(*looks)).findings == ()


def test_two_looks_are_too_few():
    assert diagnose(_run(*[_pair("a", "a")] * 2)).findings == ()
