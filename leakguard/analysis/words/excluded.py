"""Why other explanations of a growth were rejected."""

from __future__ import annotations

from leakguard.analysis.facts.excluded import Excluded, NotFilling
from leakguard.analysis.words.series import why_it_grows
from leakguard.model.metric import METRICS

_SAID = {
    "peak freed": "no leak: the memory is freed when the phase ends",
    "copies constant": "no leak: the number of copies does not grow",
    "collector frees": "no leak: the collector frees it",
    "already freed": "no leak: the program has freed it",
    "no holder": "no holder: a collection freed them",
    "not held free": "no fragmentation: what the allocators hold free is not in it",
}


def excluded(explanation: Excluded) -> str:
    """Return which explanation was rejected, and why."""
    if not isinstance(explanation, NotFilling):
        return _SAID[explanation]
    like = explanation.like
    unit = "count" if like is None else METRICS[like].unit
    why = why_it_grows(explanation.why, unit)
    if like is not None:
        why = f"it rises as {METRICS[like].words} does, of which {why}"
    return f"not filling up and no warm-up: {why}"
