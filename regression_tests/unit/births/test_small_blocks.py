"""A small block that is recorded lies outside of the pools, and nobody sees a difference."""

from __future__ import annotations

from birth_programs import needs_births, run

pytestmark = needs_births

# Each block is recorded, so that each way of a block is gone.
_EVERY = """
record.stop()
record = BirthRecord(interval=1.0, seed=3)
record.start()
"""


def test_contents_outlive_every_resize_and_new_memory_is_zero():
    said = run(
        _EVERY
        + """
import ctypes
api = ctypes.pythonapi
wrong = 0
for domain in ("PyObject", "PyMem", "PyMem_Raw"):
    name = domain + "_{}" if domain != "PyMem_Raw" else "PyMem_Raw{}"
    malloc, calloc = getattr(api, name.format("Malloc")), getattr(api, name.format("Calloc"))
    realloc, free = getattr(api, name.format("Realloc")), getattr(api, name.format("Free"))
    for function in (malloc, calloc, realloc):
        function.restype = ctypes.c_void_p
    malloc.argtypes, calloc.argtypes = [ctypes.c_size_t], [ctypes.c_size_t] * 2
    realloc.argtypes, free.argtypes = [ctypes.c_void_p, ctypes.c_size_t], [ctypes.c_void_p]
    sizes = [1, 8, 24, 100, 511, 512, 513, 600, 5_000, 200_000]
    for first in sizes:
        for second in sizes:
            block = calloc(first, 1)
            wrong += ctypes.string_at(block, first) != bytes(first)
            text = bytes(n % 251 for n in range(first))
            ctypes.memmove(block, text, first)
            for size in (second, first, second):
                block = realloc(block, size)
                least = min(first, second)
                wrong += ctypes.string_at(block, least) != text[:least]
            free(block)
            free(realloc(malloc(first), second))
            free(realloc(None, second))
print(wrong, record.problem)
before = alive()
print(calloc(1 << 40, 1 << 40), malloc(1 << 62), record.check())
"""
    )

    assert said == ["0", "None", "None", "None", "None"]


def test_interpreters_own_count_of_blocks_stays_true():
    said = run(
        _EVERY
        + """
def churn():
    made = [[bytes(n), {n: str(n)}, bytearray(n)] for n in range(2_000)]
    for entry in made:
        entry[2].extend(bytes(700))
        entry[2][50:] = b""
record.stop()
churn()
def moved():
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        churn()
    gc.collect()
    return sys.getallocatedblocks() - before
plain = moved()
record = BirthRecord(interval=16.0, seed=3)
record.start()
print(abs(moved() - plain) < 500)
record.stop()
print(abs(moved() - plain) < 500)
"""
    )

    assert said == ["True", "True"]


def test_block_recorded_once_is_recorded_anew_where_it_grows_in_place():
    said = run(
        _EVERY
        + """
def grow():
    made = bytearray(100)
    for size in range(101, 3_000, 50):
        made.extend(bytes(size - len(made)))
    return made
kept.append(grow())
first = alive(function="grow")
kept[0][200:] = b""
print(2_900 < first < 4_500, alive(function="grow") < 600)
kept.clear()
print(alive(function="grow"))
"""
    )

    assert said == ["True", "True", "0"]
