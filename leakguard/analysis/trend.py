"""The plain tables: RSS at each snapshot, and the latest snapshot compared with the baseline."""

from __future__ import annotations

from leakguard.model import BaselineGrowth, CountChange, Run, Snapshot, TrendRow

_ALWAYS_SHOWN = ("numpy.ndarray", "torch.Tensor")


def trend(run: Run, generations: int | None = None) -> tuple[TrendRow, ...]:
    """Return RSS at the baseline and at each snapshot of the last ``generations`` (None: all)."""
    numbers = run.generations
    recent = set(numbers if generations is None else numbers[-generations:])
    baseline = run.baseline
    shown = [s for s in run.snapshots if s is baseline or s.generation in recent]
    rows: list[TrendRow] = []
    previous: int | None = None
    for snapshot in shown:
        rss = snapshot.metrics.get("rss")
        if rss is None:
            continue
        change = None if previous is None else int(rss) - previous
        rows.append(TrendRow(snapshot.label, snapshot.generation, snapshot.phase, int(rss), change))
        previous = int(rss)
    return tuple(rows)


def growth(run: Run) -> BaselineGrowth | None:
    """Return the changes from the baseline to the latest snapshot; None if there is only one.

    Counts are those of watched types, arrays and tensors, from the latest snapshot that has them.
    """
    baseline = run.baseline
    shots = run.while_looping()
    if baseline is None or len(shots) < 2 or shots[-1] is baseline:
        return None
    current = shots[-1]
    counted = next((s for s in reversed(shots) if s.watched or s.census), current)
    return BaselineGrowth(
        baseline.label,
        current.label,
        _rss(baseline),
        _rss(current),
        tuple(_count_changes(baseline, counted)),
        counted.label,
    )


def _count_changes(before: Snapshot, after: Snapshot) -> list[CountChange]:
    names = dict.fromkeys((*after.watched, *_ALWAYS_SHOWN))
    counts = ((name, before.count(name), after.count(name)) for name in names)
    return [
        CountChange(name, earlier, later)
        for name, earlier, later in counts
        if earlier is not None and later is not None and (earlier or later)
    ]


def _rss(snapshot: Snapshot) -> int | None:
    rss = snapshot.metrics.get("rss")
    return None if rss is None else int(rss)
