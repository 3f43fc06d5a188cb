"""Leaks of extensions written in C++."""

from __future__ import annotations

from regression_tests.benchmarks.packages.pair import Call, pair


@pair("greenlet", "2.0.0", "2.0.1", "C++", calls=20, source="python-greenlet/greenlet#328")
def greenlet_stack() -> Call:
    """The data stack of each finished greenlet is lost on CPython 3.11."""
    import greenlet

    def inner() -> int:
        return sum(range(3))

    return lambda: greenlet.greenlet(inner).switch()


@pair(
    "python-rapidjson",
    "1.5",
    "1.6",
    "C++",
    calls=1000,
    module="rapidjson",
    types="list",
    source="python-rapidjson#160",
)
def rapidjson_end_array() -> Call:
    """What end_array() returns for a list in an object is lost."""
    import rapidjson

    class Decoder(rapidjson.Decoder):
        def end_array(self, sequence: list[object]) -> tuple[object, ...]:
            return tuple(sequence)

    decode = Decoder()
    text = '{"rows": ["first", ["second", "third"]]}'
    return lambda: decode(text)


@pair("atom", "0.10.0", "0.10.2", "C++", calls=3000, source="nucleic/atom#202")
def atom_dict_member() -> Call:
    """Each dictionary put into a Dict member loses a few bytes."""
    from atom.api import Atom, Dict

    class Settings(Atom):
        values = Dict(str, int)

    return lambda: Settings(values={"key": 1})


@pair(
    "awkward",
    "1.10.2",
    "1.10.3",
    "C++",
    calls=200,
    types="str",
    needs="numpy<2",
    source="scikit-hep/awkward#2311",
)
def awkward_from_buffers() -> Call:
    """The texts of an array's parameters are never released."""
    import awkward
    import numpy

    def call() -> None:
        form, length, container = awkward.to_buffers(awkward.Array([[1.5, 2.5], [], [3.5]]))
        awkward.from_buffers(form, length, container)
        awkward.Array(numpy.zeros(100))

    return call
