"""The heap engine: what is alive, how large it is, and who holds it.

Every public function returns plain values. No reference to a user's object outlives a call, and no
user code runs in one. Looks are taken in a copy of the process (``apart``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from leakguard.capture.births import Survivors
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
    """Return where the live objects of these exact types (by qualified name) were made.

    Raises:
        Unavailable: as for a census.
    """
    return looks.take(lambda: take_origins(engine.instances, names, origin_of), Origins)


def collect() -> FreedByCollection:
    """Run one full garbage collection and return what only cycles had kept alive, by type."""
    return take_collection(census)


def remember(seconds: float = LONGEST) -> PathMemory:
    """Return the sizes of all containers by path, for the first ``inspect`` to compare with.

    It costs less than an ``inspect``, which also names holders.

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
    survivors: Callable[[], Survivors | None] | None = None,
) -> Inspection:
    """Return who holds what: containers that grow, what they retain, and the path to them.

    ``memory`` is that of the look before; containers that grew at every look since the first come
    first. ``targets`` are addresses of objects whose holder is wanted. At most ``limit`` growing
    and ``limit`` other containers are named, and for each class in ``suspects`` the one with most
    of its instances.

    ``tell_cycles`` gets the number and the bytes of the garbage, and returns whether its cycles
    should be followed; that happens in a copy of the process, because it changes the objects. The
    look may take ``seconds`` of CPU.

    ``survivors`` returns the sampled blocks that are alive, in that copy. Containers that gain such
    blocks are named too, at most ``limit``, each with where the blocks were made.

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
            survivors,
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
    """Empty a holder in a copy of this process, and return what the allocators released there.

    ``retained`` is what it is said to keep alive; it helps to find the holder. Nothing is cut if
    that could reach beyond the copy: finalizers, files, sockets, devices.
    """
    from leakguard.capture.heap import proof

    return proof.prove(held_by, retained, engine.Graph)
