"""What leakguard concludes: one finding per defect, and what it cleared of suspicion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.forecast import Forecast
from leakguard.model.holder import Proof

Verdict = Literal["leak", "suspect", "inconclusive", "stable"]

Kind = Literal[
    "instances", "container", "tensors", "arrays", "autograd", "cycles", "native",
    "fragmentation", "peak", "gpu", "threads", "files", "children", "tasks", "queue", "memory",
    "copies", "copy-on-write",
]  # fmt: skip

Pattern = Literal[
    "growing", "filling", "warm-up", "step", "sawtooth", "transient", "noise", "flat",
]  # fmt: skip

SEVERITY: dict[Verdict, int] = {"stable": 0, "inconclusive": 1, "suspect": 2, "leak": 3}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: what grows, in which phase, since when, who holds it, and what to change.

    A ``leak`` has two independent witnesses, a ``suspect`` has one. Unknown facts are None; none
    is ever invented.

    Attributes:
        kind: what grows.
        pattern: how it grows over generations.
        phase: the phase that contributes the growth; None when no phase stands out.
        label: label of the snapshot that shows it best (the phase's latest).
        started_at: first generation whose end shows the growth.
        type: qualified name of the type that grows.
        counts: the count at the baseline, then at each generation's end (of that phase).
        count_per_generation: objects added each generation.
        bytes_per_generation: bytes added each generation.
        interval: (low, high) of the rate in bytes, or in objects where bytes are unknown.
        retained_bytes: what would be released by cutting the suspect reference.
        held_by: the growing container, from a root, indices collapsed.
        held_by_unknown: why no holder is named, where one might be; None with a holder.
        holder_name: what a person calls that container, where its path does not say it well.
        path: the leak trace, one line a hop.
        created_at: the program's line that made what survives, ``trainer.py:152 in evaluate``;
            None until a traced generation has told.
        created_at_likely: as many objects survive from that line as grow, and another holder than
            ``held_by`` had them when they were traced.
        created_at_unknown: why no line is named, where one might be; None with a line.
        created_stack: the frames that led there, innermost first.
        confidence: 0 to 1.
        reason: one sentence with the numbers behind the verdict.
        fix: what to change, in the user's words.
        ruled_out: other explanations that were tested, and why they do not hold.
        library: name of the library whose known leak this is; None for the user's own code.
        forecast: when this growth alone reaches the memory limit.
        serial: serial of the snapshot that ``label`` names.
        in_pools: the bytes lie in Python's small-object allocator, and in no object that is held.
        proof: what cutting ``held_by`` in a copy of the process released; None where nobody asked.
    """

    fingerprint: str
    kind: Kind
    verdict: Verdict
    pattern: Pattern
    reason: str
    phase: str | None = None
    label: str | None = None
    started_at: int | None = None
    type: str | None = None
    counts: tuple[int, ...] = ()
    count_per_generation: float | None = None
    bytes_per_generation: float | None = None
    interval: tuple[float, float] | None = None
    retained_bytes: int | None = None
    held_by: str | None = None
    held_by_unknown: str | None = None
    holder_name: str | None = None
    path: tuple[str, ...] = ()
    created_at: str | None = None
    created_at_likely: bool = False
    created_at_unknown: str | None = None
    created_stack: tuple[str, ...] = ()
    confidence: float | None = None
    fix: str | None = None
    ruled_out: tuple[str, ...] = ()
    library: str | None = None
    forecast: Forecast | None = None
    serial: int | None = None
    in_pools: bool = False
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Cleared:
    """Something that grew and is not a leak, and why.

    ``plateau`` is the value at which it is predicted to stay, in its own unit, and ``until`` the
    generation that reaches it; None where no end is predicted. ``bytes_per_generation`` is what it
    adds until then; None where that is not known.
    """

    metric: str
    pattern: Pattern
    reason: str
    plateau: float | None = None
    until: int | None = None
    bytes_per_generation: float | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that the user asked not to be told about, with the pattern that matched it.

    ``reason`` is why, in the user's words; None where none was given.
    """

    finding: Finding
    pattern: str
    reason: str | None = None
