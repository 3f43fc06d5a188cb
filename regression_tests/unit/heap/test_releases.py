"""What may go: each statement frees what was promised, and what others hold is not promised."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# A program of its own for each: what is asked about are names of the main module. It prints the
# promise, runs the statement, and prints what the allocators have less in use.
PROGRAM = """
import functools, gc, json, sys
import leakguard
from leakguard.capture.allocator import allocator_memory, pool_memory
def in_use():
    return allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"]
{state}
told = [h for h in leakguard.now().ranked if h.kind == {kind!r}]
if told:
    before = in_use()
    exec({statement!r} if told[0].statement.startswith("%") else told[0].statement)
    gc.collect()
    freed = before - in_use()
    print(json.dumps([told[0].what, told[0].statement, told[0].bytes, freed]))
else:
    print(json.dumps([None, None, 0, 0]))
"""
LISTS = "[f'{number:0200}' for number in range(20_000)]"
STATES = {
    "variable": (f"rows = {LISTS}", "rows", "del rows"),
    "exception": (
        f"def fail():\n    rows = {LISTS}\n    raise ValueError\n"
        "try:\n    fail()\n"
        "except ValueError as error:\n    sys.last_value = error\n"
        "    sys.last_traceback = error.__traceback__",
        "the last exception and its frames",
        "del sys.last_value, sys.last_traceback",
    ),
    "cache": (
        f"@functools.lru_cache(None)\ndef rows(number):\n    return {LISTS}\nrows(1)",
        "rows",
        "rows.cache_clear()",
    ),
    "view": (
        "import numpy\nwhole = numpy.ones(1_000_000)\npart = whole[:10]\ndel whole",
        "part",
        "part = part.copy()",
    ),
    "output": (
        f"Out = _oh = {{1: {LISTS}}}\n_ = _1 = Out[1]",
        "results of cells (Out)",
        "%reset -f out",
    ),
    "cycles": (
        f"class Node: pass\ngc.disable()\nnode = Node()\nnode.me, node.rows = node, {LISTS}\n"
        "del node",
        "garbage that waits for the collector",
        "gc.collect()",
    ),
}
RESET = "for name in ('_', '_1', '_oh', 'Out'):\n    del globals()[name]"


def outcome(state, kind):
    program = PROGRAM.format(state=state, kind=kind, statement=RESET)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200
    )
    return json.loads(ran.stdout)


@pytest.mark.parametrize("kind", STATES)
def test_statement_frees_what_was_promised(kind):
    state, what, statement = STATES[kind]
    told, said, promised, freed = outcome(state, kind)
    assert (told, said) == (what, statement)
    # Allocators round up. Of garbage the promise is the most that may come free.
    least = 0.5 if kind == "cycles" else 0.9
    assert least * promised <= freed <= 1.2 * promised


@pytest.mark.parametrize(
    ("kind", "held_elsewhere"),
    [
        ("variable", f"rows = {LISTS}\nsys.keeps = rows"),
        ("output", f"Out = _oh = {{1: {LISTS}}}\nsys.keeps = Out[1]"),
        ("view", "import numpy\nwhole = numpy.ones(1_000_000)\npart = whole[:10]"),
        ("cache", f"@functools.lru_cache(None)\ndef rows(n):\n    return {LISTS}\nkept = rows(1)"),
    ],
)
def test_what_others_hold_is_not_promised(kind, held_elsewhere):
    told, _, _, _ = outcome(held_elsewhere, kind)
    assert told is None


def test_program_is_as_before_once_it_was_asked():
    state = (
        f"rows = {LISTS}\nOut = _oh = {{1: {LISTS}}}\n_ = Out[1]\n"
        "names = list(map(id, globals().values()))\n"
        "leakguard.now()\nassert [id(v) for v in globals().values()][:len(names)] == names\n"
        "assert list(Out) == [1]"
    )
    assert outcome(state, "variable")[0] == "rows"
