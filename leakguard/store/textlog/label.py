"""Snapshot labels: free text that may name a generation, a phase and a moment."""

from __future__ import annotations

import re
from typing import NamedTuple

from leakguard.model.snapshot import Moment


class Place(NamedTuple):
    """What a label says about when its snapshot was taken."""

    moment: Moment
    phase: str | None
    generation: int | None


_GENERATION = re.compile(
    r"(?:Gen|Generation)\.?\s*#?(\d{1,15})(?:\s*/\s*\d+)?\s*[:\-–]\s*(\S.*)", re.IGNORECASE
)
_GENERATION_END = re.compile(
    r"(?:after |the )*"
    r"(?:end(?: of(?: the)? gen(?:eration)?)?|gen(?:eration)? (?:end|complete|done))(?: \d+)?\s*",
    re.IGNORECASE,
)
_AFTER = re.compile(r"^after\s+(?=\S)", re.IGNORECASE)
_RUN_END = re.compile(r"(?:end of (?:the )?run|run (?:ended|finished|end))", re.IGNORECASE)


def parse_label(label: str) -> Place:
    """Read ``Gen N: After PHASE`` and its kin; any other label is a phase of no generation."""
    match = _GENERATION.fullmatch(label)
    generation, rest = (int(match[1]), match[2].strip()) if match else (None, label)
    if "(baseline)" in rest.lower():
        return Place("baseline", rest, generation)
    if generation is None:
        return Place("end" if _RUN_END.fullmatch(rest) else "mark", rest, None)
    if _GENERATION_END.fullmatch(rest):
        return Place("generation", None, generation)
    return Place("phase", _AFTER.sub("", rest), generation)


def in_generation(place: Place, generation: int | None) -> Place:
    """Return the place of a label without a generation, printed while ``generation`` ran."""
    if generation is None or place.moment != "mark" or place.phase is None:
        return place
    if _GENERATION_END.fullmatch(place.phase):
        return Place("generation", None, generation)
    return Place("phase", _AFTER.sub("", place.phase), generation)
