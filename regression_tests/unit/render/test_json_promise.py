"""The JSON report against its published schema."""

from __future__ import annotations

import json
from dataclasses import fields
from importlib.resources import files
from typing import get_args

import pytest
import report_stories as stories

from leakguard.model.finding import Finding, Kind, Pattern, Verdict
from leakguard.render import render, render_many

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads(
    files("leakguard.render").joinpath("templates/report.schema.json").read_text("utf-8")
)


def check(document: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(document))


OF_A_JOB = {"processes", "remarks"}  # in the report of many processes only


@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short])
def test_report_keeps_the_schema(story):
    check(render(story(), "json"))


def test_report_of_several_runs_keeps_the_schema():
    check(render_many([stories.short(), stories.leaking()], "json"))


def test_schema_is_a_schema_and_names_every_key_that_is_written():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = json.loads(render(stories.leaking(), "json"))
    promised = [key for key in SCHEMA["$defs"]["report"]["properties"] if key not in OF_A_JOB]
    assert list(document) == promised
    assert list(document["findings"][0]) == list(SCHEMA["$defs"]["finding"]["properties"])
    assert list(document["run"]) == list(SCHEMA["$defs"]["run"]["properties"])


def test_every_field_of_a_finding_is_written_and_every_word_of_the_model_is_allowed():
    properties = SCHEMA["$defs"]["finding"]["properties"]
    assert set(properties) == {field.name for field in fields(Finding)}
    for key, words in (("kind", Kind), ("pattern", Pattern), ("verdict", Verdict)):
        assert set(properties[key]["enum"]) == set(get_args(words))


def test_a_missing_key_breaks_the_schema():
    document = json.loads(render(stories.leaking(), "json"))
    del document["findings"][0]["held_by"]
    with pytest.raises(jsonschema.ValidationError):
        check(json.dumps(document))
