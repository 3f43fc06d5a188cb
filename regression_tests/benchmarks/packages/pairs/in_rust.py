"""Leaks of extensions written in Rust."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from regression_tests.benchmarks.packages.pair import Call, pair


@pair(
    "orjson",
    "3.9.0",
    "3.9.1",
    "Rust",
    calls=100,
    types="traceback frame TypeError ValueError",
    source="orjson 3.9.1 changelog",
)
def orjson_default_raises() -> Call:
    """The exception of default() and its traceback are kept for ever."""
    import orjson

    def default(item: object) -> object:
        raise TypeError(f"unknown {item}")

    def call() -> None:
        with suppress(TypeError):
            orjson.dumps(object(), default=default)

    return call


@pair(
    "orjson",
    "3.9.5",
    "3.9.6",
    "Rust",
    calls=100,
    types="ndarray",
    needs="numpy<2",
    source="orjson 3.9.6 changelog",
)
def orjson_array_type() -> Call:
    """An array of a type that is not supported is never released."""
    import numpy
    import orjson

    def call() -> None:
        with suppress(TypeError):
            orjson.dumps(numpy.zeros(200, dtype="complex128"), option=orjson.OPT_SERIALIZE_NUMPY)

    return call


@pair(
    "pydantic",
    "2.7.0",
    "2.7.1",
    "Rust",
    calls=200,
    types="ValidatorIterator generator list_iterator",
    source="pydantic/pydantic-core#1271",
)
def pydantic_iterable() -> Call:
    """Validating an Iterable keeps the validator and its input."""
    from pydantic import BaseModel

    class Rows(BaseModel):
        rows: Iterable[int]

    return lambda: Rows(rows=iter([1, 2, 3]))


@pair(
    "pydantic-core",
    "2.14.5",
    "2.14.6",
    "Rust",
    calls=100,
    source="pydantic 2.5.3 changelog, pydantic/pydantic-core#1125",
)
def pydantic_core_recursive() -> Call:
    """A validator whose definition refers to itself is never freed."""
    from pydantic_core import SchemaValidator, core_schema

    def call() -> None:
        own = core_schema.definition_reference_schema("node")
        nodes = core_schema.nullable_schema(core_schema.list_schema(own), ref="node")
        SchemaValidator(core_schema.definitions_schema(own, [nodes]))

    return call
