"""The record of a running guard: run file, log, the run so far, and the report at the end."""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from leakguard.alarm import pass_on
from leakguard.capture.probe import reason_of
from leakguard.live.children import Children
from leakguard.live.history import History
from leakguard.live.sinks import complain, write_block
from leakguard.model import Census, Report, Run, RunInfo, Snapshot
from leakguard.model.brink import Failure
from leakguard.model.finding import SEVERITY
from leakguard.model.secrets import without_secrets
from leakguard.store import jsonl, schema
from leakguard.store.census_delta import CensusDelta
from leakguard.store.remote_copy import RemoteCopy

_TREND_GENERATIONS = 3


class Journal:
    """Writes each snapshot to the run file and the log, and keeps the run for diagnoses."""

    def __init__(
        self,
        info: RunInfo,
        out: Path | None,
        sink: Callable[[str], object] | None,
        log_every: int,
        on_screen: bool = False,
        most_bytes: int | None = None,
    ) -> None:
        """Open the run file.

        With ``on_screen`` and no log, a short report is printed at the end. A file that reaches
        ``most_bytes`` is thinned to half of that.

        Raises:
            UsageError: ``out`` cannot be written.
        """
        self._info = info
        self._evidence: Path | str | None = out
        self._on_screen = on_screen
        self._writer = None if out is None else jsonl.RunWriter(out, info, most_bytes)
        self._most_bytes = most_bytes
        self._sink = sink
        self._log_every = log_every
        self._history = History()
        self._delta = CensusDelta()
        # A log that omits generations may omit the first census, so it refers to one of its own.
        self._log_delta = self._delta if log_every == 1 else CensusDelta()
        self._log_header = schema.encode_header(info)
        self._children: Children | None = None
        self._copy: RemoteCopy | None = None
        self.next_serial = 0
        self.looks = 0
        self.finished = False
        self._failure: Failure | None = None
        self._complained = self._closed = False

    def share(self, children: Children, url: str | None) -> None:
        """Write in a run directory: follow child processes too, and copy everything to ``url``.

        Raises:
            UsageError: the URL cannot be used.
        """
        self._children, self._evidence = children, children.folder
        if url is not None:
            place = url.rpartition("/")[0]
            self._evidence = without_secrets(place)
            self._copy = RemoteCopy(children.folder, place)

    @property
    def writes_log(self) -> bool:
        """Whether blocks are written to a log, which takes a diagnosis of the run so far."""
        return self._sink is not None

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the run so far."""
        own = 0 if self._log_delta is self._delta else self._log_delta.held_bytes
        return self._history.held_bytes + self._delta.held_bytes + own

    @property
    def first_census(self) -> Census | None:
        """The census that later ones are compared with; None before it."""
        return self._delta.first

    def add(self, snapshot: Snapshot, round_: int | None) -> None:
        """Record one snapshot."""
        packed = self._delta.packed
        try:
            reduced = self._delta.reduced(snapshot)
            line = schema.encode_snapshot(reduced)
            self._keep(line, snapshot, round_)
        except BaseException:  # interrupted: later lines must not refer to an unwritten census
            self._delta.packed = packed
            raise
        if self._children is not None and snapshot.moment == "generation":
            self._children.look(snapshot)
        if self._sink and (round_ or 0) % self._log_every == 0:
            if self._log_delta is not self._delta:
                reduced = self._log_delta.reduced(snapshot)
                line = schema.encode_snapshot(reduced)
            self._log(reduced, line)

    def _keep(self, line: bytes, snapshot: Snapshot, round_: int | None) -> None:
        look = snapshot.census is not None
        self.next_serial += 1
        self.looks += look
        tells = look or snapshot.births is not None
        self._history.append(line, round_, look=tells, metrics=snapshot.metrics)
        self._write(line)

    def fail(self, failure: Failure) -> None:
        """Record that memory ran out by an exception that ends the run."""
        self._failure = failure
        line = schema.encode_failure(failure)
        self._write(line)
        self._write_record(line)
        self.sync()

    def sync(self) -> None:
        """Wait until the disk has what was written."""
        self._safely(lambda writer: writer.sync())

    def run(self) -> Run:
        """Return the run so far; a long run is thinned to evenly spaced generations."""
        snapshots = tuple(jsonl.decode_snapshots(self._history))
        run = Run(self._info, snapshots, finished=self.finished, failure=self._failure)
        if self._history.stride == 1:
            return run
        return replace(run, left_out=max(self._history.rounds - len(run.generations), 0))

    def finish(self, spent: float, tell: Callable[[Callable[[], Report]], object]) -> None:
        """Close the file and write the report to the log, or a short one to standard error.

        ``spent`` is the guard's cost in seconds. ``tell`` passes the report on; it gets a function
        that makes the report.
        """
        if self.finished:
            return
        self.close(spent)
        self.finished = True
        report = functools.cache(self._report)
        with _random_kept():
            if self._sink is not None:
                self._write_log(lambda sink: sink(_report_text(report())))
            elif self._on_screen:
                _show_end_report(report(), self._evidence)
            tell(report)

    def close(self, spent: float) -> None:
        """Close the file and record the guard's cost in seconds; harmless if already closed."""
        if self._writer is not None:
            self._safely(lambda writer: writer.close(spent))
            self._writer = None
        if not self._closed:
            self._closed = True
            self._write_record(schema.encode_end(self.next_serial, spent))
        self._close_shared()

    def _close_shared(self) -> None:
        if self._children is not None:
            self._children.close()
            self._children = None
        copy, self._copy = self._copy, None
        try:
            if copy is not None:
                copy.close()
        except Exception as error:  # each remote file system raises its own exceptions
            complain(f"the run is not copied: {reason_of(error)}")

    def _report(self) -> Report:
        from leakguard.analysis import diagnose

        return diagnose(self.run())

    def _write(self, line: bytes) -> None:
        self._safely(lambda writer: writer.write(line))
        if self._writer is not None and self._most_bytes is not None and self._writer.is_full:
            self._history.thin(self._most_bytes // 2)
            try:
                self._writer.anew(self._history, self._history.stride)
            except OSError as error:
                complain(f"the run file cannot be kept below max_file_size: {error}")

    def _safely(self, write: Callable[[jsonl.RunWriter], None]) -> None:
        if self._writer is None:
            return
        try:
            write(self._writer)
        except OSError as error:  # a full disk must not end the training
            pass_on(error)
            self._writer = None
            complain(f"the run is no longer written: {error}")

    def _log(self, snapshot: Snapshot, line: bytes) -> None:
        from leakguard.render.log_block import growth_block, snapshot_block, trend_block

        block = snapshot_block(
            snapshot,
            self._info.large_object,
            first=self._delta.first,
            record=self._log_header + line,
        )
        self._log_header = b""
        self._write_log(lambda sink: sink(block))
        if snapshot.moment != "generation" or self._sink is None:
            return
        from leakguard.analysis import growth, trend

        recent = Run(self._info, tuple(jsonl.decode_snapshots(self._history.recent(64))))
        self._write_log(
            lambda sink: sink(trend_block(trend(recent, generations=_TREND_GENERATIONS)))
        )
        change = growth(recent)
        if change is not None:
            self._write_log(lambda sink: sink(growth_block(change)))

    def _write_record(self, line: bytes) -> None:
        """Write a line of the run file to the log, if the log has the run's first one."""
        if not self._log_header:
            from leakguard.render.log_record import record_line

            self._write_log(lambda sink: sink(record_line(line)))

    def _write_log(self, tell: Callable[[Callable[[str], object]], object]) -> None:
        """Write to the log. A failure is reported only once, but later writes are still tried."""
        if self._sink is None:
            return
        try:
            tell(self._sink)
        except Exception as error:
            pass_on(error)
            if not self._complained:
                complain(f"the log cannot be written: {reason_of(error)}")
            self._complained = True


def _report_text(report: Report) -> str:
    from leakguard.render import render

    return render(report, "terminal", color=False, detail="full")


@contextmanager
def _random_kept() -> Iterator[None]:
    """Preserve the state of ``random``: rich draws random numbers when it makes a style."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


def _show_end_report(report: Report, out: Path | str | None) -> None:
    """Write the short report to standard error in one piece; one line if nothing leaks.

    In a job of several processes, only the first process prints a report without findings.
    """
    from leakguard.render.brief import brief
    from leakguard.render.text import columns

    telling = SEVERITY[report.verdict] >= SEVERITY["suspect"]
    info = report.run.info
    if sys.stderr is None or ((info.rank or (info.job and info.role)) and not telling):
        return
    step = [_next_step(out)] if telling else [_other_processes(out)] if info.job else []
    lines = [brief(report, columns()), *_process(info), *step]
    write_block(sys.stderr, "\n".join(lines))


def _process(info: RunInfo) -> Iterator[str]:
    """Yield a line that names the process of a job: several write to one terminal."""
    if info.job is not None:
        rank = None if info.rank is None else f"rank {info.rank}"
        yield f"  Process: {', '.join(filter(None, (rank, info.role, f'pid {info.pid}')))}"


def _next_step(out: Path | str | None) -> str:
    if out is None:
        return '  Evidence: LeakGuard(out="run.jsonl") keeps it; then leakguard report run.jsonl'
    return f"  Evidence: leakguard report {out}"


def _other_processes(out: Path | str | None) -> str:
    """Say where the verdict of the whole job is; this report is about one process only."""
    return f"  This process alone; all of the job: leakguard report {out}"
