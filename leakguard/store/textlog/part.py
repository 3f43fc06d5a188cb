"""One run of a log, from its start to the next start: its moments in order."""

from __future__ import annotations

from collections.abc import Iterable

from leakguard.model.brink import Failure
from leakguard.store.textlog.moment import Draft, parse_label
from leakguard.store.textlog.record import Closing
from leakguard.store.textlog.table import Change, Row, Trend


class Part:
    """Collects the moments of one run; tables and growth blocks supply missing ones."""

    def __init__(self) -> None:
        self.points: list[Draft] = []
        self.rebuilt = 0
        self.finished = False
        self.failure: Failure | None = None
        self._labels: dict[str, list[Draft]] = {}
        self._trend = Trend((), False)
        self._latest: int | None = None
        self._has_baseline = False

    # -- snapshots ------------------------------------------------------------------------------

    def repeats(self, draft: Draft) -> bool:
        """True if the last snapshot was printed twice, for example by two log handlers."""
        marked = draft.place.generation is not None or draft.place.moment == "baseline"
        return marked and bool(self.points) and self.points[-1].tells_the_same(draft)

    def starts_over(self, draft: Draft) -> bool:
        """True if a snapshot belongs to the next run.

        It has the facts about a run, or is a new baseline, or of an earlier generation.
        """
        latest = self._latest
        if draft.quoted:
            return False
        if draft.record is not None and draft.record.info is not None:
            return bool(self.points)
        if draft.place.moment == "baseline":
            return latest is not None or self._has_baseline
        generation = draft.place.generation
        if generation is None or latest is None or generation >= latest:
            return False
        # A phase in a thread may end late; a label that occurred before means a second run.
        return generation < latest - 1 or draft.label in self._labels

    def add(self, draft: Draft) -> None:
        """Add a snapshot, unless it is quoted by a diagnosis and already here."""
        if not draft.quoted:
            self._insert(len(self.points), draft)
        elif draft.label not in self._labels:
            self._insert(self._position(draft), draft)

    def leaders(self) -> list[Draft]:
        """Remove and return the moments at the end that look like the beginning of the next run."""
        head = {p.label for p in self.points[:8] if p.place.generation is None}
        cut = len(self.points)
        for index in range(len(self.points) - 1, 0, -1):
            point = self.points[index]
            if point.place.generation is not None:
                break
            if point.label in head:
                cut = index
        taken, self.points = self.points[cut:], self.points[:cut]
        for draft in taken:
            self._labels[draft.label].remove(draft)
        return taken

    def close(self, closing: Closing) -> None:
        """Add what ended the run."""
        self.finished = self.finished or closing.finished
        self.failure = self.failure or closing.failure

    # -- tables ---------------------------------------------------------------------------------

    def contradicts(self, table: Trend | Change) -> bool:
        """True if a table belongs to another run: it has another baseline, or earlier rounds."""
        first = table.baseline
        known = self._labels.get(first.label) if first is not None else None
        if first is not None and known and not any(_same(p, first) for p in known):
            return True
        rounds = [parse_label(label).generation for label in table.last_labels]
        reached = max((n for n in rounds if n is not None), default=None)
        return reached is not None and self._latest is not None and reached < self._latest - 1

    def add_trend(self, trend: Trend) -> None:
        """Add the rows whose moments are unknown, in the order of the table."""
        old = self._trend.rows
        rows = trend.rows[len(old) :] if old and trend.rows[: len(old)] == old else trend.rows
        self._trend = trend
        taken: dict[str, int] = {}
        before: Draft | None = None
        place = 0
        for row in rows:
            found = self._find(row, taken)
            if found is None:
                found = _from_row(row)
                place = 0 if row is trend.baseline else self._behind(before, found, place)
                self._insert(place, found)
                taken[row.label] = taken.get(row.label, 0) + 1
                self.rebuilt += 1
            before = found

    def add_growth(self, change: Change) -> None:
        """Add the counts of the two moments that a growth block compares."""
        for label, row, side in (
            (change.before_label, change.before, 0),
            (change.after_label, change.after, 1),
        ):
            if label is None:
                continue
            draft = self._moment(label, row, is_baseline=side == 0)
            # The counts of a moment without a look are those of an earlier look.
            if draft is not None and not (side and draft.counts_nothing):
                for name, pair in change.counts.items():
                    draft.add_count(name, pair[side])

    def _moment(self, label: str, row: Row | None, is_baseline: bool) -> Draft | None:
        known = self._labels.get(label)
        if known:
            same = [p for p in known if row is None or _same(p, row)]
            return same[-1] if same else None
        if row is None:
            return None
        draft = _from_row(row)
        self._insert(0 if is_baseline else self._position(draft), draft)
        self.rebuilt += 1
        return draft

    def _find(self, row: Row, taken: dict[str, int]) -> Draft | None:
        known = self._labels.get(row.label, [])
        same = [p for p in known if _same(p, row)]
        nth = taken.get(row.label, 0)
        if nth < len(same):
            taken[row.label] = nth + 1
            return same[nth]
        # A table may have read RSS at another instant than the snapshot with the same label. So the
        # row is taken for this snapshot although RSS differs, if the label names a generation.
        return known[-1] if known and known[-1].place.generation is not None else None

    def _behind(self, before: Draft | None, draft: Draft, start: int) -> int:
        """Return the position after ``before``, which is likely at ``start`` or later.

        A table may leave out what lies between the baseline and its next row.
        """
        if before is None or (before.place.moment == "baseline" and before is not self.points[-1]):
            return self._position(draft)
        if before is self.points[-1]:
            return len(self.points)
        try:
            return self.points.index(before, start) + 1
        except ValueError:
            return self.points.index(before) + 1

    def _position(self, draft: Draft) -> int:
        """Return the position of a moment by its generation; baselines come first."""
        generation = draft.place.generation
        if generation is None:
            return 0 if draft.place.moment == "baseline" else len(self.points)
        for index in range(len(self.points), 0, -1):
            other = self.points[index - 1].place.generation
            if other is not None and other <= generation:
                return index
        return sum(1 for _ in _leading_marks(self.points))

    def _insert(self, position: int, draft: Draft) -> None:
        generation = draft.place.generation
        if generation is not None and (position == len(self.points) or self._latest is None):
            self._latest = generation
        self._has_baseline = self._has_baseline or draft.place.moment == "baseline"
        self.points.insert(position, draft)
        self._labels.setdefault(draft.label, []).append(draft)


def _leading_marks(points: Iterable[Draft]) -> Iterable[Draft]:
    for point in points:
        if point.place.generation is not None:
            return
        yield point


def _same(draft: Draft, row: Row) -> bool:
    return draft.has_rss(row.rss, row.step)


def _from_row(row: Row) -> Draft:
    draft = Draft.labelled(row.label)
    draft.metrics["rss"] = row.rss
    draft.step = row.step
    return draft
