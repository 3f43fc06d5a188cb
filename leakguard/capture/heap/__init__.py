"""The heap engine: what is alive, how large it is, and who holds it.

Every public function returns plain values. No reference to a user's object outlives the call, and
no user code runs during the call. Looks are taken in a copy of the process (see ``apart``).
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
from leakguard.model.census import Census
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
    "gains",
    "holdings",
    "inspect",
    "origins",
    "population",
    "prove",
    "remember",
]

# The most objects that are counted in the process itself. Measured: 17 ms for 288,000 objects, and
# other threads stand still meanwhile. Chosen: they do so for at most 50 ms.
_MOST_IN_PLACE = 800_000


def census(
    watch: Mapping[str, type] = _NOTHING, large: int = LARGE_OBJECT, seconds: float = LONGEST
) -> HeapCensus:
    """Count and size every live object by type.

    Memory that several arrays or tensors share counts once.

    Args:
        watch: maps names to classes; instances of a class and its subclasses are counted under
            its name.
        large: objects of at least this many bytes are listed one by one.
        seconds: the most CPU time that the census may take.

    Raises:
        Unavailable: it would take longer, or would harm the program.
    """
    return looks.take(lambda: take_census(engine.tally, ENGINE, watch, large), HeapCensus, seconds)


def population() -> bytes | None:
    """Return how many objects of each class the collector tracks, for ``gains`` to compare.

    It costs a tenth of a census. It is counted in the process itself while no other thread runs,
    and nothing is held or written. None if that would take too long, or is impossible here.
    """
    return engine.population(_MOST_IN_PLACE)


def gains(before: bytes, now: bytes) -> tuple[int, int]:
    """Compare two populations.

    Returns:
        The most instances that any class of the program or of a library has gained, and the number
        of objects that the interpreter's own types have gained together.
    """
    return engine.gains(before, now)


def origins(names: Collection[str], origin_of: Callable[[object], Origin | None]) -> Origins:
    """Return where the live objects of these types were made.

    ``names`` are qualified names of types; instances of their subclasses do not count.

    Raises:
        Unavailable: as for a census.
    """
    return looks.take(lambda: take_origins(engine.instances, names, origin_of), Origins)


def collect(counted: Census | None = None) -> FreedByCollection:
    """Run one full garbage collection; return the objects that it freed, by type.

    ``counted`` is a census from just before, which is used if no other thread has run since.
    """
    return take_collection(census, counted)


def remember(seconds: float = LONGEST) -> PathMemory:
    """Return the sizes of all containers by path, for the first ``inspect`` to compare with.

    This costs less than an ``inspect``, which also names holders.

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
    read_source: bool = False,
) -> Inspection:
    """Return who holds what: containers that grow, what they retain, and the path to them.

    Args:
        memory: the sizes that the previous look returned. Containers that grew at every look since
            the first are listed first.
        targets: addresses of objects whose holder is wanted.
        large: see ``census``.
        limit: the most growing containers, and the most other containers, that are named.
        suspects: names of classes; for each of them, the container with the most instances is
            named.
        tell_cycles: gets the number and the bytes of the garbage, and returns whether its cycles
            should be followed. Cycles are followed in a copy of the process, because this changes
            the objects.
        seconds: the most CPU time that the look may take.
        survivors: returns, in the copy, the sampled blocks that are alive. At most ``limit``
            containers that gain such blocks are named too, each with the lines that made the
            blocks.
        read_source: whether to search the program's source for the lines that add to each holder.

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
            seconds=seconds,
            read_source=read_source,
        ),
        Inspection,
        seconds,
    )


def holdings() -> Holdings:
    """Return what holds memory that may be released, each with the statement that releases it.

    Raises:
        Unavailable: as for a census.
    """
    from leakguard.capture.heap.releases import take_holdings

    return looks.take(lambda: take_holdings(engine.Graph), Holdings)


def prove(held_by: str, retained: int | None = None) -> Proof:
    """Empty a holder in a copy of this process, and return what the allocators released there.

    ``retained`` is the number of bytes that the holder is reported to retain; it helps to find the
    holder. The holder is not emptied if that could have effects outside of the copy, through
    finalizers, files, sockets or devices.
    """
    from leakguard.capture.heap import proof

    return proof.prove(held_by, retained, engine.Graph)
