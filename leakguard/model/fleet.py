"""Many runs together: what was found in each, and the bugs that several of them have."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sighting:
    """One finding in one run, or a run without any: a row of the table of a fleet.

    The fields are the columns of the Parquet file, in this order.

    Attributes:
        run: path or URL of the run file.
        name: of the run, as its program calls it.
        job: run directory of a process among several.
        host: machine it ran on.
        rank: of the process, as its launcher numbers it.
        started: when it began, in UTC without a zone.
        hours: from the first to the last snapshot.
        generations: that were recorded.
        finished: whether it came to its end; False of one that was killed or still runs.
        verdict: of the run.
        python: version of the interpreter.
        fingerprint: of the finding; None in the row of a run without one.
        certainty: ``leak`` or ``suspect``.
        kind: what grows.
        type: qualified name of the type that grows.
        held_by: the container that keeps it.
        phase: the phase that adds it.
        line: where the program makes it.
        library: whose known leak it is.
        bytes_per_generation: bytes that it adds.
        leaked_bytes: bytes that it has added by the end of the run.
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
    """Sightings that belong together; texts are those of the run that it damaged most.

    Attributes:
        group: what they have in common: a fingerprint, or what the user groups by.
        runs: how many runs have it.
        unfinished: how many of these did not come to their end.
        hosts: on how many machines.
        damage: leaked bytes times hours, over all runs.
        leaked_bytes: over all runs.
        first: when the first of these runs began.
        last: when the last of them began.
        worst: the run that it damaged most.
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

    ``found`` is how many bugs there are; ``bugs`` may be fewer, the first of them.
    """

    runs: int
    leaking: int
    found: int
    bugs: tuple[Bug, ...]
