"""Decides when to trace a generation, to find the line that allocates what grows (tier 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from leakguard.alarm import pass_on
from leakguard.capture.allocation_sites import TRACERS, Start, Suspect, Trace, Tracer, fitting
from leakguard.capture.probe import reason_of
from leakguard.live.diagnosing import subject
from leakguard.model import Finding, Site

# Kinds of growth that consist of objects, and kinds that are bytes outside of objects.
_OBJECTS = frozenset({"instances", "container", "tensors", "arrays", "autograd", "cycles", "tasks"})
_BYTES = frozenset({"native", "memory"})
_MOST_TRACES = 2
# After a first trace that was cut, the second trace may take this many times as long: eight usual
# generations, not four (``_USUAL_GENERATIONS``). It also keeps 4 frames of a stack, not 16.
# Measured with tiny steps in deep stacks, as in off-policy learning: with 4 frames, a traced
# generation takes 5 to 7 times as long as an untraced one. Chosen: eight is enough for seven.
_TIMES_AGAIN = 2
_FEWEST_ROUNDS = 3
# Growth in bytes outside of objects is traced only after this many generations. It is traced by
# memray, and growth of objects cannot be traced in the same process afterwards. Growth of objects
# is known later, so the trace waits for it. Chosen.
_ROUNDS_FOR_BYTES = 5
# After a generation without a look, a run is diagnosed only if it has at least this many
# generations. Without a look, only the metrics of memory are new, and in shorter runs the verdicts
# about memory change from one generation to the next. A diagnosis would then be wasted, and a run
# can afford only few. Chosen: from this number on, consecutive diagnoses agree.
_ROUNDS_FOR_NUMBERS = 9
# Generations before the first trace in a loop of announced length: the length divided by
# ``_WARM_SHARE``, but at most ``_WARM``. Chosen: by then a cache of some dozens of entries is full,
# and enough generations are left.
_WARM_SHARE, _WARM = 8, 12
# A trace is cut after the longer of two times:
# * ``_USUAL_GENERATIONS`` times the median length of a generation. Measured: a loop that allocates
#   takes 2 to 7 times as long under tracemalloc. Chosen: four, because the last phase of the
#   generation should be traced too.
# * The length of the run so far, but at least ``_SECONDS_AT_LEAST`` and at most
#   ``_SECONDS_AT_MOST``. This time matters if generations are short. Measured: two loops that only
#   make small objects take 62 and 94 times as long under tracemalloc. Chosen: tracing should not
#   turn a run of some seconds into a run of half a minute.
_USUAL_GENERATIONS, _SECONDS_AT_LEAST, _SECONDS_AT_MOST = 4, 3.0, 10.0


@dataclass(slots=True)
class Tracing:
    """Traces one later generation once the run so far has a suspect; a healthy run pays nothing.

    The suspect must also have been one in the previous diagnosis, because some vanish with the next
    generation; not so if the process is known to grow (``grows``).

    A second generation is traced for another suspect, or if the first suspect was not found. If the
    first trace was cut, perhaps before the growth, the second trace records fewer frames and is
    cheaper. If ``lines_are_known`` returns true, as with a birth record, ``auto`` traces nothing.
    """

    trace: Trace = "auto"
    tracers: Mapping[str, Start] = field(default_factory=lambda: TRACERS)
    lines_are_known: Callable[[], bool] = lambda: False
    grows: bool = False
    _problem: str | None = None
    _instead: str | None = None
    _suspects: tuple[Suspect, ...] = ()
    _tried: dict[str, int] = field(default_factory=dict)
    _traces: int = 0
    _running: Tracer | None = None
    _used: str | None = None
    _before: frozenset[str] = frozenset()
    _next: int = _FEWEST_ROUNDS
    _lengths: list[float] = field(default_factory=list)
    _lasted: float = 0.0
    _was_cut: bool = False
    _unseen: tuple[Suspect, ...] = ()

    @property
    def may_trace(self) -> bool:
        """Whether a generation is traced if something grows."""
        return self.trace != "off" and not (self.trace == "auto" and self.lines_are_known())

    @property
    def running(self) -> bool:
        """True while a generation is traced."""
        return self._running is not None

    @property
    def may_be_cut(self) -> bool:
        """True while tracemalloc traces; only its own thread can end a trace by memray."""
        return self._running is not None and self._used == "tracemalloc"

    @property
    def longest(self) -> float:
        """Seconds after which a trace is cut: four usual generations, or as long as the run so far.

        The run so far counts as at least 3 s and at most 10 s, so tracing makes a generation longer
        by at most that, however slow it is. After a trace that was cut, the limit is twice as long.
        """
        usual = _USUAL_GENERATIONS * median(self._lengths) if self._lengths else 0.0
        once = max(usual, _SECONDS_AT_LEAST, min(self._lasted, _SECONDS_AT_MOST))
        return once * (_TIMES_AGAIN if self._was_cut else 1)

    def announce(self, total: int | None) -> None:
        """Note the number of generations. If they are many, the first ones are a warm-up.

        In the warm-up, caches fill in healthy programs too, and should not cause a trace.
        """
        if total is not None:
            self._next = max(self._next, min(_WARM, total // _WARM_SHARE))

    def worth_asking(self, rounds: int, *, counted: bool = True) -> bool:
        """Return whether to search the run for suspects after so many generations.

        ``counted`` is true if objects were counted in the last one.
        """
        if not self.may_trace:
            return False
        done = self._traces >= _MOST_TRACES
        first = self._next if counted else max(self._next, _ROUNDS_FOR_NUMBERS)
        return not done and not self._suspects and rounds >= first

    def choose(self, rounds: int, diagnose: Callable[[], Sequence[Finding]]) -> None:
        """Choose what the next generation is traced for; if there is nothing, try again later."""
        self._next = rounds + max(1, rounds // 4)
        found = [f for f in diagnose() if f.verdict in ("leak", "suspect")]
        fresh = [
            f
            for f in found
            if f.created_at is None
            and (self.grows or subject(f) in self._before)
            and self._tried.get(f.fingerprint, 0) < 2
        ]
        self._before = frozenset(map(subject, found))
        objects = [f for f in fresh if f.kind in _OBJECTS and f.type is not None]
        bytes_only = [f for f in fresh if f.kind in _BYTES and rounds >= _ROUNDS_FOR_BYTES]
        beside = [f for f in bytes_only if f.in_pools] if objects else bytes_only
        chosen = objects + beside
        # This diagnosis may attribute the growth to another type than the suspect for which a trace
        # was cut. So the next trace looks for the earlier suspects and for the new ones.
        again = self._unseen if chosen else ()
        self._suspects = tuple(dict.fromkeys((*again, *map(_suspect, chosen))))
        self._traces += bool(chosen)
        for finding in chosen:
            self._tried[finding.fingerprint] = self._tried.get(finding.fingerprint, 0) + 1

    def begin(self) -> None:
        """Start the tracer if something is to be traced."""
        if not self._suspects or self._running is not None:
            return
        name = fitting(self.trace, self._suspects)
        if self._used == "memray" != name:
            self._give_up(f"{self._used} has traced this process; {name} after it would be wrong")
            return
        problem = self._start(name)
        if problem is not None and self.trace == "auto" and name == "memray" != self._used:
            # tracemalloc sees only the blocks of Python's allocators, but is always available.
            self._instead = problem if self._start("tracemalloc") is None else None
        if self._running is None and problem is not None:
            self._give_up(problem)

    def _start(self, name: str) -> str | None:
        """Start a tracer; return why it cannot start: no package, no folder, or no memory."""
        try:
            self._running = self.tracers[name](self._suspects, shallow=self._was_cut)
        except Exception as error:
            pass_on(error)
            return reason_of(error)
        self._used = name
        return None

    def problem(self) -> str | None:
        """Return, once, why a generation could not be traced."""
        problem, self._problem = self._problem, None
        return problem

    def survivors(self) -> list[int]:
        """End the traced generation; return objects whose holders ``sites`` needs."""
        return [] if self._running is None else self._running.survivors(self._suspects)

    def sites(self, held_by: Sequence[str | None]) -> tuple[Site, ...]:
        """Return the sites of the survivors, and end the search."""
        if self._running is None:
            return ()
        tracer, self._running, self._suspects = self._running, None, ()
        found = tuple(tracer.sites(held_by))
        self._problem, self._instead = (None if found else self._instead), None
        return found

    def stop(self) -> None:
        """Stop the trace of a generation that will not end."""
        if self._running is not None:
            tracer, self._running, self._suspects = self._running, None, ()
            tracer.stop()

    def note_cut(self) -> None:
        """Note that the trace was cut for its cost; another trace is considered at once."""
        self._was_cut, self._next, self._unseen = True, 0, self._suspects

    def timed(self, seconds: float, traced: bool) -> float | None:
        """Note a generation's length; return how many times as long a traced generation took."""
        if not traced:
            self._lasted += seconds
            self._lengths = [*self._lengths, seconds][-9:]
            return None
        usual = median(self._lengths) if self._lengths else 0.0
        return seconds / usual if usual > 0 else None

    def _give_up(self, reason: str) -> None:
        self._problem, self._suspects = reason, ()


def _suspect(finding: Finding) -> Suspect:
    of_objects = finding.kind in _OBJECTS
    return Suspect(finding.type if of_objects else None, finding.held_by, finding.in_pools)
