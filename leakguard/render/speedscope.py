"""A report as a file for speedscope: one profile for each weight that has stacks.

The format is the one that speedscope documents as its own:
https://www.speedscope.app/file-format-schema.json
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from leakguard.model.report import Report
from leakguard.render import outline
from leakguard.render.json_report import Json, finite_json
from leakguard.render.stacks import Stack, StackFrame, stacks
from leakguard.render.text import clean

if TYPE_CHECKING:
    from leakguard.render import Layout

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_TITLES = {
    "retained_bytes": "Retained bytes by holder",
    "born_bytes": "Live bytes by the line that made them",
    "growth_bytes": "Bytes per generation by finding",
}


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return a file with the profiles of all reports, those of the worst report first."""
    from leakguard import __version__

    frames: dict[StackFrame, int] = {}
    worst = outline.worst(reports)
    several = len(reports) > 1
    profiles = [
        profile
        for report in (worst, *(each for each in reports if each is not worst))
        for profile in _profiles(report, frames, outline.title(report) if several else "")
    ]
    return finite_json({
        "$schema": _SCHEMA,
        "shared": {"frames": [_frame(frame) for frame in frames]},
        "profiles": profiles,
        "name": clean(f"{outline.title(worst)}: {outline.verdict_line(worst)}"),
        "activeProfileIndex": 0,
        "exporter": f"leakguard@{__version__}",
    })  # fmt: skip


def _profiles(report: Report, frames: dict[StackFrame, int], run: str) -> Iterator[Json]:
    """Yield the profiles of a report; the first of them also if it is empty."""
    found = stacks(report)
    for weight, title in _TITLES.items():
        weighed = [stack for stack in found if stack.weights.get(weight)]
        if weighed or weight == "retained_bytes":  # the viewer opens no file without a profile
            yield _profile(weighed, weight, clean(f"{run}: {title}" if run else title), frames)


def _profile(
    weighed: Sequence[Stack], weight: str, title: str, frames: dict[StackFrame, int]
) -> Json:
    weights = [stack.weights[weight] for stack in weighed]
    return {
        "type": "sampled",
        "name": title,
        "unit": "bytes",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [
            [frames.setdefault(frame, len(frames)) for frame in stack.frames] for stack in weighed
        ],
        "weights": weights,
    }


def _frame(frame: StackFrame) -> Json:
    return {"name": frame.name} | ({"file": frame.file, "line": frame.line} if frame.file else {})
