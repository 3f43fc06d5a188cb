"""Many runs together: the findings of each run, and the bugs that several runs have."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sighting:
    """One finding in one run, or a run without findings: a row of the table of a fleet.

    The fields are the columns of the Parquet file, in this order.

    Attributes:
        run: path or URL of the run file.
        name: the name that the program gives the run.
        job: run directory, if the process is one of several.
        host: the machine that the process ran on.
        rank: the rank of the process, as its launcher numbers it.
        started: when the run began, in UTC without a zone.
        hours: hours from the first to the last snapshot.
        generations: how many generations were recorded.
        finished: True if the run ended; False if it was killed or is still running.
        verdict: the verdict of the run.
        python: version of the interpreter.
        fingerprint: the fingerprint of the finding; None in the row of a run without findings.
        certainty: ``leak`` or ``suspect``.
        kind: what grows.
        type: qualified name of the type that grows.
        held_by: the container that holds the growing objects.
        phase: the phase that adds them.
        line: the line of the program that makes them.
        library: the library whose known leak the finding is.
        bytes_per_generation: growth of the finding in bytes per generation.
        leaked_bytes: bytes that the finding added by the end of the run.
        damage: leaked bytes times hours.
        fix: what to change.
    """

    run: str
    name: str | None
    job: str | None
    host: str | None
    rank: int | None
    started: datetime.datetime | None
    hours: float
    generations: int
    finished: bool
    verdict: str
    python: str | None
    fingerprint: str | None = None
    certainty: str | None = None
    kind: str | None = None
    type: str | None = None
    held_by: str | None = None
    phase: str | None = None
    line: str | None = None
    library: str | None = None
    bytes_per_generation: float | None = None
    leaked_bytes: float | None = None
    damage: float | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Bug:
    """Sightings of one bug; the texts are taken from the run with the most damage.

    Attributes:
        group: what the sightings have in common: a fingerprint, or what the user groups by.
        runs: how many runs have the bug.
        unfinished: how many of these runs did not reach their end.
        hosts: on how many machines the bug was found.
        damage: leaked bytes times hours, summed over all runs.
        leaked_bytes: leaked bytes, summed over all runs.
        first: when the first of these runs began.
        last: when the last of these runs began.
        worst: the run with the most damage.
    """

    group: str
    runs: int
    unfinished: int
    hosts: int
    damage: float
    leaked_bytes: float
    first: datetime.datetime | None
    last: datetime.datetime | None
    worst: str
    fingerprint: str
    certainty: str
    kind: str
    type: str | None
    held_by: str | None
    line: str | None
    library: str | None
    fix: str | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The bugs of many runs, the most damaging first.

    ``found`` is how many bugs there are; ``bugs`` may hold only the first of them.
    """

    runs: int
    leaking: int
    found: int
    bugs: tuple[Bug, ...]
