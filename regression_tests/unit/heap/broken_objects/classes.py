"""Classes of which instances are made, one for each way to keep its parts."""

from __future__ import annotations

import collections


class ListKind(list):  # type: ignore[type-arg]
    pass


class SlottedList(list):  # type: ignore[type-arg]
    __slots__ = ("first", "second")


class TupleKind(tuple):
    pass


Point = collections.namedtuple("Point", "x y z")


class Plain:
    pass


class Slotted:
    __slots__ = ("left", "right")


class Both(Slotted):
    pass


class DictKind(dict):  # type: ignore[type-arg]
    pass


class Hostage(Exception):
    pass
