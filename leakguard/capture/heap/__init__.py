"""The heap engine: what is alive, how large it really is, and who holds it.

Every public function returns plain values; no reference to a user's object outlives a call, and no
user code runs in one. Looks are taken apart from the process (``apart``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from leakguard.capture.heap import engine
from leakguard.capture.heap.apart import LONGEST, looks
from leakguard.capture.heap.census import take_census
from leakguard.capture.heap.collector import take_collection
from leakguard.capture.heap.growth import PathMemory
from leakguard.capture.heap.inspection import take_inspection, take_memory
from leakguard.capture.heap.origins import Origin, Origins, take_origins
from leakguard.capture.heap.result import HeapCensus, Held, Inspection
from leakguard.model.holder import Proof
from leakguard.model.holding import Holdings
from leakguard.model.snapshot import Collection as FreedByCollection

ENGINE = engine.NAME
WITHOUT_SCAN = engine.WITHOUT_SCAN
LARGE_OBJECT = 50_000_000
_NOTHING: Mapping[str, type] = MappingProxyType({})
_NOBODY: tuple[int, ...] = ()

__all__ = [
    "ENGINE",
    "LARGE_OBJECT",
    "LONGEST",
    "WITHOUT_SCAN",
    "HeapCensus",
    "Held",
    "Inspection",
    "Origin",
    "Origins",
    "PathMemory",
    "census",
    "collect",
    "holdings",
    "inspect",
    "origins",
    "prove",
    "remember",
]


def census(
    watch: Mapping[str, type] = _NOTHING, large: int = LARGE_OBJECT, seconds: float = LONGEST
) -> HeapCensus:
    """Count and size every live object by type, arrays and tensors by their unique memory.

    ``watch`` maps names to classes whose instances (subclasses included) are counted under that
    name. Objects of at least ``large`` bytes are listed one by one. It may take ``seconds`` of CPU.

    Raises:
        Unavailable: it would take longer, or cannot be done here without harm.
    """
    return looks.take(lambda: take_census(engine.tally, ENGINE, watch, large), HeapCensus, seconds)


def origins(names: Collection[str], origin_of: Callable[[object], Origin | None]) -> Origins:
    """Say where the live objects were made whose exact type has one of these qualified names.

    Raises:
        Unavailable: as for a census.
    """
    return looks.take(lambda: take_origins(engine.instances, names, origin_of), Origins)


def collect() -> FreedByCollection:
    """Run one full garbage collection and say what only cycles had kept alive, by type."""
    return take_collection(census)


def remember(seconds: float = LONGEST) -> PathMemory:
    """Return the sizes of all containers by path, for the first ``inspect`` to compare with.

    It costs less than an ``inspect``, which gives the same memory and names holders.

    Raises:
        Unavailable: as for a census.
    """
    return looks.take(lambda: take_memory(engine.Graph), PathMemory, seconds)


def inspect(
    memory: PathMemory | None = None,
    targets: Sequence[int] = _NOBODY,
    large: int = LARGE_OBJECT,
    limit: int = 10,
    suspects: Sequence[str] = (),
    tell_cycles: Callable[[int, int], bool] | None = None,
    seconds: float = LONGEST,
) -> Inspection:
    """Say who holds what: containers that grow, what they retain, and the way to them.

    ``memory`` is that of the look before; containers that grew at every look since the first come
    first. ``targets`` are addresses of objects to find the holder of. At most ``limit`` growing and
    ``limit`` other containers are named, and for each of the classes that ``suspects`` names the
    one that holds most of its instances. ``tell_cycles`` is given the number and the bytes of the
    objects that no root leads to and says whether their cycles are worth following: in a copy of
    the process, so that what it changes is lost. It may take ``seconds`` of CPU.

    Raises:
        Unavailable: as for a census.
    """
    return looks.take(
        lambda: take_inspection(
            engine.Graph,
            ENGINE,
            memory or PathMemory(),
            targets,
            large,
            limit,
            suspects,
            tell_cycles,
        ),
        Inspection,
        seconds,
    )


def holdings() -> Holdings:
    """Say what holds memory now and may go, each with the statement that lets it go.

    Raises:
        Unavailable: as for a census.
    """
    from leakguard.capture.heap.releases import take_holdings

    return looks.take(lambda: take_holdings(engine.Graph), Holdings)


def prove(held_by: str, retained: int | None = None) -> Proof:
    """Empty a holder in a copy of this process and say what the allocators released there.

    ``retained`` is what it was said to keep alive, by which it is found sooner. Nothing is cut
    where that could reach beyond the copy: finalizers, files, sockets, devices.
    """
    from leakguard.capture.heap import proof

    return proof.prove(held_by, retained, engine.Graph)
