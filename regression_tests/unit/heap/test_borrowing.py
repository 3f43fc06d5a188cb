"""A walk in a copy of the process writes to no object: each page it wrote to would be copied."""

from __future__ import annotations

import gc
import sys
from functools import partial
from pathlib import Path

import pytest

from leakguard.capture.heap import ENGINE, inspection
from leakguard.capture.heap.apart import Apart

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux") or sys.version_info >= (3, 14),
    reason="processes are copied by the compiled scan, and the collector's lists are read",
)


class Row:
    def __init__(self, number):
        self.number = number


def _unshared() -> int:
    """Return the bytes of this process that no other process shares, without its new pages."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    found = next(line for line in text.splitlines() if line.startswith("Private_Dirty"))
    return int(found.split()[1]) * 1024


def _walked(*, borrows: bool) -> dict[str, int]:
    from leakguard.capture.heap.compiled import CompiledGraph
    from leakguard.capture.heap.walked_graph import walk_graph

    before = sys.getrefcount(ROWS[0]), sys.getrefcount(ROWS[-1])
    first = _unshared()
    walked = walk_graph(CompiledGraph, (), borrows=borrows)
    during = sys.getrefcount(ROWS[0]), sys.getrefcount(ROWS[-1])
    node = walked.graph.find_at(id(ROWS))
    said = {
        "changed": int(before != during),
        "nodes": len(walked.graph),
        "children": len(walked.graph.children(node)),
        "unshared": _unshared() - first,
    }
    walked.close()
    said["changed_after"] = int(before != (sys.getrefcount(ROWS[0]), sys.getrefcount(ROWS[-1])))
    return said


ROWS: list[Row] = []


@pytest.fixture(autouse=True)
def many_rows():
    ROWS.extend(Row([number]) for number in range(200_000))
    gc.collect()
    yield
    ROWS.clear()


def test_walk_in_a_copy_holds_nothing_of_the_program():
    said = Apart().take(partial(_walked, borrows=True), dict[str, int])
    assert not said["changed"] and not said["changed_after"]
    assert said["children"] == len(ROWS)
    held = Apart().take(partial(_walked, borrows=False), dict[str, int])
    assert held["changed"] and not held["changed_after"]
    assert held["nodes"] == pytest.approx(said["nodes"], rel=0.001)
    assert held["unshared"] - said["unshared"] > len(ROWS) * 100  # a row, its list, a number


def _asked() -> dict[str, str]:
    from leakguard.capture.heap.compiled import CompiledGraph
    from leakguard.capture.heap.growth import PathMemory

    before = sys.getrefcount(ROWS[77])
    found = inspection.take_inspection(
        CompiledGraph, "compiled", PathMemory(), (id(ROWS[5]),), 1_000_000, 3
    )
    held = found.held[0]
    return {
        "held_by": "" if held is None else held.held_by,
        "changed": "yes" if sys.getrefcount(ROWS[77]) != before else "no",
    }


def test_questions_about_holders_write_to_no_element_either():
    said = Apart().take(_asked, dict[str, str])
    assert said["changed"] == "no"
    assert said["held_by"].endswith("ROWS[*]")


def _young_is_dropped() -> dict[str, int]:
    """Drop what was made shortly before the walk, and make other objects where it lay."""
    from leakguard.capture.heap.compiled import CompiledGraph
    from leakguard.capture.heap.walked_graph import walk_graph

    gc.disable()
    young = [[number] for number in range(1_000)]
    addresses = [id(item) for item in young]
    walked = walk_graph(CompiledGraph, (), borrows=True)
    nodes = [walked.graph.find_at(address) for address in addresses]
    young.clear()
    others = [(number, number) for number in range(10_000)]
    kinds = {type(walked.graph.object_at(node)).__name__ for node in nodes}
    return {"lists": int(kinds == {"list"}), "others": len(others)}


def test_what_the_guard_drops_while_it_asks_stays_what_it_was():
    assert Apart().take(_young_is_dropped, dict[str, int])["lists"]


def test_walk_that_holds_what_it_sees_takes_no_lists_of_the_collector():
    from leakguard.capture.heap.compiled import CompiledGraph
    from leakguard.capture.heap.walked_graph import walk_graph

    assert CompiledGraph.tracked_addresses() is None
    before = sys.getrefcount(ROWS[0])
    walked = walk_graph(CompiledGraph, (), borrows=True)
    during = sys.getrefcount(ROWS[0])
    with pytest.raises(TypeError, match="borrows"):
        walked.graph.walk_rest(None, "(no root)", ())
    walked.close()
    after = sys.getrefcount(ROWS[0])
    assert before == after < during


def _reused() -> dict[str, int]:
    """Free what was made before the copy, make as much anew, and count the addresses used again."""
    gone = {id(row) for row in ROWS} | {id(row.number) for row in ROWS}
    ROWS.clear()
    made = [Row([number]) for number in range(50_000)]
    grown = KEPT_SHORT
    grown.extend(range(10_000))  # a list of before, whose items get other memory
    return {
        "again": len(gone & {id(row) for row in made}),
        "grown": int(grown[:3] == [1, 2, 3] and len(grown) == 10_003),
    }


KEPT_SHORT = [1, 2, 3]


def test_no_address_of_before_is_used_again_in_a_copy():
    said = Apart().take(_reused, dict[str, int])
    assert said["again"] == 0
    assert said["grown"]


def _traced() -> dict[str, int]:
    return {
        "tracer": int(sys.gettrace() is not None),
        "profiler": int(sys.getprofile() is not None),
    }


def test_tracer_of_the_program_does_not_run_in_a_copy():
    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(lambda frame, event, argument: None)
    sys.setprofile(lambda frame, event, argument: None)
    try:
        said = Apart().take(_traced, dict[str, int])
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)
    assert said == {"tracer": 0, "profiler": 0}
