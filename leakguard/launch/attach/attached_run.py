"""Looks at a process that is attached to, some seconds apart: each is a generation of its run."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event

from leakguard.capture.heap import LARGE_OBJECT
from leakguard.capture.process import memory_limit
from leakguard.capture.watchlist import Watchlist
from leakguard.errors import UsageError
from leakguard.launch.attach.attachment import Attachment
from leakguard.launch.attach.remote_recorder import RemoteRecorder, RemoteTrace
from leakguard.live.answering import ASKED
from leakguard.live.diagnosing import diagnose_within
from leakguard.live.journal import Journal
from leakguard.live.look import Looker
from leakguard.live.meter import CostMeter
from leakguard.live.project_settings import project_ignores
from leakguard.live.safety import Safety
from leakguard.live.schedule import LAST, Prices, Schedule
from leakguard.live.scribe import Scribe, SnapshotDraft
from leakguard.live.sinks import Sinks
from leakguard.live.suspicion import Suspicion
from leakguard.live.tracing import Tracing
from leakguard.model import Run, RunInfo, Site, Snapshot
from leakguard.model.secrets import command_line

# Seconds for which the target is traced at the least and at the most: it runs several times as long
# meanwhile. What was made in them stands for the whole time from look to look.
_TRACED = (1.0, 3.0)
# Share of the time from look to look that lies between them where looks take longer than that.
_LEAST_PAUSE = 0.25
_WHY = "asked"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the target says of itself once."""

    python: str
    arguments: list[str]
    folder: str | None
    engine: str
    without_scan: str | None
    packages: dict[str, str]


@dataclass(frozen=True, slots=True)
class Timetable:
    """How often to look, every so many seconds, how many times, and where the run is written."""

    every: float
    looks: int | None = None
    out: Path | None = None


@dataclass(slots=True)
class AttachedRun:
    """The run of one session; ``stop`` ends it early, with a last look.

    What decides is what decides in a guard, with every generation looked at. ``ended`` says why
    the target answers no more; None while it does.
    """

    session: Attachment
    timetable: Timetable
    stop: Event = field(default_factory=Event)
    ended: str | None = None
    looks: int = 0
    is_over: bool = False
    _begun: bool = False
    _safety: Safety = field(init=False)
    _journal: Journal = field(init=False)
    _scribe: Scribe = field(init=False)
    _looker: Looker = field(init=False)
    _tracing: Tracing = field(init=False)
    _looked_at: float = 0.0
    _traced_from: float = 0.0

    def __post_init__(self) -> None:
        """Open the run.

        Raises:
            UsageError: its file cannot be written.
        """
        session = self.session
        facts = session.ask("facts", Facts)
        info = _run_facts(session, facts, self.timetable)
        self._journal = Journal(info, self.timetable.out, None, 1)
        meter = CostMeter(time.perf_counter, lambda: session.costs.looking)
        self._safety = Safety(meter)
        sinks = Sinks((), self._safety)
        self._scribe = Scribe(self._journal, meter, self._safety, sinks, elsewhere=True)
        recorder = RemoteRecorder(Watchlist(()), {}, LARGE_OBJECT, session=session)
        schedule = Schedule(None, meter, Prices(facts.engine, 0))
        self._looker = Looker(recorder, schedule, self._safety, Suspicion(), None)
        self._tracing = Tracing("tracemalloc", {"tracemalloc": partial(RemoteTrace, session)})

    def follow(self, tell: Callable[[int], object] = lambda number: None) -> Run:
        """Take the looks, and return the run; ``tell`` is called after each, with its number."""
        self.poll()
        while not self.is_over:
            last = self.stop.wait(self._pause) or self.looks + 1 == self.timetable.looks
            if self.poll(last=last):
                tell(self.looks)
        return self._journal.run()

    def poll(self, *, last: bool = False) -> bool:
        """Take the next look; False if there is none.

        The first one is what the others are compared with. With the ``last`` one, and with the end
        of the target, the run is over.
        """
        try:
            if self._begun:
                self._look(self.looks, last=last)
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
        """Return the run so far, once it has a generation."""
        return [self._journal.run()] if self.looks else []

    def inspect(self) -> Snapshot:
        """Return one look at who holds what."""
        look = self._looker.holders(self._looker.recorder.read_all(), _WHY)
        self._scribe.write_snapshot(SnapshotDraft(ASKED, "mark"), look, None)
        return self._journal.run().snapshots[-1]

    def _begin(self) -> None:
        self._begun, self._looked_at = True, time.monotonic()
        look = self._looker.start(self._looker.recorder.read_all())
        self._scribe.write_snapshot(SnapshotDraft("Attached", "mark"), look, None)
        self._looker.remember()

    def _look(self, index: int, *, last: bool) -> None:
        sites, self._looked_at = self._traced(), time.monotonic()
        reading = self._looker.recorder.read_all()
        look = self._looker.generation(reading, index, LAST if last else _WHY, ())
        draft = SnapshotDraft(
            f"Gen {index + 1}: End of generation",
            "generation",
            generation=index + 1,
            sites=sites or (),
            traced=sites is not None,
        )
        self._scribe.write_snapshot(draft, look, index)
        if not last:
            self._choose(index + 1)

    @property
    def _pause(self) -> float:
        """Seconds until the next look is due."""
        every, (least, most) = self.timetable.every, _TRACED
        pause = max(self._looked_at + every - time.monotonic(), _LEAST_PAUSE * every)
        return min(max(pause, least), most) if self._tracing.running else pause

    def _traced(self) -> tuple[Site, ...] | None:
        """End a trace; return what it saw, None where none ran."""
        if not self._tracing.running:
            return None
        now = time.monotonic()
        times = (now - self._looked_at) / (now - self._traced_from)
        try:
            self._tracing.survivors()
            return tuple(_projected(site, times) for site in self._tracing.sites(()))
        except UsageError:
            raise
        except Exception as error:
            self._tracing.stop()
            self._safety.note("created_at", error)
            return ()

    def _choose(self, rounds: int) -> None:
        """Where something grows: trace until the next look, to find out where it is made."""
        looker = self._looker
        if (looker.grows or looker.swells) and self._tracing.worth_asking(rounds):
            self._tracing.choose(rounds, lambda: diagnose_within(self._journal.run()).findings)
        self._tracing.begin()
        self._traced_from = time.monotonic()
        if (problem := self._tracing.problem()) is not None:
            self._safety.note("created_at", problem)


def _projected(site: Site, times: float) -> Site:
    """Return what a line would have made in a time that is so many times as long."""
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
        without_scan=None if facts.without_scan is None else _other_build(facts),
    )


def _other_build(facts: Facts) -> str:
    return (
        f"leakguard is installed for Python {platform.python_version()} here, and the process runs "
        f"{facts.python}; one that is installed there looks faster"
    )
