"""What was written to an ``io.StringIO`` is held by whoever holds the buffer."""

from __future__ import annotations

import gc
import io
import sys
from typing import Any

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import text_buffers
from leakguard.capture.heap.text_buffers import is_text_buffer, leave_out, read_text_buffer

needs_lists = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="from CPython 3.12 on, a buffer holds one text and no list"
)
SIZE = 20_000_000


class Log:
    def __init__(self) -> None:
        self.pages: list[Any] = []


class Page(io.StringIO):
    pass


def test_finding_the_lists_leaves_no_garbage() -> None:
    """A proof frees what nobody holds, and is refused where it does not know what that does."""
    gc.collect()
    text_buffers._places.cache_clear()
    is_text_buffer(io.StringIO)
    assert gc.collect() == 0


@needs_lists
@pytest.mark.parametrize("kind", [io.StringIO, Page])
def test_lists_are_read_while_they_are_there(kind: type[io.StringIO]) -> None:
    buffer = kind()
    assert read_text_buffer(buffer)[0] == [[]]
    buffer.write("one")
    buffer.write("two")
    assert (is_text_buffer(kind), read_text_buffer(buffer)[0]) == (True, [["one", "two"]])
    buffer.seek(0)
    assert (buffer.read(3), read_text_buffer(buffer)[0]) == ("one", [])
    buffer.close()
    assert read_text_buffer(buffer)[0] == []


@needs_lists
def test_many_texts_lie_in_the_large_list_too() -> None:
    buffer = io.StringIO()
    for number in range(250_000):
        buffer.write(f"{number} ")
    lists = read_text_buffer(buffer)[0]
    assert [type(one) for one in lists] == [list, list]
    assert "".join("".join(one) for one in lists) == buffer.getvalue()


@needs_lists
@each_engine
def test_texts_are_retained_by_the_holder_of_their_buffers(engine: Engine) -> None:
    log = Log()
    for number in range(20):
        page = io.StringIO()
        for line in range(10):
            page.write(f"{number}/{line}".ljust(SIZE // 200, "."))
        log.pages.append(page)
    del page
    found = {holder.path: holder for holder in engine.inspect().holders}
    assert (found[f"{__name__}.Log.pages[*]"].retained_bytes or 0) >= SIZE


@needs_lists
def test_buffer_that_the_guard_writes_to_is_left_out_for_as_long_as_it_lives() -> None:
    log, other = Page(), Page()
    for buffer in (log, other):
        buffer.write("one")
    leave_out(log)
    assert (read_text_buffer(log)[0], read_text_buffer(other)[0]) == ([], [["one"]])
    place = id(log)
    del buffer, log
    assert place not in text_buffers._LEFT_OUT


def test_other_classes_are_no_buffers_of_text() -> None:
    assert not is_text_buffer(io.BytesIO)
    assert not is_text_buffer(Log)
