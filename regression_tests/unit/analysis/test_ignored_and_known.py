"""Findings that are no news: ignored on request, or known leaks of a library."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.diagnosis import matches, split_ignored
from leakguard.analysis.naming import with_library
from leakguard.model import Finding, RunInfo
from leakguard.testing import RunStory, State

MB = 10**6
ENV = Finding(
    "ab12", "instances", "leak", "growing", "r", type="app.Env", held_by="app.T.envs[*]",
    path=("module app  (module)", ".t  (app.T)", ".envs  (list)", "[*]  (app.Env)"),
)  # fmt: skip


def leaking(ignore=()):
    story = RunStory(info=RunInfo(ignore=tuple(ignore)))
    for number in range(9):
        env, agent = 2 + 16 * number, 3 + 4 * number
        state = State(
            {"rss": (500 + 20 * number) * MB, "heap_in_use": (400 + 20 * number) * MB},
            {"app.Env": env, "app.Agent": agent},
            {"app.Env": env * MB, "app.Agent": agent * MB // 10},
        )
        if number:
            story.generation(evaluate=state)
        else:
            story.baseline(state)
    return diagnose(story.run())


@pytest.mark.parametrize(
    "pattern", ["app.Env", "app.*", "ab12", "app.T.envs[*]", "*.envs[*]", "app.T.*", "*Env"]
)
def test_pattern_names_type_holder_or_fingerprint(pattern):
    assert matches(ENV, pattern)


@pytest.mark.parametrize("pattern", ["Env", "app.env", "app.T.envs", "app.T.envs[0]", "", "b12"])
def test_pattern_of_something_else_does_not_match(pattern):
    assert not matches(ENV, pattern)


def test_ignored_finding_is_listed_with_its_pattern_and_not_reported():
    wanted, ignored = split_ignored([ENV, replace(ENV, type="app.Agent")], ["x.*", "app.Env"])
    assert [finding.type for finding in wanted] == ["app.Agent"]
    assert [(item.finding.type, item.pattern) for item in ignored] == [("app.Env", "app.Env")]


def test_verdict_leaves_out_what_is_ignored_and_the_report_lists_it():
    told = leaking()
    assert told.verdict == "leak"
    assert told.ignored == ()
    quiet = leaking(["app.*"])
    assert quiet.findings == ()
    assert quiet.verdict != "leak"
    assert {item.finding.fingerprint for item in quiet.ignored} == {
        finding.fingerprint for finding in told.findings
    }


def through(*hops, type_name="function"):
    return replace(ENV, type=type_name, path=hops, held_by="x")


@pytest.mark.parametrize(
    ("finding", "library"),
    [
        (through(".session  (botocore.session.Session)", "._trie  (botocore.hooks._PrefixTrie)",
                 "[*]  (function)"), "botocore"),
        (through(".env  (gymnasium.wrappers.rendering.RecordVideo)", ".recorded_frames  (list)",
                 "[*]  (numpy.ndarray)", type_name="numpy.ndarray"), "gymnasium"),
        (through(type_name="torch._dynamo.guards.GuardManagerWrapper"), "torch"),
        (through(type_name="numpy._core._internal._ctypes"), "numpy"),
    ],
)  # fmt: skip
def test_known_leak_is_the_library_s_and_names_its_public_report(finding, library):
    found = with_library(finding, {})
    assert found.library == library
    assert "(see https://" in found.fix


@pytest.mark.parametrize(
    "finding",
    [
        ENV,
        through(".clients  (list)", "[*]  (botocore.client.S3)", type_name="botocore.client.S3"),
        through(".recorded_frames  (list)", "[*]  (numpy.ndarray)", type_name="numpy.ndarray"),
        through(".recorded_frames  (list)", ".env  (gymnasium.wrappers.rendering.RecordVideo)"),
        through(type_name="torch.Tensor"),
    ],
)
def test_what_the_program_itself_keeps_is_no_leak_of_a_library(finding):
    assert with_library(finding, {}) == finding


_FRAMES = through(
    ".env  (gymnasium.wrappers.rendering.RecordVideo)", ".recorded_frames  (list)",
    "[*]  (numpy.ndarray)", type_name="numpy.ndarray",
)  # fmt: skip


@pytest.mark.parametrize("packages", [{}, {"gymnasium": "1.2.0"}, {"torch": "2.6.0"}])
def test_leak_of_a_release_that_has_it_is_the_library_s(packages):
    assert with_library(_FRAMES, packages).library == "gymnasium"


def test_leak_that_the_release_that_ran_has_not_is_the_program_s_own():
    assert with_library(_FRAMES, {"gymnasium": "1.3.0"}) == _FRAMES
