"""What is different in a program that was watched: each difference is a harm."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median

from regression_tests.benchmarks.harm.playing import Played
from regression_tests.benchmarks.harm.program import Program

_MOST_SHOWN = 160
# What the clock says is the machine's where a program had no core for so long, as a share of what
# is left of its time. Chosen.
_BY_THE_CLOCK, _QUEUED = frozenset({"wall_s", "longest_stop_ms", "first_task_s"}), 0.25


@dataclass(frozen=True, slots=True)
class Row:
    """One program watched in one way, beside itself unwatched; numbers are medians.

    Attributes:
        python: version of the interpreter.
        harms: what must be equal and was not, in words.
        excess: numbers above their limits, in words; those of seconds depend on the machine, too.
        looks: how often the heap was looked at, all playings together.
        skipped: why it was not played.
        tail: the end of what the first harmed playing said on standard error.
        unknown: numbers above their limits on a machine that was too busy to tell whose they are.
    """

    name: str
    kind: str
    how: str
    python: str
    times: int = 0
    harms: tuple[str, ...] = ()
    excess: tuple[str, ...] = ()
    unwatched: dict[str, float] | None = None
    watched: dict[str, float] | None = None
    looks: int = 0
    skipped: str | None = None
    tail: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def is_harmed(self) -> bool:
        """Whether anything was different or too much."""
        return bool(self.harms or self.excess)

    @property
    def verdict(self) -> str:
        """``same``, or what was harmed, or why it is not known."""
        if self.skipped is not None:
            return f"not played: {self.skipped}"
        if self.is_harmed:
            return f"harmed: {'; '.join((*self.harms, *self.excess))}"
        if not self.looks and self.how != "off":
            return "not tried: the guard took no look"
        told = "; ".join(self.unknown)
        return f"same; not known on so busy a machine: {told}" if told else "same"


def compared(
    program: Program, how: str, python: str, pairs: Sequence[tuple[Played, Played]]
) -> Row:
    """Compare each watched playing with the unwatched one of its turn, and the medians of both."""
    found: Counter[str] = Counter()
    first: dict[str, str] = {}
    tail = ""
    for alone, watched in pairs:
        for what, told in differences(alone, watched):
            found[what] += 1
            first.setdefault(what, told)
            tail = tail or watched.err[-1500:]
    before, after = _medians([one for one, _ in pairs]), _medians([one for _, one in pairs])
    many = len(pairs)
    harms = [
        told + (f" ({found[what]} of {many})" if many > 1 else "") for what, told in first.items()
    ]
    # What ended otherwise has used less or more by that: it is told once.
    above = {} if "status" in first else dict(_too_much(program, before, after))
    busy = after["queued_s"] > _QUEUED * after["wall_s"]
    unknown = _BY_THE_CLOCK.intersection(above) if busy else frozenset()
    return Row(
        name=program.name,
        kind=program.kind,
        how=how,
        python=python,
        times=many,
        harms=tuple(harms),
        excess=tuple(told for name, told in above.items() if name not in unknown),
        unknown=tuple(told for name, told in above.items() if name in unknown),
        unwatched=before,
        watched=after,
        looks=sum(watched.looks for _, watched in pairs),
        tail=tail,
    )


def differences(alone: Played, watched: Played) -> Iterator[tuple[str, str]]:
    """Yield what must be equal and is not, each as a word and in words."""
    if alone.ended.status != watched.ended.status or watched.ended.status is None:
        yield "status", f"{_status(alone)} -> {_status(watched)}"
    if alone.ended.left_behind != watched.ended.left_behind:
        yield "left", f"{watched.ended.left_behind} processes left behind"
    for what in ("out", "err"):
        if getattr(alone, what) != getattr(watched, what):
            name = "standard output" if what == "out" else "standard error"
            yield what, f"{name}: {_first_difference(getattr(alone, what), getattr(watched, what))}"
    if alone.events != watched.events:
        yield "events", f"events: {_first_difference(_lines(alone), _lines(watched))}"
    if alone.files != watched.files:
        names = {name for name, _ in alone.files.items() ^ watched.files.items()}
        yield "files", f"files: {', '.join(sorted(names)[:5])}"


def _lines(played: Played) -> str:
    return "".join(f"{event}\n" for event in played.events)


def _status(played: Played) -> str:
    status = played.ended.status
    if status is None:
        deaf = "" if played.ended.died_of_term else ", nor by SIGTERM"
        lasted = played.ended.wall_s + played.ended.queued_s
        return f"does not end in {lasted:.0f} s{deaf}"
    return signal.Signals(-status).name if status < 0 else f"exit {status}"


def _first_difference(alone: str, watched: str) -> str:
    pairs = zip_longest(alone.splitlines(keepends=True), watched.splitlines(keepends=True))
    less, more = next((one, other) for one, other in pairs if one != other)
    return f"{_short(less)} -> {_short(more)}"


def _short(line: str | None) -> str:
    if line is None:
        return "nothing"
    line = line.rstrip("\n")
    return f"'{line}'" if len(line) <= _MOST_SHOWN else f"'{line[:_MOST_SHOWN]}...'"


def _medians(played: Sequence[Played]) -> dict[str, float]:
    names = list(dict.fromkeys(name for one in played for name in one.numbers))
    return {
        name: median(one.numbers[name] for one in played if name in one.numbers) for name in names
    }


def _too_much(
    program: Program, before: dict[str, float], after: dict[str, float]
) -> Iterator[tuple[str, str]]:
    for name, limit in program.limits.items():
        if name in before and name in after and not limit.allows(before[name], after[name]):
            yield name, f"{name} {before[name]:.4g} -> {after[name]:.4g}"
