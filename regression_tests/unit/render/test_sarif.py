"""SARIF: one result a finding, where it was made and is kept, the same name in every run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import report_stories as stories
from jsonschema import ValidationError
from sarif_shape import checked

from leakguard.analysis.audit import audit
from leakguard.model import Ignored
from leakguard.model.known_leak import Package
from leakguard.render import render, render_many
from leakguard.render.sarif import file_location, render_audits


def result_of(finding, **options):
    report = replace(stories.leaking(), findings=(finding,))
    return checked(render(report, "sarif", **options))["runs"][0]["results"][0]


@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short])
def test_log_has_the_shape_of_sarif(story):
    log = checked(render(story(), "sarif"))
    assert len(log["runs"][0]["results"]) == len(story().findings)


def test_log_without_a_rule_would_not_pass():
    with pytest.raises(ValidationError):
        checked('{"version": "2.1.0", "runs": [{"results": []}]}')


def test_several_reports_are_several_runs():
    log = checked(render_many([stories.healthy(), stories.leaking()], "sarif"))
    assert [len(run["results"]) for run in log["runs"]] == [0, 2]


def test_finding_lies_where_its_objects_were_made_and_names_where_they_are_kept():
    result = result_of(stories.ENV_LEAK)
    [made] = result["locations"]
    assert made["physicalLocation"] == {
        "artifactLocation": {"uri": "reference_trainer/rollout.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 88},
    }
    kept = result["relatedLocations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert kept == "__main__.trainer.spent_environments[*]"
    assert result["ruleId"] == "leakguard/instances"


def test_lines_that_keep_the_objects_are_related_or_the_place_itself_where_none_made_them():
    kept = replace(stories.ENV_LEAK, kept_at=("reference_trainer/trainer.py:152 in evaluate",))

    def lines(places):
        told = (place.get("physicalLocation") for place in places)
        return [place["region"]["startLine"] for place in told if place]

    assert lines(result_of(kept)["relatedLocations"])[0] == 152
    assert lines(result_of(replace(kept, created_at=None))["locations"]) == [152]
    same = replace(kept, created_at=kept.kept_at[0], created_stack=())
    assert lines(result_of(same)["relatedLocations"]) == []


def test_finding_without_a_line_lies_at_its_holder():
    result = result_of(replace(stories.ENV_LEAK, created_at=None))
    [place] = result["locations"]
    assert "physicalLocation" not in place
    assert place["logicalLocations"][0]["fullyQualifiedName"] == stories.ENV_LEAK.held_by


def test_code_without_a_file_is_no_place():
    assert result_of(replace(stories.THREADS, created_at="<string>:3 in f"))["locations"] == []


def test_name_of_a_finding_does_not_depend_on_its_line():
    moved = replace(stories.ENV_LEAK, created_at="reference_trainer/rollout.py:188")
    names = [result_of(finding)["partialFingerprints"] for finding in (stories.ENV_LEAK, moved)]
    assert names[0] == names[1]
    other = replace(stories.ENV_LEAK, fingerprint="0123456789ab")
    assert result_of(other)["partialFingerprints"] != names[0]


@pytest.mark.parametrize(
    ("verdict", "fail_on", "level"),
    [("leak", "leak", "error"), ("suspect", "leak", "warning"), ("suspect", "suspect", "error"),
     ("inconclusive", "suspect", "note")],
)  # fmt: skip
def test_level_is_an_error_from_the_verdict_that_fails(verdict, fail_on, level):
    finding = replace(stories.ENV_LEAK, verdict=verdict)
    assert result_of(finding, fail_on=fail_on)["level"] == level


def test_ignored_finding_is_suppressed_with_its_reason():
    item = Ignored(stories.ENV_LEAK, "ab", "accepted until 2030-01-01: known")
    report = replace(stories.healthy(), ignored=(item, Ignored(stories.THREADS, "*.x")))
    results = checked(render(report, "sarif"))["runs"][0]["results"]
    said = [each["suppressions"][0]["justification"] for each in results]
    assert said == ["accepted until 2030-01-01: known", "ignored by the pattern *.x"]


def test_text_of_a_stranger_makes_no_other_log():
    evil = replace(
        stories.ENV_LEAK, held_by='x"}],\n\x1b[31m', created_at="a b\\c #?%.py:3 in f", fix="\u202e"
    )
    result = result_of(evil)
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert "\x1b" not in str(result["relatedLocations"])


@pytest.mark.parametrize(
    ("name", "location"),
    [("/home/me/app/train.py", {"uri": "train.py", "uriBaseId": "%SRCROOT%"}),
     ("/usr/lib/x y.py", {"uri": "file:///usr/lib/x%20y.py"}),
     ("src/a#b.py", {"uri": "src/a%23b.py", "uriBaseId": "%SRCROOT%"})],
)  # fmt: skip
def test_file_is_named_from_the_root_of_the_checkout_where_it_lies_in_it(name, location):
    assert file_location(name, Path("/home/me/app")) == location


def test_audit_lies_at_the_line_that_pins_the_release():
    told = audit("req.txt", [Package("numpy", "2.3.1", 4)], is_file=True)
    log = checked(render_audits([told, audit("the environment", [Package("numpy", "2.3.1")])]))
    pinned, installed = (run["results"] for run in log["runs"])
    assert {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in pinned} == {4}
    assert [r["locations"] for r in installed] == [[]] * len(pinned)
    assert all(rule["helpUri"].startswith("https://")
               for rule in log["runs"][0]["tool"]["driver"]["rules"])  # fmt: skip
