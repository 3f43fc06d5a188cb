"""The growth of RSS, part by part: live memory, memory held free, and the unexplained rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from leakguard.analysis.words import unknown as words
from leakguard.model import Census, Run, Snapshot
from leakguard.model.ledger import PARTS, Ledger


def ledger(run: Run) -> Ledger | None:
    """Return the growth of RSS from the baseline to the latest generation with a census, by part.

    None if fewer than two snapshots have RSS.
    """
    before = run.baseline
    after = _latest(run, before)
    return None if before is None or after is None else _between(run, before, after)


def ledger_history(run: Run, most: int = 60) -> tuple[Ledger, ...]:
    """Return the ledger at each generation with a census, or at no more than ``most`` of these."""
    before = run.baseline
    ends = [s for s in run.generation_ends() if s is not before and _is_sized(s)]
    if before is None or not ends:
        return ()
    step = -(-len(ends) // most)
    chosen = ends[::-1][::step][::-1]  # the latest generation is always included
    return tuple(filter(None, (_between(run, before, end) for end in chosen)))


def _between(run: Run, before: Snapshot, after: Snapshot) -> Ledger | None:
    growth = _change(before, after, _metric("rss"))
    if growth is None:
        return None
    known = {name: _change(before, after, read) for name, read in _READERS.items()}
    known["native"] = _native(before, after, known)
    missing = (part for part in words.UNREAD if known[part] is None)
    unknown = {part: _why_unknown(part, (after, before)) for part in missing}
    parts = {name: known.get(name) for name in PARTS}
    parts["unexplained"] = growth - sum(filter(None, known.values()))
    rounds = run.generations_until(after.generation)
    return Ledger(before.label, after.label, rounds, growth, parts, unknown, after.generation)


def _latest(run: Run, before: Snapshot | None) -> Snapshot | None:
    """Return the last generation's end with a census, else the last end or snapshot with RSS."""
    later = [s for s in run.snapshots if s is not before and "rss" in s.metrics]
    ends = [s for s in later if s.moment == "generation"]
    sized = [s for s in ends if _is_sized(s)]
    return next(iter([*sized[-1:], *ends[-1:], *later[-1:]]), None)


def _is_sized(snapshot: Snapshot) -> bool:
    return snapshot.census is not None and snapshot.census.bytes is not None


Read = Callable[[Snapshot], "int | None"]


def _metric(*names: str) -> Read:
    def read(snapshot: Snapshot) -> int | None:
        values = [snapshot.metrics.get(name) for name in names]
        return None if None in values else int(sum(value or 0 for value in values))

    return read


def _sized(size: Callable[[Census, int], int]) -> Read:
    def read(snapshot: Snapshot) -> int | None:
        census = snapshot.census
        if census is None or census.bytes is None:
            return None
        return size(census, census.bytes)

    return read


def _tensors(census: Census, whole: int) -> int:
    cpu = census.tensors.get("cpu")
    return cpu.bytes if cpu else 0  # other devices' memory is not in RSS


def _arrays(census: Census, whole: int) -> int:
    return census.arrays.bytes if census.arrays else 0


def _others(census: Census, whole: int) -> int:
    storage = sum(storage.bytes for storage in census.tensors.values())
    return whole - _arrays(census, whole) - storage


def _swapped(snapshot: Snapshot) -> int | None:
    swap = snapshot.metrics.get("swap")
    return None if swap is None else -int(swap)


_READERS: Mapping[str, Read] = {
    "tensors": _sized(_tensors),
    "arrays": _sized(_arrays),
    "python": _sized(_others),
    "interpreter": _metric("python_held"),
    "allocator": _metric("heap_held"),
    "shared": _metric("rss_file", "rss_shared"),
    "swapped": _swapped,
}

# For some parts, a probe that knows a better reason for a missing number than "was not read".
_PROBES = {"interpreter": "pools", "allocator": "allocator", "tensors": "census",
           "arrays": "census", "python": "census"}  # fmt: skip


def _change(before: Snapshot, after: Snapshot, read: Read) -> int | None:
    first, last = read(before), read(after)
    return None if first is None or last is None else last - first


def _native(before: Snapshot, after: Snapshot, known: Mapping[str, int | None]) -> int | None:
    in_use = _change(before, after, _metric("heap_in_use", "python_in_use"))
    objects = [known[name] for name in ("tensors", "arrays", "python")]
    if in_use is None or None in objects:
        return None
    return in_use - sum(filter(None, objects))


def _why_unknown(part: str, ends: Iterable[Snapshot]) -> str:
    probe = _PROBES.get(part, "")
    known = next((s.unavailable[probe] for s in ends if probe in s.unavailable), None)
    return known or words.UNREAD[part]
