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

    A plain ``array.array`` cannot be distinguished from one of the program's. What looks remember
    of many paths, 850 kB in a process of torch, would count as growth of the program.
    """

    __slots__ = ()
