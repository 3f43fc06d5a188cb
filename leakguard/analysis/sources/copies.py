"""The same data in memory more than once: no leak, but a warning.

If an environment, worker or data set copies data that it could share, the copy takes memory for the
whole run.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from leakguard.analysis.case import Case
from leakguard.analysis.facts.measured import SameData
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import FEWEST_LOOKS, SEEN_AGAIN
from leakguard.model import Holder, LargeObject, Snapshot


class _Alike(NamedTuple):
    """What two arrays must have in common to be copies."""

    type: str
    shape: tuple[int, ...] | None
    dtype: str | None
    digest: str | None


_Groups: TypeAlias = "dict[_Alike, list[LargeObject]]"


def copies(case: Case) -> list[Growth]:
    """Return large arrays with equal contents that stayed unchanged in looks of 3 generations.

    Contents that stay the same for so long are data, not changing state.
    """
    looks = [s for s in case.run.snapshots if s.generation is not None and _with_contents(s)]
    groups = [(look.generation or 0, _groups(look)) for look in looks]
    return [
        _growth(contents, items, since, looks[-1])
        for contents, items in (groups[-1][1].items() if groups else ())
        if len(since := _since(groups, contents)) >= FEWEST_LOOKS
    ]


def _with_contents(snapshot: Snapshot) -> list[LargeObject]:
    """Return the large objects of a look whose contents were read."""
    large = () if snapshot.census is None else snapshot.census.large
    return [item for item in large if item.digest is not None]


def _groups(snapshot: Snapshot) -> _Groups:
    """Return the large objects of one look that have at least one copy, by contents."""
    groups: defaultdict[_Alike, list[LargeObject]] = defaultdict(list)
    for item in _with_contents(snapshot):
        groups[_Alike(item.type, item.shape, item.dtype, item.digest)].append(item)
    return {contents: items for contents, items in groups.items() if len(items) > 1}


def _since(looks: list[tuple[int, _Groups]], contents: _Alike) -> list[int]:
    """Return the generations of the last consecutive looks that all show these copies."""
    last = takewhile(lambda look: contents in look[1], reversed(looks))
    return sorted({generation for generation, _ in last})


def _growth(
    contents: _Alike, items: list[LargeObject], since: list[int], shown: Snapshot
) -> Growth:
    items = sorted(items, key=lambda item: item.held_by or "")
    spare = sum(item.bytes for item in items) - max(item.bytes for item in items)
    holders = tuple(sorted({item.held_by for item in items if item.held_by}))
    same = SameData(len(items), since[0], items[0].bytes, spare, holders)
    first = items[0].held_by
    return Growth(
        "copies",
        contents.type,
        "copies",
        type=contents.type,
        pattern="flat",
        since=since[0],
        holder=None if first is None else Holder(first, contents.type, len(items)),
        worst="inconclusive",
        evidence=(Evidence("contents", same),),
        confidence=SEEN_AGAIN,
        fix="copies",
        ruled_out=("copies constant",),
        shown=shown,
    )
