"""Looks at an attached process at regular times: a generation lasts from one time to the next.

A look that comes late ends several generations at once, so that a rate is one in time.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event

from leakguard.capture.heap import LARGE_OBJECT
from leakguard.capture.outside import environment_of
from leakguard.capture.process import memory_limit
from leakguard.capture.watchlist import Watchlist
from leakguard.errors import UsageError
from leakguard.launch.attach.attachment import Attachment
from leakguard.launch.attach.remote_births import RemoteBirths
from leakguard.launch.attach.remote_recorder import RemoteRecorder, RemoteTrace
from leakguard.live.birth_watch import BirthWatch, births_are_wanted
from leakguard.live.diagnosing import diagnose_within
from leakguard.live.guarded_run import ASKED
from leakguard.live.inquiry import Inquiry
from leakguard.live.journal import Journal
from leakguard.live.look import Looker
from leakguard.live.meter import CostMeter
from leakguard.live.policy import LAST
from leakguard.live.project_settings import project_ignores
from leakguard.live.purse import Prices, Purse
from leakguard.live.run_directory import RunDirectory, identity
from leakguard.live.safety import Safety
from leakguard.live.scribe import Scribe, SnapshotDraft
from leakguard.live.sinks import Sinks
from leakguard.live.tracing import Tracing
from leakguard.model import Run, RunInfo, Site, Snapshot
from leakguard.model.secrets import command_line

# The least and the most seconds for which the target is traced; then a look ends the trace. Chosen:
# a traced target runs several times slower, so it should not be traced for long. The numbers of a
# trace are scaled to the time of one generation.
_TRACED = (1.0, 3.0)
# The pause between two looks is at least this share of ``Timetable.every``. Chosen: it applies if a
# look takes so long that the next look would be due almost at once.
_LEAST_PAUSE = 0.25
_WHY = "asked"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a copy of the target reports about the target; asked once, when the run is opened."""

    python: str
    arguments: list[str]
    folder: str | None
    engine: str
    without_scan: str | None
    packages: dict[str, str]
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Timetable:
    """When to look, and where to write the run.

    Attributes:
        every: seconds from the start of one look to the start of the next, and of a generation; 0
            if someone else decides when to look, and each look ends a generation.
        looks: the number of looks; None for no limit.
        out: the file of the run; None if the run is not written.
        job: the run directory in which the run gets a file of its own, instead of ``out``.
        grows: whether the memory of the process is known to grow. Then the first suspect is traced.
    """

    every: float
    looks: int | None = None
    out: Path | None = None
    job: RunDirectory | None = None
    grows: bool = False


@dataclass(slots=True)
class AttachedRun:
    """The run of one session; setting ``stop`` ends the run early, after a last look.

    Findings are made as in a guard that looks at every generation. ``ended`` is the reason why the
    target does not answer anymore, or None while the target answers.
    """

    session: Attachment
    timetable: Timetable
    stop: Event = field(default_factory=Event)
    ended: str | None = None
    looks: int = 0
    is_over: bool = False
    out: Path | None = field(init=False)
    _begun: bool = False
    _safety: Safety = field(init=False)
    _journal: Journal = field(init=False)
    _scribe: Scribe = field(init=False)
    _recorder: RemoteRecorder = field(init=False)
    _births: BirthWatch = field(init=False)
    _looker: Looker = field(init=False)
    _tracing: Tracing = field(init=False)
    _began_at: float = 0.0
    _generation: int = 0
    _intervals: list[float] = field(default_factory=list)
    _looked_at: float = 0.0
    _traced_from: float = 0.0

    def __post_init__(self) -> None:
        """Open the run.

        Raises:
            UsageError: the file of the run cannot be written.
        """
        session = self.session
        facts = session.ask("facts", Facts)
        info = _run_facts(session, facts, self.timetable)
        self.out = self.timetable.out
        if self.timetable.job is not None:
            info, self.out = _of_job(info, facts, self.timetable.job)
        self._journal = Journal(info, self.out, None, 1)
        meter = CostMeter(time.perf_counter, lambda: session.costs.looking)
        self._safety = Safety(meter)
        sinks = Sinks((), self._safety)
        self._scribe = Scribe(self._journal, meter, self._safety, sinks, elsewhere=True)
        self._recorder = RemoteRecorder(Watchlist(()), {}, LARGE_OBJECT, session=session)
        purse = Purse(None, meter, Prices(facts.engine, 0))
        record = RemoteBirths(session) if births_are_wanted() else None
        self._births = BirthWatch(record, self._safety)
        left = self._births.left_behind
        self._looker = Looker(self._recorder, purse, self._safety, Inquiry(), None, left)
        tracers = {"tracemalloc": partial(RemoteTrace, session)}
        self._tracing = Tracing("tracemalloc", tracers, grows=self.timetable.grows)

    def follow(self, tell: Callable[[int], object] = lambda number: None) -> Run:
        """Take the looks and return the run; ``tell`` is called with the number of each look."""
        self.poll()
        while not self.is_over:
            last = self.stop.wait(self._pause) or self.looks + 1 == self.timetable.looks
            if self.poll(last=last):
                tell(self.looks)
        return self._journal.run()

    def poll(self, *, last: bool = False) -> bool:
        """Take the next look; return False if the target has ended.

        The first look is the baseline. The run is over after the ``last`` look, or when the target
        has ended.
        """
        try:
            if self._begun:
                self._look(last=last)
                self.looks += 1
            else:
                self._begin()
        except UsageError as ended:
            self.ended, last = str(ended), True
        if last:
            self.is_over = True
            self._scribe.finish()
        return self.ended is None

    def runs(self) -> list[Run]:
        """Return the run so far in a list; an empty list before the first generation."""
        return [self._journal.run()] if self.looks else []

    def inspect(self) -> Snapshot:
        """Take an inspection now and return its snapshot."""
        look = self._looker.holders(self._recorder.read_all(), _WHY)
        self._scribe.write_snapshot(SnapshotDraft(ASKED, "mark"), look, None)
        return self._journal.run().snapshots[-1]

    def _begin(self) -> None:
        self._births.start()
        look = self._looker.start(self._recorder.read_all())
        self._begun, self._began_at = True, self._recorder.read_at
        self._looked_at = self._began_at
        self._scribe.write_snapshot(SnapshotDraft("Attached", "mark"), look, None)
        self._looker.remember()
        self._births.begin_round(0)

    def _look(self, *, last: bool) -> None:
        seen_for, sites = self._traced()
        reading = self._recorder.read_all()
        lasted = self._recorder.read_at - self._looked_at
        self._looked_at = self._recorder.read_at
        passed = self._passed(lasted)
        self._generation += passed
        index = self._generation - 1
        if sites:
            times = lasted / passed / seen_for
            sites = tuple(_projected(site, times) for site in sites)
        births = self._births.at_round_end(self._generation, last=last)
        self._recorder.rounds = self._generation if self._births.is_recording() else None
        if not last:
            self._births.begin_round(self._generation)
        look = self._looker.generation(reading, index, LAST if last else _WHY, ())
        draft = SnapshotDraft(
            f"Gen {self._generation}: End of generation",
            "generation",
            generation=self._generation,
            sites=sites or (),
            traced=sites is not None,
            passed=passed - 1 or None,
            births=births,
        )
        self._scribe.write_snapshot(draft, look, index)
        if not last:
            self._choose(self.looks + 1)

    def _passed(self, lasted: float) -> int:
        """Return how many generations the time since the last look is: one, or more if it is late.

        Where looks take longer than the time between two, the usual time is that of a generation.
        """
        self._intervals.append(lasted)
        usual = max(self.timetable.every, median(self._intervals))
        return max(round(lasted / usual), 1) if usual else 1

    @property
    def _pause(self) -> float:
        """Seconds until the next look is due, a whole number of periods after the first."""
        least, most = _TRACED
        if not self._tracing.running:
            return self._until_period(_LEAST_PAUSE * self.timetable.every)
        return least if self.timetable.grows else min(self._until_period(least), most)

    def _until_period(self, least: float) -> float:
        """Return the seconds until a period ends, ``least`` or more from now."""
        now, every = time.monotonic(), self.timetable.every
        periods = math.ceil((now + least - self._began_at) / every)
        return self._began_at + periods * every - now

    def _traced(self) -> tuple[float, tuple[Site, ...] | None]:
        """End the trace; return its seconds and its sites, which are None if none was running."""
        if not self._tracing.running:
            return 0.0, None
        seen_for = time.monotonic() - self._traced_from
        try:
            self._tracing.survivors()
            return seen_for, tuple(self._tracing.sites(()))
        except UsageError:
            raise
        except Exception as error:
            self._tracing.stop()
            self._safety.note("created_at", error)
            return seen_for, ()

    def _choose(self, rounds: int) -> None:
        """If something grows, start a trace, which lasts until the next look and finds sites.

        Where births are recorded, they tell the lines.
        """
        if self._births.is_recording():
            return
        inquiry = self._looker.inquiry
        if inquiry.grows and self._tracing.worth_asking(rounds):
            self._tracing.choose(rounds, lambda: diagnose_within(self._journal.run()).findings)
        self._tracing.begin()
        self._traced_from = time.monotonic()
        if (problem := self._tracing.problem()) is not None:
            self._safety.note("created_at", problem)


def _projected(site: Site, times: float) -> Site:
    """Return a site with its numbers multiplied by ``times``: an estimate for another time."""
    size = None if site.bytes is None else round(times * site.bytes)
    return replace(site, count=round(times * site.count), bytes=size)


def _run_facts(session: Attachment, facts: Facts, timetable: Timetable) -> RunInfo:
    release, machine = os.uname().release, os.uname().machine
    return RunInfo(
        source="guard",
        name=f"process {session.target.pid}",
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        command=command_line(facts.arguments),
        pid=session.target.pid,
        python=facts.python,
        platform=f"Linux-{release}-{machine}",
        packages=facts.packages,
        memory_limit=memory_limit(session.target.pid),
        large_object=LARGE_OBJECT,
        ignore=project_ignores(),
        generation_means=f"{timetable.every:g} s",
        attached=True,
        without_scan=None if facts.without_scan is None else _other_build(facts),
    )


def _of_job(info: RunInfo, facts: Facts, job: RunDirectory) -> tuple[RunInfo, Path]:
    """Return the facts about a process as one of a job, and the file of its run.

    Its own guard, if it begins one later, writes another file.
    """
    pid = info.pid or 0
    who = replace(identity(facts.role or f"process {pid}", environment_of(pid)), pid=pid)
    told = replace(
        info,
        name=None,
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds"),
        job=job.job,
        host=who.host,
        role=facts.role if who.rank is not None else who.role,
        rank=who.rank,
        local_rank=who.local_rank,
        world_size=who.world_size,
    )
    return told, Path(job.place) / f"attached-{who.file_name}"


def _other_build(facts: Facts) -> str:
    return (
        f"leakguard is installed for Python {platform.python_version()} here, and the process runs "
        f"{facts.python}; one that is installed there looks faster"
    )
