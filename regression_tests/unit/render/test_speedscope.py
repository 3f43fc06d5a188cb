"""A file for speedscope: the shape that it documents, and one profile for each weight."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import profile_story as story
import pytest
import report_stories as stories
from jsonschema import validate

from leakguard.render import render, render_many

#: The path of the published file-format-schema.json, if it is at hand.
OFFICIAL = "LEAKGUARD_SPEEDSCOPE_SCHEMA"
_NUMBER = {"type": "number", "minimum": 0}
_TEXT = {"type": "string"}
_FRAME = {"type": "object", "required": ["name"], "additionalProperties": False,
          "properties": {"name": _TEXT, "file": _TEXT, "line": _NUMBER}}  # fmt: skip
_PROFILE = {
    "type": "object",
    "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "sampled"}, "name": _TEXT, "unit": {"const": "bytes"},
        "startValue": _NUMBER, "endValue": _NUMBER,
        "samples": {"type": "array", "items": {"type": "array", "items": _NUMBER}},
        "weights": {"type": "array", "items": _NUMBER},
    },
}  # fmt: skip
_FILE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {"type": "object", "required": ["frames"],
                   "properties": {"frames": {"type": "array", "items": _FRAME}}},
        "profiles": {"type": "array", "minItems": 1, "items": _PROFILE},
        "activeProfileIndex": _NUMBER, "name": _TEXT, "exporter": _TEXT,
    },
}  # fmt: skip


def checked(text):
    """Return the file, if it has the documented shape and its numbers of frames exist."""
    file = json.loads(text)
    validate(file, _FILE)
    if OFFICIAL in os.environ:
        validate(file, json.loads(Path(os.environ[OFFICIAL]).read_text("utf-8")))
    for profile in file["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        assert all(n < len(file["shared"]["frames"]) for s in profile["samples"] for n in s)
    return file


def totals(file):
    return {profile["name"]: profile["endValue"] for profile in file["profiles"]}


def test_each_weight_has_a_profile_of_its_own():
    file = checked(render(story.report(), "speedscope"))
    assert totals(file) == {
        "Retained bytes by holder": 9_700,
        "Live bytes by the line that made them": 10_100,
        "Bytes per generation by finding": 562,
    }
    assert {"name": "evaluate", "file": "train.py", "line": 16} in file["shared"]["frames"]


@pytest.mark.parametrize("told", [stories.healthy, stories.short])
def test_run_without_holders_has_an_empty_profile(told):
    assert totals(checked(render(told(), "speedscope"))) == {"Retained bytes by holder": 0}


def test_profiles_of_several_runs_carry_their_names():
    file = checked(render_many([stories.short(), story.report()], "speedscope"))
    assert list(totals(file)) == [
        "runs/erl.jsonl: Retained bytes by holder",
        "runs/erl.jsonl: Live bytes by the line that made them",
        "runs/erl.jsonl: Bytes per generation by finding",
        "training.log: Retained bytes by holder",
    ]


def test_odd_names_stay_json():
    odd = replace(story.HOLDERS[2], path='d["\x1b[31m\ud800\u202e"]')
    file = checked(render(story.report((odd,), (), ()), "speedscope"))
    assert file["shared"]["frames"][1]["name"] == 'd[""] (bytes)'
