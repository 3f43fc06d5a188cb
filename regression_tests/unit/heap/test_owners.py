"""Which object a block of memory belongs to, and which containers lead to it."""

from __future__ import annotations

import ctypes
import functools
import sys
from array import array

import pytest
from heap_engines import COMPILED, PYTHON, needs_both

from leakguard.capture.heap.adapters import GraphAdapters
from leakguard.capture.heap.frameworks import Frameworks

_COLLECTOR_HEADER = 16


class Node:
    def __init__(self, before, kept=None):
        self.before = before
        self.kept = kept


def walked(engine, root):
    """Return the graph of what one root leads to, classes and modules left out."""
    graph = engine.graph(GraphAdapters(Frameworks(None, None)).describe, lambda cls: cls is type)
    graph.walk([(root, "root", False)])
    return graph


@pytest.fixture(params=[PYTHON, pytest.param(COMPILED, marks=needs_both)])
def engine(request):
    return request.param


def test_object_lies_where_its_block_begins_or_behind_the_collectors_header(engine):
    text, entries = "a text of its own" * 3, [1.5]
    graph = walked(engine, (text, entries))

    found = graph.owners([id(text), id(entries) - _COLLECTOR_HEADER, 4096])

    assert list(found) == [graph.find(text), graph.find(entries), -1]
    graph.close()


@needs_both
def test_items_of_a_list_and_the_tables_of_dicts_and_sets_belong_to_them():
    entries, table, names = [*range(100)], {n: n for n in range(100)}, set(range(100))
    held = bytearray(1000)
    graph = walked(COMPILED, [entries, table, names, held])
    word = ctypes.sizeof(ctypes.c_void_p)

    def field(item, words):
        return ctypes.c_void_p.from_address(id(item) + words * word).value

    # PyListObject.ob_item, PyDictObject.ma_keys, PySetObject.table and PyByteArrayObject.ob_bytes.
    keys = 4 if sys.version_info < (3, 14) else None
    blocks = [field(entries, 3), field(table, keys), field(names, 5), field(held, 4)]

    expected = [graph.find(item) for item in (entries, table, names, held)]
    assert list(graph.owners(blocks)) == expected
    graph.close()


@needs_both
def test_block_of_a_class_in_c_belongs_to_the_object_that_refers_to_it():
    numbers, buffer = array("d", range(1000)), ctypes.create_string_buffer(1000)
    graph = walked(COMPILED, [numbers, buffer])
    blocks = [numbers.buffer_info()[0], ctypes.addressof(buffer), id(Node) + 8]

    assert list(graph.owners(blocks)) == [graph.find(numbers), graph.find(buffer), -1]
    graph.close()


@needs_both
def test_buffer_belongs_to_an_object_whose_fields_begin_at_the_end_of_a_page():
    page, word = 4096, ctypes.sizeof(ctypes.c_void_p)
    many = [bytearray(1000) for _ in range(2000)]
    across = next(one for one in many if id(one) % page == page - 2 * word)
    graph = walked(COMPILED, [across])
    block = ctypes.c_void_p.from_address(id(across) + 4 * word).value  # PyByteArrayObject.ob_bytes

    assert list(graph.owners([block])) == [graph.find(across)]
    graph.close()


@needs_both
def test_object_that_is_smaller_than_its_class_says_is_read_no_further_than_can_be():
    class Claims:
        __slots__ = ()

    claims = Claims()
    # PyTypeObject.tp_basicsize, behind the header and the name
    claimed = ctypes.c_ssize_t.from_address(id(Claims) + 4 * ctypes.sizeof(ctypes.c_void_p))
    true = claimed.value
    graph = walked(COMPILED, [claims])
    claimed.value = 1 << 40
    try:
        assert list(graph.owners([1 << 49, 1 << 50])) == [-1, -1]  # no words that lie about
    finally:
        claimed.value = true
    graph.close()


def test_way_to_an_entry_names_each_container_with_the_entry_it_is_in(engine):
    leaf = "a text that lies deep" * 2
    inner = [leaf]
    outer = [["other"], inner]
    graph = walked(engine, outer)
    wanted = bytes(1 for _ in range(len(graph.path_columns().key)))

    (way,) = graph.ways([graph.find(leaf)], wanted)

    entries = dict(way)
    assert entries[graph.path_of(graph.find(outer))] == graph.find(inner)
    assert entries[graph.path_of(graph.find(inner))] == graph.find(leaf)
    graph.close()


def _nodes(numbers):
    node = None
    for number in numbers:
        node = Node(node, number)
    return node


def _wrappers(numbers):
    call = None
    for number in numbers:
        call = functools.partial(float, number, call)
    return call


@needs_both
@pytest.mark.parametrize("chain", [_nodes, _wrappers])
def test_twins_name_the_same_ways_in_a_chain(chain):
    numbers = [float(number) for number in range(200)]
    node, ways = chain(numbers), []
    for engine in (PYTHON, COMPILED):
        graph = walked(engine, [node])
        count = len(graph.path_columns().key)
        asked = [graph.find(node), len(graph) - 1, len(graph) // 2]
        told = graph.ways(asked, bytes(1 for _ in range(count)))
        ways.append([[entry for _, entry in way] for way in told])
        links = bytes(entries > 0 for entries in graph.path_columns().entries)
        # What each link keeps beside the next one lies in an entry of its own.
        kept = [graph.find(one) for one in numbers]
        assert len({way[-1] for way in graph.ways(kept, links) if way}) >= len(numbers) - 2
        graph.close()

    assert ways[0] == ways[1]
    assert len(ways[0][1]) < 12  # a path each, not a link each


@needs_both
def test_unwanted_paths_are_left_out_and_a_byte_is_asked_for_each():
    graph = walked(COMPILED, [["text"]])
    count = len(graph.path_columns().key)

    assert graph.ways([0, 1], bytes(count)) == [[], []]
    with pytest.raises(ValueError, match="a byte for each path"):
        graph.ways([0], b"")
    graph.close()
