"""What leakguard concludes: one finding per defect, and growth that was cleared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.forecast import Forecast
from leakguard.model.holder import Proof
from leakguard.model.level import Level

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

    A ``leak`` has two independent measurements as evidence, a ``suspect`` has one. A fact that is
    unknown is None; no fact is guessed.

    Attributes:
        kind: what grows.
        pattern: how it grows over generations.
        phase: the phase that contributes the growth; None when no phase stands out.
        label: label of the snapshot that shows the growth best (the latest one of the phase).
        started_at: first generation whose end shows the growth.
        type: qualified name of the type that grows.
        counts: the count at the baseline, then at each generation's end (of that phase).
        count_per_generation: objects added each generation.
        bytes_per_generation: bytes added each generation.
        interval: (low, high) of the rate per generation, in bytes; in objects if bytes are unknown.
        retained_bytes: bytes that cutting the suspect reference would release.
        held_by: the path of the growing container from a root, indices collapsed.
        held_by_unknown: why no holder is named although one is expected; None with a holder.
        holder_name: what a person calls that container, if the path is hard to recognize.
        path: the leak trace, one line per hop.
        created_at: the program's line that made the surviving objects,
            ``trainer.py:152 in evaluate``; None until a traced generation has shown the line.
        created_at_likely: True if the line is likely and not certain. As many objects survive from
            the line as the type gains, but during the trace another holder than ``held_by`` held
            them.
        created_at_unknown: why no line is named although one is expected; None with a line.
        kept_at: the lines of the program's source that add to the holder; empty if the source was
            not read or does not show them.
        created_stack: the frames of the call stack at ``created_at``, innermost first.
        confidence: 0 to 1.
        reason: one sentence with the numbers behind the verdict.
        fix: what to change, in the user's words.
        ruled_out: other explanations that were tested, and why they were rejected.
        library: name of the library whose known leak this is; None for the user's own code.
        forecast: when this growth alone reaches the memory limit.
        serial: serial of the snapshot that ``label`` names.
        in_pools: True if the bytes are in use in Python's small-object allocator but belong to no
            object with a known holder.
        proof: what emptying ``held_by`` in a copy of the process released; None if no proof was
            requested.
        level: the level at which it grows: within an epoch, from epoch to epoch, at each
            evaluation; None if generations are no parts of larger rounds, or if it is unknown.
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
    kept_at: tuple[str, ...] = ()
    confidence: float | None = None
    fix: str | None = None
    ruled_out: tuple[str, ...] = ()
    library: str | None = None
    forecast: Forecast | None = None
    serial: int | None = None
    in_pools: bool = False
    proof: Proof | None = None
    level: Level | None = None

    @property
    def kept_elsewhere(self) -> tuple[str, ...]:
        """The lines of ``kept_at`` beside the line that makes the objects."""
        return tuple(line for line in self.kept_at if line != self.created_at)


@dataclass(frozen=True, slots=True)
class Cleared:
    """Growth that is not a leak, and why.

    ``plateau`` is the value at which the metric is predicted to stay, in the metric's unit.
    ``until`` is the generation that reaches the plateau. Both are None if no end is predicted.
    ``bytes_per_generation`` is the growth until then; None if it is unknown.
    """

    metric: str
    pattern: Pattern
    reason: str
    plateau: float | None = None
    until: int | None = None
    bytes_per_generation: float | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that the user chose to ignore, with the pattern that matched it.

    ``reason`` is why, in the user's words; None if the user gave no reason.
    """

    finding: Finding
    pattern: str
    reason: str | None = None
