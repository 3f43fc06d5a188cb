"""The black box of a run: near a limit of memory it records who holds the memory.

At 85 % and at 95 % of the nearest limit it looks once at who holds what, and writes that to the
file, down to the disk. In between it writes a line with the numbers alone at each further per cent,
so that the last record is near the end. The look is the sampled walk: bounded steps, bounded time,
some megabytes, and no copy of the process.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from leakguard.capture.ceilings import Ceilings, FollowedLimit
from leakguard.capture.gpu import gpu_ceiling
from leakguard.capture.outside import reason_to_spare_heap
from leakguard.capture.probe import reason_of
from leakguard.capture.sampled_walk import A_STEP, MOST_STEPS, Estimate, Path, estimate
from leakguard.live.journal import Journal
from leakguard.live.meter import CostMeter
from leakguard.live.safety import Safety
from leakguard.live.tripwire import Tripwire
from leakguard.model import Cost, Snapshot
from leakguard.model.brink import Brink, Ceiling, Failure
from leakguard.model.units import format_bytes

#: The shares of a limit at which a look is due.
THRESHOLDS = (0.85, 0.95)
# The share at which the sizes of containers are remembered, so that a look at the brink can tell
# what has grown. Chosen: early enough that a leak doubles until then.
_REMEMBER = 0.5
# Of what is left up to the limit, a look may take this share; with less than _LEAST_ROOM bytes left
# there is no look. Chosen.
_ROOM_SHARE, _LEAST_ROOM = 0.25, 2_000_000
# Seconds between two readings of the tripwire, far from a limit and near to it (_CLOSE of it), and
# the seconds after which a full check is made anyway near a limit, because a cgroup that drops
# pages of files takes no more bytes while the program does. Chosen.
_FAR_PAUSE, _NEAR_PAUSE, _CLOSE, _AT_LATEST = 0.1, 0.02, 0.6, 1.0
# The least bytes up to the next bound, so that a program at a bound is not checked at each reading.
_LEAST_GAP = 1_000_000
# Bytes that are kept until a look needs them: where nothing is left, a list of the guard's own
# could otherwise not be made. They are address space, not RAM: nothing is written to them. Chosen:
# some arenas of Python's allocator.
_RESERVE = 4_000_000
_OUT_OF_MEMORY = "OutOfMemoryError"
_CPU_OUT_OF_MEMORY = "can't allocate memory"
_LONGEST_MESSAGE = 300


def out_of_memory(error: BaseException | None) -> Failure | None:
    """Return what an exception says if it says that memory ran out; else None.

    It is a ``MemoryError``, the ``OutOfMemoryError`` of torch (for a GPU), or the error of torch's
    allocator for the CPU.
    """
    if error is None:
        return None
    names = [cls.__name__ for cls in type(error).__mro__]
    message = _message(error)
    cpu = "RuntimeError" in names and _CPU_OUT_OF_MEMORY in message
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY in names or cpu:
        cls = type(error)
        name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
        return Failure(name, message[:_LONGEST_MESSAGE])
    return None


def _reserved() -> mmap.mmap | None:
    """Return the reserve: mapped, because malloc would keep the address space of what is freed."""
    try:
        return mmap.mmap(-1, _RESERVE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, AttributeError):  # nothing is left, or it is another system
        return None


def _message(error: BaseException) -> str:
    # Not str(error): that may run code of the program.
    told = error.args[0] if error.args else ""
    return told if isinstance(told, str) else ""


@dataclass(slots=True)
class BlackBox:
    """Checks the limits, and records a look at each threshold once."""

    journal: Journal
    meter: CostMeter
    safety: Safety
    where: Callable[[], int | None]
    ceilings: Ceilings = field(default_factory=Ceilings)
    look: Callable[[Mapping[Path, float], int], Estimate] = estimate
    wire: Callable[[Callable[[], object]], Tripwire] = Tripwire
    look_at_devices: Callable[[], Estimate] = lambda: estimate({}, on_devices=True)
    _tripwire: Tripwire | None = None
    _passed: float = 0.0
    _told: int = 0
    _sizes: Mapping[Path, float] = field(default_factory=dict)
    _reserve: mmap.mmap | None = None

    def prepare(self) -> None:
        """Take what the checks need, before the first numbers of the run are read."""
        self._reserve = _reserved()
        self._tripwire = self.wire(self.check)
        self._tripwire.start()

    def start(self) -> None:
        """Begin to check."""
        self._check()

    def stop(self) -> None:
        """Check no more."""
        if self._tripwire is not None:
            self._tripwire.stop()
            self._tripwire = None
        self._release()

    def check(self) -> None:
        """Check now, or after the guard's own work if this thread is at it."""
        self.safety.request(lambda: self.safety.run(self._check))

    def at_boundary(self) -> None:
        """Check at the end of a phase or generation, if no tripwire does."""
        if self._tripwire is not None and not self._tripwire.is_set:
            self._check()

    def fail(self, error: BaseException | None) -> None:
        """If an exception says that memory ran out, record it, and who holds the memory now."""
        if error is not None:
            self._release()
        failure = out_of_memory(error)
        if failure is None:
            return
        self.safety.run(self.journal.fail, failure)
        self.safety.run(self._look_after_failure, failure)

    def _look_after_failure(self, failure: Failure) -> None:
        of_gpu = gpu_ceiling(failure.message) if _OUT_OF_MEMORY in failure.type else None
        watched = self.ceilings.read()
        if of_gpu is not None:
            self._record_devices(of_gpu)
        elif watched:
            self._record(watched[0], watched[0].ceiling.share)

    def _record_devices(self, ceiling: Ceiling) -> None:
        if (spares := reason_to_spare_heap()) is not None:
            self._write(Brink(ceiling, ceiling.share, skipped=spares, own=ceiling.used))
            return
        found = self.look_at_devices()
        self._write(Brink(ceiling, ceiling.share, found.holders, found.bytes, own=ceiling.used))

    def _check(self) -> None:
        if self._tripwire is None:
            return
        watched = self.ceilings.read()
        if not watched:
            return
        share = watched[0].ceiling.share
        if share >= _REMEMBER and not self._passed:
            self._passed = _REMEMBER
            self._sizes = self._estimate(watched[0]).sizes if share < THRESHOLDS[0] else {}
        due = max((t for t in THRESHOLDS if self._passed < t <= share), default=None)
        if due is not None:
            self._passed = due
            self._record(watched[0], due)
        elif share >= THRESHOLDS[0] and math.floor(100 * share) > self._told:
            self._write(Brink(watched[0].ceiling))
        self._told = max(self._told, math.floor(100 * share))
        self._arm(self.ceilings.read() or watched)

    def _record(self, watched: FollowedLimit, threshold: float) -> None:
        ceiling, stalled = watched.ceiling, self.ceilings.stalled()
        try:
            found = self._estimate(watched)
        except Exception as error:
            self._write(Brink(ceiling, threshold, skipped=reason_of(error), stalled=stalled))
            return
        brink = Brink(
            ceiling, threshold, found.holders, found.bytes, bool(self._sizes),
            own=self.ceilings.own_bytes(), stalled=stalled,
        )  # fmt: skip
        self._write(brink)

    def _estimate(self, watched: FollowedLimit) -> Estimate:
        """Return who holds what; the look takes a share of what is left at most.

        Raises:
            MemoryError: there is too little room for it.
        """
        self._release()
        try:
            spares = reason_to_spare_heap()
            if spares is not None:
                raise RuntimeError(spares)
            # Read after the release: the reserve was part of what was used.
            watched = next(iter(self.ceilings.read()), watched)
            left = watched.ceiling.left
            if left < _LEAST_ROOM:
                raise MemoryError(f"no look: only {format_bytes(left)} were left")
            return self.look(self._sizes, min(MOST_STEPS, int(_ROOM_SHARE * left) // A_STEP))
        finally:
            if watched.ceiling.left > 4 * _RESERVE:
                self._reserve = _reserved()

    def _release(self) -> None:
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            reserve.close()

    def _write(self, brink: Brink) -> None:
        of_gpu = brink.ceiling.kind == "gpu"
        at = f"at {100 * brink.ceiling.share:.0f} % of"
        label = f"GPU memory {at} the device" if of_gpu else f"Memory {at} its limit"
        spent = self.meter.spent
        snapshot = Snapshot(
            self.journal.next_serial,
            label,
            "mark",
            generation=self.where(),
            seconds=self.meter.elapsed,
            cost=Cost(total=spent),
            brink=brink if of_gpu else replace(brink, own=self.ceilings.own_bytes()),
        )
        self.journal.add(snapshot, None)
        self.journal.sync()

    def _arm(self, watched: list[FollowedLimit]) -> None:
        """Have the next check made where the next record, or the next threshold, would be due."""
        if self._tripwire is None or not self._tripwire.is_set:
            return
        wires = []
        gaps = []
        for one in watched:
            ceiling = one.ceiling
            bound = self._next_bound() * ceiling.most
            gap = max(int(bound - ceiling.used), _LEAST_GAP)
            gaps.append(gap)
            wires.append(one.wire(gap))
        own = self.ceilings.resident(min(gaps))
        if own is not None:  # see _AT_LATEST
            wires.append(own)
        share = watched[0].ceiling.share
        near = share >= _CLOSE
        self._tripwire.arm(wires, _NEAR_PAUSE if near else _FAR_PAUSE, _AT_LATEST if near else 0.0)

    def _next_bound(self) -> float:
        """Return the share at which the next record is due."""
        later = [t for t in (_REMEMBER, *THRESHOLDS) if t > self._passed]
        if self._passed < THRESHOLDS[0]:
            return later[0]
        per_cent = (self._told + 1) / 100
        return min([per_cent, *later])
