"""The written record of a running guard: file, log and the run so far."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from leakguard.live.end_report import show_end_report
from leakguard.live.history import History
from leakguard.model import Census, Report, Run, RunInfo, Snapshot
from leakguard.store import jsonl, schema

_TREND_GENERATIONS = 3


class Journal:
    """Takes each snapshot to the run file and the log, and keeps the run for later questions."""

    def __init__(
        self,
        info: RunInfo,
        out: Path | None,
        sink: Callable[[str], object] | None,
        log_every: int,
        on_screen: bool = False,
    ) -> None:
        """Open the run file; ``on_screen`` asks for a short report at the end without a log.

        Raises:
            UsageError: ``out`` cannot be written.
        """
        self._info = info
        self._out = out
        self._on_screen = on_screen
        self._writer = None if out is None else jsonl.RunWriter(out, info)
        self._sink = sink
        self._log_every = log_every
        self._history = History()
        self._first: Census | None = None
        self.next_serial = 0
        self.looks = 0
        self.finished = False

    def add(self, snapshot: Snapshot, round_: int | None) -> None:
        """Record one snapshot."""
        line = schema.encode_snapshot(snapshot)
        self._history.append(line, round_)
        self._write(line)
        self.next_serial += 1
        self.looks += snapshot.census is not None
        if self._sink and (round_ or 0) % self._log_every == 0:
            self._log(snapshot, self._sink)

    def run(self) -> Run:
        """Return the run so far; a long one is thinned to evenly spaced generations."""
        snapshots = tuple(jsonl.decode_snapshots(self._history))
        return Run(self._info, snapshots, finished=self.finished)

    def finish(self) -> None:
        """Close the file and write the report to the log, or a short one to standard error."""
        if self.finished:
            return
        self.finished = True
        if self._writer is not None:
            self._writer.close()
        if self._sink is not None:
            self._sink(_report_text(self._report()))
        elif self._on_screen:
            show_end_report(self._report(), self._out)

    def _report(self) -> Report:
        from leakguard.analysis import diagnose

        return diagnose(self.run())

    def _write(self, line: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(line)
        except OSError as error:  # a full disk must not end the training
            self._writer = None
            print(f"leakguard: the run is no longer written: {error}", file=sys.stderr)

    def _log(self, snapshot: Snapshot, sink: Callable[[str], object]) -> None:
        from leakguard.render.log_block import growth_block, snapshot_block, trend_block

        if self._first is None and snapshot.census is not None and snapshot.census.complete:
            self._first = snapshot.census
        sink(snapshot_block(snapshot, first=self._first, exact=True))
        if snapshot.moment != "generation":
            return
        from leakguard.analysis import growth, trend

        recent = Run(self._info, tuple(jsonl.decode_snapshots(self._history.recent(64))))
        sink(trend_block(trend(recent, generations=_TREND_GENERATIONS)))
        change = growth(recent)
        if change is not None:
            sink(growth_block(change))


def _report_text(report: Report) -> str:
    from leakguard.render import render

    return render(report, "terminal", color=False, detail="full")
