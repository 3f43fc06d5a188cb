"""Builds the parts of one guarded run, and the facts about the run that do not change."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Callable

from leakguard.capture.births import BirthRecord
from leakguard.capture.heap import ENGINE, WITHOUT_SCAN
from leakguard.capture.outside import Paced, reason_to_spare_heap, was_forked
from leakguard.capture.peak import PeakMeter
from leakguard.capture.process import memory_limit
from leakguard.capture.promises import Promises
from leakguard.capture.recorder import ROUND_PROBES, Gauges, Recorder
from leakguard.live.birth_watch import BirthWatch, births_are_wanted
from leakguard.live.black_box import BlackBox
from leakguard.live.calm import Calm
from leakguard.live.children import Children, Offspring
from leakguard.live.cycle_watch import CycleWatch
from leakguard.live.diagnosing import Alarm, Diagnoses
from leakguard.live.guarded_run import GuardedRun
from leakguard.live.inquiry import Inquiry
from leakguard.live.journal import Journal
from leakguard.live.look import Looker
from leakguard.live.loop import WatchedLoop
from leakguard.live.meter import CostMeter
from leakguard.live.numbers import Numbers
from leakguard.live.project_settings import project_ignores
from leakguard.live.purse import Prices, Purse
from leakguard.live.run_directory import identity
from leakguard.live.safety import Safety
from leakguard.live.scribe import Scribe, TakenLooks
from leakguard.live.settings import Settings
from leakguard.live.sidecar.start import start_sidecar
from leakguard.live.sinks import Sinks
from leakguard.live.traced_generation import TracedGeneration
from leakguard.live.tracing import Tracing
from leakguard.model import RunInfo
from leakguard.model.secrets import command_line

_NAMED_PACKAGES = (
    "torch", "numpy", "gymnasium", "ray", "lightning", "transformers", "jax",
    "pandas", "pyarrow", "scipy", "h5py", "orjson", "ujson", "mujoco", "xgboost",
)  # fmt: skip

# The kernel keeps one high-water mark per process, so all guards share one meter.
_peaks = PeakMeter()


def new_guarded_run(settings: Settings, gauges: Gauges, follows: Callable[[], bool]) -> GuardedRun:
    """Return the guarded run for a run that begins now.

    Raises:
        UsageError: the run file cannot be written, or the project's settings cannot be used.
    """
    meter = CostMeter(settings.clock, settings.own_clock, settings.queued)
    safety = Safety(meter)
    shared = () if settings.directory is None else (("shared pages", Paced()),)
    probes = (*ROUND_PROBES, *shared)
    prices = Prices(ENGINE, sys.getallocatedblocks())
    record = BirthRecord(most_share=settings.max_overhead) if births_are_wanted() else None
    births = BirthWatch(record, safety)
    purse = Purse(settings.max_overhead, meter, prices, settings.faults)
    inquiry = Inquiry(follows)
    journal = _journal(settings)
    looker = Looker(
        Recorder(
            settings.watch,
            gauges,
            settings.large_object,
            round=probes,
            peaks=_peaks,
            spares_heap=reason_to_spare_heap(),
            longest_look=purse.longest_look,
            survivors=births.survivors,
        ),
        purse,
        safety,
        inquiry,
        None if settings.collect == "never" else CycleWatch(),
        births.left_behind,
        journal,
        Calm(),
    )
    scribe = Scribe(journal, meter, safety, Sinks(settings.sinks, safety))
    promises = Promises(may_collect=settings.collect != "never")
    alarm = None if settings.on_leak is None else Alarm(settings.on_leak)
    diagnoses = Diagnoses(journal, meter, purse, inquiry)
    tracing = Tracing(settings.trace, lines_are_known=births.is_recording)
    traced = TracedGeneration(tracing, looker, safety, diagnoses)
    looks = TakenLooks(looker, scribe)
    # In a run directory, each child has its own file, which is diagnosed together with its
    # parent's.
    offspring = Offspring() if settings.directory is None else dict
    # A log is to have each generation; ``log_every`` says if it is not.
    numbers = Numbers(None if journal.writes_log else settings.max_overhead, meter)
    loop = WatchedLoop(looks, traced, promises, safety, numbers, alarm, births, offspring)
    box = None
    if settings.black_box and settings.out is not None:
        box = BlackBox(journal, meter, safety, lambda: loop.latest)
        scribe.at_boundary = box.at_boundary
    return GuardedRun(looker, scribe, safety, promises, traced, looks, loop, settings.prove, box)


def _journal(settings: Settings) -> Journal:
    info, directory = _run_facts(settings), settings.directory
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
        start_sidecar(settings.out.parent, settings.out)
    return journal


def _run_facts(settings: Settings) -> RunInfo:
    """Describe this process, with the versions of the packages that the program has imported."""
    who, directory = identity(settings.name), settings.directory
    return RunInfo(
        source="guard",
        name=settings.name,
        started=_now("seconds" if directory is None else "milliseconds"),
        command=command_line(sys.orig_argv),
        pid=who.pid,
        rank=who.rank,
        python=platform.python_version(),
        platform=_platform(),
        packages=_loaded_versions(),
        memory_limit=memory_limit(),
        large_object=settings.large_object,
        max_overhead=settings.max_overhead,
        ignore=tuple(dict.fromkeys((*settings.ignore, *project_ignores()))),
        generation_means=settings.generation_means,
        job=None if directory is None else directory.job,
        host=who.host,
        role=who.role,
        local_rank=who.local_rank,
        world_size=who.world_size,
        forked=was_forked(),
        without_scan=WITHOUT_SCAN,
    )


def _platform() -> str:
    """Describe the system; ``platform.platform`` would run a program to find the processor."""
    system, _, release, _, machine = os.uname()
    names = getattr(os, "confstr_names", {})
    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in names else None
    return f"{system}-{release}-{machine}" + (f"-{library.replace(' ', '')}" if library else "")


def _now(precision: str) -> str:
    """Return the start time, by which restarts of a job's process are recognized."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec=precision)


def _loaded_versions() -> dict[str, str]:
    """Return the versions of imported packages, read so that lazy modules are not triggered."""
    loaded = ((name, sys.modules.get(name)) for name in _NAMED_PACKAGES)
    dicts = ((name, getattr(module, "__dict__", None)) for name, module in loaded)
    versions = ((name, own.get("__version__")) for name, own in dicts if type(own) is dict)
    return {name: str(version) for name, version in versions if isinstance(version, str)}
