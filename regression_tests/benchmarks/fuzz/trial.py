"""One input read: in one line refused or not, in time, and within its memory."""

from __future__ import annotations

import random
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from leakguard.errors import LeakguardError
from regression_tests.benchmarks.fuzz.mutation import mutated
from regression_tests.benchmarks.fuzz.targets import READERS, seeds

# Seconds of CPU after which an input is ended: it has failed by then.
_ENDLESS = 20.0
# Bytes that the highest RSS may rise by at one input of any size: garbage that waits for the
# collector, and what modules load at their first use. Beyond it, so many for each of its bytes.
_ROOM = 64 << 20
_FOR_EACH = 1000


@dataclass(frozen=True)
class Failure:
    """An input that gave a traceback or a refusal of several lines, or took too much."""

    kind: str
    reason: str
    data: bytes


def tried(kind: str, data: bytes, path: Path) -> Failure | None:
    """Read one input; None when it is read or refused."""
    path.write_bytes(data)
    began, high = time.process_time(), _high_water()
    try:
        with _ended(_ENDLESS), warnings.catch_warnings():
            warnings.simplefilter("error")  # what an input says on stderr is no refusal
            READERS[kind](path)
    except LeakguardError as refusal:
        if "\n" in str(refusal):
            return Failure(kind, f"refused in several lines: {refusal}", data)
    except (Exception, _Endless):
        return Failure(kind, traceback.format_exc(limit=-3), data)
    seconds, rose = time.process_time() - began, _high_water() - high
    if seconds > max(1.0, len(data) / 1e6):
        return Failure(kind, f"{seconds:.1f} s for {len(data):,} bytes", data)
    if rose > _ROOM + _FOR_EACH * len(data):
        return Failure(kind, f"{rose / 1e6:.0f} MB of memory for {len(data):,} bytes", data)
    return None


class _Endless(BaseException):
    """Raised in a reader that does not come to an end."""


@contextmanager
def _ended(seconds: float) -> Iterator[None]:
    def end(_: int, __: FrameType | None) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _high_water() -> int:
    """Return the highest RSS of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def failures(
    examples: int,
    seed: int,
    path: Path,
    kinds: Collection[str] = (*READERS,),
    seconds: float = float("inf"),
) -> Iterator[Failure]:
    """Yield what goes wrong among so many inputs of each kind, or in so many seconds of CPU."""
    generator = random.Random(seed)
    for kind in kinds:
        began, good, done = time.process_time(), seeds()[kind], 0
        while done < examples and time.process_time() - began < seconds:
            done += 1
            failure = tried(kind, mutated(generator.choice(good), generator), path)
            if failure is not None:
                yield failure
        took = time.process_time() - began
        print(
            f"{kind}: {done:,} inputs in {took:,.0f} s of CPU; highest RSS "
            f"{_high_water() / 1e6:.0f} MB",
            flush=True,
        )
