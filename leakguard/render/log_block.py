"""The text blocks of a training log; their words and order are an interface that people grep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from leakguard.model import (
    BaselineGrowth,
    Census,
    CountChange,
    Finding,
    Gauge,
    LargeObject,
    Snapshot,
    TrendRow,
    Watched,
)
from leakguard.model.metric import METRICS
from leakguard.model.units import GB, MB
from leakguard.render.facts import heading, leak_facts
from leakguard.render.log_record import record_section
from leakguard.render.text import clean

FRAME = "=" * 70

# Types that every Python program has, with the names that memory logs use for them.
CENSUS_NAMES = {
    "list": "Lists",
    "dict": "Dicts",
    "numpy.ndarray": "NumPy arrays",
    "torch.Tensor": "PyTorch Tensors",
}

_LARGE_OBJECT = 50 * MB  # the default size from which a guard lists objects

# Columns where sizes, counts, and the RSS of a trend end. After a pictograph, a value ends one
# column earlier, because a pictograph is one character but takes two columns on a terminal.
_SIZE_END, _COUNT_END, _TREND_END = 33, 29, 43


def snapshot_block(
    snapshot: Snapshot,
    large_object: int | None = None,
    *,
    first: Census | None = None,
    record: bytes = b"",
) -> str:
    """Return the framed ``MEMORY SNAPSHOT`` block of one snapshot, without a final newline.

    Unknown values are omitted, never printed as 0. ``large_object`` is the threshold in bytes that
    the heading of the large objects names; None for the default. ``first`` is the run's first
    census, to which later ones refer. ``record`` is the snapshot as a line of the run file, so that
    the log is diagnosed like the run itself.
    """
    sections = (
        _process_memory(snapshot.metrics),
        _gpu_memory(snapshot.metrics),
        _object_counts(snapshot, first),
        _peak(snapshot.metrics),
        _resources(snapshot.metrics),
        _allocator(snapshot.metrics),
        _gauges(snapshot.gauges),
        _large_objects(snapshot, large_object or _LARGE_OBJECT),
        record_section(record),
    )
    body = (line for section in sections for line in section)
    return _framed(f"🔍 MEMORY SNAPSHOT: {_one_line(snapshot.label)}", body)


def trend_block(rows: Sequence[TrendRow]) -> str:
    """Return the framed ``MEMORY TREND`` table: RSS by snapshot, and the change since the last."""
    # Below 1 GB, two decimals would hide steps of several MB.
    decimals = 2 if any(row.rss >= GB for row in rows) else 5
    lines = [
        f"{'Label':<30} {'RAM (GB)':<12} {'Change':>8}",
        f"{'-' * 30} {'-' * 12} {'-' * 12}",
        *(_trend_row(row, decimals) for row in rows),
    ]
    return _framed("📊 MEMORY TREND ACROSS GENERATIONS", lines)


def growth_block(growth: BaselineGrowth) -> str:
    """Return the framed ``MEMORY GROWTH ANALYSIS``: the last generation against the baseline."""
    lines = [
        f"Baseline: {_one_line(growth.baseline)}",
        f"Current:  {_one_line(growth.current)}",
        *_ram_usage(growth),
        # Counts of an earlier look are not the current counts.
        *(_count_changes(growth.counts) if growth.counted in (None, growth.current) else ()),
    ]
    return _framed("📈 MEMORY GROWTH ANALYSIS", lines)


def leak_block(
    finding: Finding, snapshot: Snapshot | None = None, large_object: int | None = None
) -> str:
    """Return the diagnosis of one finding, followed by the block of ``snapshot`` if given.

    Facts that are unknown are omitted.
    """
    lines = [f"{heading(finding)}:"]
    for fact in leak_facts(finding):
        lines.append(f"- {fact.label}: {fact.value}".rstrip())
        lines += [f"    {more}" for more in fact.more]
    if snapshot is not None:
        lines.append(snapshot_block(snapshot, large_object))
    return "\n".join(lines)


def short_names(names: Mapping[str, object] | Sequence[str]) -> dict[str, str]:
    """Return the printed name of each qualified type name: the class name if that is unique."""
    reserved = set(CENSUS_NAMES.values())
    short = {name: _class_name(name) for name in names}
    seen = Counter(short.values())
    return {
        name: short[name] if seen[short[name]] == 1 and short[name] not in reserved else name
        for name in names
    }


def _framed(title: str, body: Iterator[str] | Sequence[str]) -> str:
    return "\n".join([FRAME, title, FRAME, *body, FRAME])


def _process_memory(metrics: Mapping[str, int | float]) -> Iterator[str]:
    titles = {name: METRICS[name].title for name in ("rss", "vms")}
    yield from _section("💾 Process Memory:", _size_rows(metrics, titles))


def _gpu_memory(metrics: Mapping[str, int | float]) -> Iterator[str]:
    titles = {"gpu_allocated": "Allocated", "gpu_reserved": "Reserved"}
    yield from _section("🎮 GPU Memory:", _size_rows(metrics, titles))


def _section(title: str, rows: Iterator[str]) -> Iterator[str]:
    """Yield the title and the rows, or nothing if no row is known."""
    first = next(rows, None)
    if first is not None:
        yield from (title, first, *rows)


def _size_rows(metrics: Mapping[str, int | float], titles: Mapping[str, str]) -> Iterator[str]:
    for name, title in titles.items():
        if name in metrics:
            yield _row(f"   {title}:", _size(metrics[name]), _SIZE_END)


def _object_counts(snapshot: Snapshot, first: Census | None) -> Iterator[str]:
    rows = chain(_watched_rows(snapshot.watched), _census_rows(snapshot, first))
    yield from _section("📊 Object Counts:", rows)


def _watched_rows(watched: Mapping[str, Watched]) -> Iterator[str]:
    names = short_names(watched)
    for name, seen in watched.items():
        row = _row(f"   {_one_line(names[name])}:", str(seen.count), _COUNT_END)
        yield row + _remark(seen)


def _remark(seen: Watched) -> str:
    if seen.expected is None:
        return ""
    low, high = seen.expected
    expected = f"  <- expected {low}" + ("" if low == high else f"-{high}")
    return expected if seen.as_expected else f"{expected}, found {seen.count}"


def _census_rows(snapshot: Snapshot, first: Census | None) -> Iterator[str]:
    census = snapshot.census
    for name, title in CENSUS_NAMES.items():
        entry = None if census is None else census.types.get(name)
        if entry is None and census is not None and not census.complete and first is not None:
            entry = first.types.get(name)  # a later census omits types that did not change
        # A watched type is already among the rows above.
        if entry is not None and name not in snapshot.watched:
            yield _row(f"   {title}:", str(entry.count), _COUNT_END)


def _peak(metrics: Mapping[str, int | float]) -> Iterator[str]:
    if "peak" in metrics:
        yield _row(f"📈 {METRICS['peak'].title}:", _size(metrics["peak"]), _SIZE_END - 1)


def _resources(metrics: Mapping[str, int | float]) -> Iterator[str]:
    for mark, name in (("🧵", "threads"), ("📂", "open_files")):
        if name in metrics:
            yield _row(f"{mark} {METRICS[name].title}:", f"{metrics[name]:.0f}", _COUNT_END - 1)


def _allocator(metrics: Mapping[str, int | float]) -> Iterator[str]:
    titles = {"heap_in_use": "In use", "heap_held": "Held free"}
    yield from _section("🧱 Allocator:", _size_rows(metrics, titles))


def _gauges(gauges: Mapping[str, Gauge]) -> Iterator[str]:
    if gauges:
        yield "📏 Gauges:"
    for name, gauge in gauges.items():
        of = "" if gauge.capacity is None else f" / {gauge.capacity:,.10g}"
        yield _row(f"   {_one_line(name)}:", f"{gauge.value:,.10g}", _COUNT_END) + of


def _large_objects(snapshot: Snapshot, threshold: int) -> Iterator[str]:
    large = () if snapshot.census is None else snapshot.census.large
    if large:
        yield f"📦 Large Objects (>= {_round_size(threshold)}):"
    for item in large:
        yield _large_row(item)


def _large_row(item: LargeObject) -> str:
    words = [item.type]
    if item.shape is not None:
        words.append("(" + ", ".join(map(str, item.shape)) + ("," * (len(item.shape) == 1)) + ")")
    if item.dtype is not None:
        words.append(item.dtype.replace(" ", ""))
    if item.device is not None:
        words.append(f"on {item.device}")
    retains = "" if item.retained_bytes is None else f", retains {_size(item.retained_bytes)}"
    held = "" if item.held_by is None else f"  <- held by {_one_line(item.held_by)}"
    return f"   {_one_line(' '.join(words))}:  {_size(item.bytes)}{retains}{held}"


def _trend_row(row: TrendRow, decimals: int) -> str:
    ram = _row(_one_line(row.label), f"{row.rss / GB:.{decimals}f}", _TREND_END)
    if row.change is None:
        return f"{ram}     baseline"
    # In GB like the column before it, unless that would print a change as 0.00.
    in_gb = decimals == 2 and abs(row.change) >= 0.01 * GB
    change = f"{row.change / GB:+.2f} GB" if in_gb else _change(row.change)
    return f"{ram} {change:>11}"


def _ram_usage(growth: BaselineGrowth) -> Iterator[str]:
    before, after = growth.rss_before, growth.rss_after
    if before is None and after is None:
        return
    yield ""
    yield "RAM Usage:"
    if before is not None:
        yield _row("   Baseline:", _size(before), 25)
    if after is not None:
        yield _row("   Current:", _size(after), 25)
    if before is not None and after is not None:
        share = f" ({(after - before) / before:+.1%})" if before else ""
        yield _row("   Growth:", _change(after - before), 25) + share


def _count_changes(counts: Sequence[CountChange]) -> Iterator[str]:
    if not counts:
        return
    yield ""
    yield "Object Count Changes:"
    names = short_names([change.type for change in counts])
    width = max(18, *(len(name) for name in names.values()))
    for change in counts:
        numbers = f"{change.before:>6} → {change.after:>6} ({change.after - change.before:+d})"
        yield f"   {_one_line(names[change.type]):<{width}} : {numbers}"


def _row(name: str, value: str, column: int) -> str:
    """Right-align ``value`` to end at ``column``, at least one space after the name."""
    return f"{name} {value:>{max(0, column - len(name) - 1)}}"


def _size(size: float) -> str:
    """Return a size with two decimals, in GB, or below 1 GB in MB or kB, to show small changes."""
    for unit, scale in (("GB", GB), ("MB", MB), ("kB", 1000)):
        if abs(size) >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size:.0f} B"


def _change(size: float) -> str:
    return ("+" if size >= 0 else "") + _size(size)


def _round_size(size: int) -> str:
    """Return a threshold as the user wrote it: ``50 MB``."""
    return _size(size).replace(".00 ", " ")


def _class_name(qualified: str) -> str:
    """Return ``Env`` for ``pkg.mod.f.<locals>.Env``; the dots in a subscript are kept."""
    head, bracket, rest = qualified.partition("[")
    return head.rsplit(".", 1)[-1] + bracket + rest


def _one_line(text: str) -> str:
    return clean(text).strip()
