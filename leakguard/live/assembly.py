"""Puts together what one run of a guard needs, and begins it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from leakguard.capture.expectation import Promises
from leakguard.capture.heap import ENGINE
from leakguard.capture.outside import Paced, reason_to_spare_heap
from leakguard.capture.peak import PeakMeter
from leakguard.capture.recorder import ROUND_PROBES, Gauges, Recorder
from leakguard.live.alarm import Alarm
from leakguard.live.children import Children
from leakguard.live.cycle_watch import CycleWatch
from leakguard.live.journal import Journal
from leakguard.live.look import Looker
from leakguard.live.meter import CostMeter
from leakguard.live.project_settings import project_ignores
from leakguard.live.run_facts import run_facts
from leakguard.live.safety import Safety
from leakguard.live.schedule import Prices, Schedule
from leakguard.live.scribe import Scribe
from leakguard.live.settings import Settings
from leakguard.live.sinks import Sinks
from leakguard.live.suspicion import Suspicion
from leakguard.live.tracing import Tracing
from leakguard.live.watcher import Watcher

_peaks = PeakMeter()  # the kernel keeps one high-water mark a process, so guards share one meter


def new_watcher(settings: Settings, gauges: Gauges, suspicion: Callable[[], Suspicion]) -> Watcher:
    """Return what follows a run that begins now.

    Raises:
        UsageError: the run file cannot be written, or the project's settings cannot be used.
    """
    meter = CostMeter(settings.clock, settings.own_clock)
    safety = Safety(meter)
    shared = () if settings.directory is None else (("shared pages", Paced()),)
    probes = (*ROUND_PROBES, *shared)
    looker = Looker(
        Recorder(
            settings.watch,
            gauges,
            settings.large_object,
            round=probes,
            peaks=_peaks,
            spares_heap=reason_to_spare_heap(),
        ),
        Schedule(settings.max_overhead, meter, Prices(ENGINE, sys.getallocatedblocks())),
        safety,
        suspicion(),
        None if settings.collect == "never" else CycleWatch(),
    )
    scribe = Scribe(_journal(settings), meter, safety, Sinks(settings.sinks, safety))
    promises = Promises(may_collect=settings.collect != "never")
    alarm = None if settings.on_leak is None else Alarm(settings.on_leak)
    return Watcher(looker, scribe, safety, promises, Tracing(settings.trace), alarm, settings.prove)


def _journal(settings: Settings) -> Journal:
    ignored = tuple(dict.fromkeys((*settings.ignore, *project_ignores())))
    directory = settings.directory
    facts = run_facts(
        settings.name, settings.large_object, settings.max_overhead, ignored, directory
    )
    info = replace(facts, generation_means=settings.generation_means)
    journal = Journal(
        info,
        settings.out,
        settings.sink,
        settings.log_every,
        settings.on_screen,
        settings.max_file_size,
    )
    if directory is not None and settings.out is not None:
        journal.share(Children(settings.out.parent, info), settings.copy_to)
    return journal
