"""What a proof by cutting came to is one line of its finding."""

from __future__ import annotations

from dataclasses import replace

import report_stories as stories

from leakguard.model import Proof
from leakguard.render.facts import deep_facts


def _line(proof):
    finding = replace(stories.leaking().findings[0], proof=proof)
    return next((fact.value for fact in deep_facts(finding) if fact.label == "Proven"), None)


def test_released_bytes_stand_beside_those_that_were_told():
    assert _line(Proof("main.kept[*]", 121_000_000, 120_600_000)) == (
        "cutting it in a copy of the process released 121 MB (121 MB reported)"
    )


def test_refusal_says_why_nothing_was_cut():
    line = _line(Proof("main.kept[*]", 5, refused="the finalizer of main.Log would run"))

    assert line == "no, nothing was cut: the finalizer of main.Log would run"


def test_finding_without_a_proof_says_nothing_of_one():
    assert _line(None) is None
