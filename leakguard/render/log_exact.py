"""The end of a guard's log block: numbers to the byte, for the same diagnosis as the run file.

The lines above are rounded for people; this part is what ``leakguard report`` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from leakguard.model import Census, Snapshot, TypeCount
from leakguard.model.births import Birthplace
from leakguard.render.text import clean

# The most types that are recorded of one look: the types with the largest change in bytes. Chosen:
# a look at a small program finds some 50 changed types, mostly from imports and caches, and a leak
# is among them within one or two looks.
MOST_TYPES = 100
# The width of a line in columns: the width of ``log_block.FRAME``, the frame around the whole
# block.
_FRAME_WIDTH = 70
# The most characters of a record. Log readers skip much longer lines, so a longer record loses the
# fields in ``_DEEP``, in their order, until it is short enough. Chosen.
_LONGEST_RECORD = 1900
_DEEP = ("cycles", "stack", "trace", "types")
# Birthplaces that are recorded for one holder. A birthplace is a line of the program, and the lines
# that allocated the most bytes of the holder's content come first. Chosen.
_PLACES_A_HOLDER = 2
_EMPTY: tuple[object, ...] = (None, {}, [], ())
_NOTHING = TypeCount(0, 0)


def exact_sections(
    snapshot: Snapshot, first: Census | None, names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of the sections.

    Types are compared with ``first``, the run's first census. ``names`` maps the qualified names of
    watched classes to the names printed above.
    """
    yield "🔢 Exact numbers:"
    yield from _packed(_numbers(snapshot))
    for full, short in names.items():
        if short != full:
            yield f"   {clean(short)} is {clean(full)}"
    if snapshot.phases:
        yield "⏱ Phases of this generation:"
        yield from _phases(snapshot)
    if snapshot.census is not None and first is not None:
        yield "🔬 Types changed since the start:"
        yield from _packed(_types(snapshot, snapshot.census, first), "; ")
    found = list(_records(snapshot))
    if found:
        yield "🔗 Found in the heap:"
        yield from found


def _packed(tokens: Iterable[str], separator: str = " ", indent: str = "   ") -> Iterator[str]:
    """Yield lines of whole tokens, at most as wide as the frame unless one token is wider."""
    line = ""
    for token in tokens:
        longer = line + separator + token if line else indent + token
        if line and len(longer) > _FRAME_WIDTH:
            yield line
            longer = indent + token
        line = longer
    if line:
        yield line


def _numbers(snapshot: Snapshot) -> Iterator[str]:
    """Yield ``name=value(+change)``; the change is since the phase or generation began.

    A change of 0 is omitted. ``began`` means that the values at the beginning are known, ``(?)``
    that this number's value there is unknown.
    """
    yield f"moment={snapshot.moment}"
    if snapshot.generation is not None:
        yield f"generation={snapshot.generation}"
    if snapshot.taken:
        yield f"taken={snapshot.taken}"
    if snapshot.seconds is not None:
        yield f"seconds={snapshot.seconds:.3f}"
    if snapshot.entry:
        yield "began"
    for name, value in snapshot.metrics.items():
        yield f"{name}={value}{_change(value, snapshot.entry.get(name)) if snapshot.entry else ''}"
    if snapshot.census is not None:
        yield from _totals(snapshot.census)


def _totals(census: Census) -> Iterator[str]:
    """Yield the totals of the whole heap; a storage is ``objects/buffers/bytes``."""
    if census.objects is not None:
        yield f"live_objects={census.objects}"
    if census.bytes is not None:
        yield f"live_bytes={census.bytes}"
    storages = {"arrays": census.arrays, "mapped": census.mapped}
    storages |= {f"tensors:{device}": storage for device, storage in census.tensors.items()}
    for name, storage in storages.items():
        if storage is not None:
            yield f"{name}={storage.objects}/{storage.storages}/{storage.bytes}"


def _change(value: float, before: float | None) -> str:
    if before is None:
        return "(?)"
    return f"({value - before:+})" if value != before else ""


def _phases(snapshot: Snapshot) -> Iterator[str]:
    for name, total in snapshot.phases.items():
        yield f"   {clean(name)}: {total.times} x, {total.seconds:.3f} s"
        changes = (f"{metric}={change:+}" for metric, change in total.change.items() if change)
        yield from _packed(changes, indent="      ")


def _records(snapshot: Snapshot) -> Iterator[str]:
    """Yield containers, garbage, broken promises and sites, one JSON record per row."""
    collection = () if snapshot.collection is None else (snapshot.collection,)
    large = () if snapshot.census is None else snapshot.census.large
    holders = [replace(holder, born=()) for holder in snapshot.holders]
    records = {"large": large, "holder": holders, "collection": collection,
               "expectation": snapshot.expectations, "site": snapshot.sites}  # fmt: skip
    for kind, values in records.items():
        yield from (f"   {kind} {_json(value)}" for value in values)
    for holder in snapshot.holders:
        told = holder.born[:_PLACES_A_HOLDER]
        yield from (f"   born {_born(holder.path, place)}" for place in told)


def _born(held_by: str, place: Birthplace) -> str:
    """Return the birthplace of what a holder keeps; a cohort is a row of its five numbers.

    The stack is omitted. The oldest cohorts are dropped if the record is too long.
    """
    import msgspec

    fields = {"held_by": held_by, "place": _filled(replace(place, stack=(), cohorts=()))}
    cohorts = [list(msgspec.to_builtins(cohort).values()) for cohort in place.cohorts]
    text = ""
    for first in range(len(cohorts) + 1):
        text = msgspec.json.encode(fields | {"cohorts": cohorts[first:]}).decode()
        if len(text) <= _LONGEST_RECORD:
            break
    return clean(text)


def _json(value: object) -> str:
    """Return a record without empty fields, and without deep fields if it is too long."""
    import msgspec

    fields = _filled(value)
    for _ in range(len(_DEEP) + 1):
        text = msgspec.json.encode(fields).decode()
        if len(text) <= _LONGEST_RECORD:
            break
        fields.pop(next((name for name in _DEEP if name in fields), ""), None)
    return clean(text)


def _filled(value: object) -> dict[str, object]:
    """Return the fields of a record that are not empty."""
    import msgspec

    return {name: item for name, item in msgspec.to_builtins(value).items() if item not in _EMPTY}


def _types(snapshot: Snapshot, census: Census, first: Census) -> Iterator[str]:
    changed = _changed(census, first)
    largest = sorted(changed, key=lambda name: _weight(name, snapshot, *changed[name]))
    for name in largest[:MOST_TYPES]:
        yield f"{clean(name)}={_type_token(*changed[name], (snapshot.change or {}).get(name))}"
    if len(largest) > MOST_TYPES:
        yield f"and {len(largest) - MOST_TYPES} more"
    if not changed:
        yield "none"


def _changed(census: Census, first: Census) -> dict[str, tuple[TypeCount, TypeCount]]:
    now: Mapping[str, TypeCount] = census.types
    if census.complete:
        now = {**dict.fromkeys(first.types, _NOTHING), **census.types}
    pairs = {name: (entry, first.types.get(name, _NOTHING)) for name, entry in now.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _weight(
    name: str, snapshot: Snapshot, now: TypeCount, before: TypeCount
) -> tuple[bool, int, int]:
    """Return the sort key: watched types first, then the types with most changed bytes."""
    size = abs((now.bytes or 0) - (before.bytes or 0))
    return name not in snapshot.watched, -size, -abs(now.count - before.count)


def _type_token(now: TypeCount, before: TypeCount, here: TypeCount | None) -> str:
    """Return ``count(+change),bytes(+change),here+count,+bytes``; ``here`` is this phase's part."""
    token = f"{now.count}({now.count - before.count:+})"
    if now.bytes is not None and before.bytes is not None:
        token += f",{now.bytes}({now.bytes - before.bytes:+})"
    if here is not None:
        token += f",here{here.count:+}" + ("" if here.bytes is None else f",{here.bytes:+}")
    return token
