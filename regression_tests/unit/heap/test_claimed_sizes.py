"""A size that a library's object claims is believed as far as the process has so much."""

from __future__ import annotations

import ctypes
import sys

import pytest

from leakguard.capture.heap.layout import layout_of
from leakguard.capture.heap.sizes import claim_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bound is read from /proc")


class Wide(bytes):
    """A class outside of the standard library whose instances vary in size."""


def claimed(item: Wide, items: int) -> int:
    """Return the size that is believed of ``item`` while it claims so many items."""
    count = ctypes.c_ssize_t.from_address(id(item) + object.__basicsize__)
    true, count.value = count.value, items
    try:
        return claim_of(Wide)(item)
    finally:
        count.value = true


def test_size_of_an_object_that_tells_the_truth_is_its_own():
    item = Wide(b"x" * 3_000_000)
    assert claim_of(Wide)(item) == object.__sizeof__(item) > 3_000_000
    assert layout_of(Wide).method(item) == object.__sizeof__(item)


def test_size_beyond_what_the_process_has_is_none():
    assert claimed(Wide(b"x"), 2**46) == Wide.__basicsize__


def test_size_that_may_be_is_believed():
    assert claimed(Wide(b"x"), 500_000) > 500_000
