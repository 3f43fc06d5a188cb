"""A column of numbers that the guard keeps from one look to the next."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Numbers: TypeAlias = array[int]
else:  # before CPython 3.12 an array takes no type
    Numbers = array


class Column(Numbers):
    """An array of integers of the guard's own class, so that a census leaves it out.

    A census could not distinguish a plain ``array.array`` of the guard from an array of the
    program. The numbers that looks remember, 850 kB in a process with torch, would count as the
    program's growth.
    """

    __slots__ = ()
