"""Reads a pprof file after the published ``profile.proto``, without the code that writes it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Profile:
    """The decoded file: numbers of strings are replaced by the strings."""

    types: list[tuple[str, str]]
    samples: list[tuple[list[tuple[str, str, int]], dict[str, int], dict[str, str]]]
    comments: list[str]
    default: str
    time: int
    duration: int
    strings: list[str] = field(default_factory=list)

    def total(self, name: str) -> int:
        """Return the sum of one value over all samples."""
        return sum(values[name] for _, values, _ in self.samples)

    def above(self, function: str, name: str) -> int:
        """Return what a viewer shows for a frame: the sum over the samples that contain it."""
        return sum(
            values[name] for frames, values, _ in self.samples if function in {f[0] for f in frames}
        )


def read(data: bytes) -> Profile:
    """Return the profile, with the frames of each sample from the outermost to the innermost."""
    top = _fields(gzip.decompress(data))
    strings = [text.decode() for text in top[6]]
    assert strings[0] == ""
    types = [(strings[_one(t, 1)], strings[_one(t, 2)]) for t in map(_fields, top[1])]
    functions = {_one(f, 1): f for f in map(_fields, top.get(5, []))}
    locations = {_one(place, 1): place for place in map(_fields, top.get(4, []))}
    mappings = {_one(mapping, 1) for mapping in map(_fields, top[3])}
    assert all(_one(place, 2) in mappings for place in locations.values())
    assert 0 not in locations and 0 not in functions

    def frame(number: int) -> tuple[str, str, int]:
        line = _fields(locations[number][4][0])
        function = functions[_one(line, 1)]
        return strings[_one(function, 2)], strings[_one(function, 4)], _one(line, 2)

    samples = []
    for sample in map(_fields, top.get(2, [])):
        frames = [frame(number) for number in reversed(_varints(sample[1][0]))]
        values = _varints(sample[2][0])
        assert len(values) == len(types)
        labels = {strings[_one(a, 1)]: strings[_one(a, 2)] for a in map(_fields, sample.get(3, []))}
        named = dict(zip([name for name, _ in types], values, strict=True))
        samples.append((frames, named, labels))
    comments = [strings[number] for number in _varints(top[13][0])]
    return Profile(types, samples, comments, strings[_one(top, 14)], _one(top, 9), _one(top, 10),
                   strings)  # fmt: skip


def _one(fields: dict[int, list[Any]], number: int) -> int:
    return fields.get(number, [0])[-1]


def _fields(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        value, place = _varint(data, place)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            value, place = data[place : place + value], place + value
        found.setdefault(key >> 3, []).append(value)
    assert place == len(data)
    return found


def _varints(data: bytes) -> list[int]:
    values, place = [], 0
    while place < len(data):
        value, place = _varint(data, place)
        values.append(value)
    return values


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if byte < 0x80:
            return value, place
