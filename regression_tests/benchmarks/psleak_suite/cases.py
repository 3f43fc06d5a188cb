"""The suite's leaks by name, what each of them is, and how often a generation makes it."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes that a leak loses in a generation, where single calls lose less: 60 of them are 10 MB,
#: about a quarter of such a process. psleak itself calls a function up to 1,500 times a round.
LOST = 160_000

_NATIVE = frozenset({"native"})
_MAPPED = frozenset({"native", "memory"})  # no allocator knows it, so no more than this is right
_LOST_OBJECT = frozenset({"native", "instances"})  # in nothing that can be reached
_CYCLES = frozenset({"cycles"})
_THREADS = frozenset({"threads"})

IN_C, IN_PYTHON = "test_c_leaks", "test_python_leaks"


@dataclass(frozen=True, slots=True)
class Leak:
    """One leaking function of the suite.

    Attributes:
        test: module, class and method of the suite that hands the function over.
        kinds: kinds of finding that are right.
        calls: how often a generation calls it.
        types: types that may be named with it; it is as right to name none.
        twin: position of the clean twin among the functions that the test hands over; None where
            the suite has none, and ``twins.py`` has one.
        collects: whether Python's collector is on; where it is off, cycles are never taken, and
            the clean twin is the same function with the collector on.
    """

    test: str
    kinds: frozenset[str]
    calls: int
    types: tuple[str, ...] = ()
    twin: int | None = None
    collects: bool = True

    @property
    def name(self) -> str:
        """Class and method, as a reader of the suite would look for them."""
        return self.test.partition(".")[2]


def _calls(lost: int) -> int:
    return max(2, LOST // lost)


def _malloc(test: str, lost: int) -> Leak:
    return Leak(f"{IN_C}.{test}", _NATIVE, _calls(lost), twin=1)


def _mmap(test: str, lost: int) -> Leak:
    return Leak(f"{IN_C}.{test}", _MAPPED, _calls(lost), twin=1)


def _object(test: str, lost: int, of: str) -> Leak:
    return Leak(f"{IN_C}.TestPythonExtensionLeaks.{test}", _LOST_OBJECT, _calls(lost), (of,))


def _cycle(test: str, *types: str) -> Leak:
    return Leak(f"{IN_PYTHON}.TestUncollectableGarbage.{test}", _CYCLES, 300, types, collects=False)


LEAKS = (
    _malloc("TestMallocWithoutFree.test_1b", 32),
    _malloc("TestMallocWithoutFree.test_1k", 1040),
    _malloc("TestMallocWithoutFree.test_16k", 16_400),
    _malloc("TestMallocWithoutFree.test_1M", 1_052_672),
    _mmap("TestMmapWithoutMunmap.test_1b", 4096),
    _mmap("TestMmapWithoutMunmap.test_1k", 4096),
    _mmap("TestMmapWithoutMunmap.test_16k", 16_384),
    _mmap("TestMmapWithoutMunmap.test_1M", 1_048_576),
    Leak(f"{IN_C}.TestUnclosedThreads.test_c_thread", _THREADS, 2, ("threads",)),
    _object("test_leak_list_small", 64, "list"),
    _object("test_leak_list_big", 856, "list"),
    _object("test_leak_long", 32, "int"),
    _object("test_leak_tuple_small", 48, "tuple"),
    _object("test_leak_tuple_big", 840, "tuple"),
    _object("test_leak_dict", 64, "dict"),
    _object("test_leak_cycle", 464, "dict"),
    _malloc("TestPymalloc.test_pymem_malloc_small", 16),
    _malloc("TestPymalloc.test_pymem_malloc_big", 1040),
    _malloc("TestPymalloc.test_pyobject_malloc_small", 16),
    _malloc("TestPymalloc.test_pyobject_malloc_big", 1040),
    Leak(f"{IN_C}.TestIntermittentMalloc.test_malloc_every_other_call", _NATIVE, _calls(24)),
    Leak(f"{IN_PYTHON}.TestPythonThreads.test_it", _THREADS, 2, ("Thread", "threads")),
    _cycle("test_simple_cycle", "Leaky", "tuple"),
    _cycle("test_complex_cycle", "A", "B", "dict", "tuple"),
    _cycle("test_self_referencing_object", "Leaky"),
    _cycle("test_cycle_in_container", "Node", "list", "tuple"),
    Leak(
        f"{IN_PYTHON}.TestRssOnlyGrowth.test_touch_pages", _MAPPED, 100, ("mmap", "shared memory")
    ),
)

#: A function that the suite itself calls clean: exceptions that hold their own frames.
LOOK_ALIKES = (
    Leak(f"{IN_PYTHON}.TestUncollectableGarbage.test_ignores_exception_objects", frozenset(), 300),
)
