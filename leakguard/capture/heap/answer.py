"""What a look in a copy of the process sends to the process: plain data, as MessagePack."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from leakguard.capture.heap.column import Column
from leakguard.capture.heap.growth import PathMemory
from leakguard.capture.heap.result import HeapCensus, Inspection

T = TypeVar("T")


def packed(value: object) -> bytes:
    """Return a value as bytes."""
    return _encoder.encode(value)


def unpacked(answer: bytes, kind: type[T]) -> T:
    """Return the value of ``kind`` that was packed."""
    return msgspec.msgpack.decode(answer, type=kind, dec_hook=_read)


def prepare() -> None:
    """Allocate what msgspec keeps of the usual looks, before the growth of a loop is measured."""
    for kind in (HeapCensus, Inspection, PathMemory):
        msgspec.msgpack.Decoder(kind, dec_hook=_read)


def _column(value: Any) -> Any:
    if type(value) is Column:
        return value.typecode.encode() + value.tobytes()
    raise NotImplementedError(f"a look has no {type(value).__name__}")


def _read(kind: type, value: Any) -> Any:
    if kind is Column:
        column = Column(chr(value[0]))
        column.frombytes(value[1:])
        return column
    raise NotImplementedError(f"a look has no {kind}")


_encoder = msgspec.msgpack.Encoder(enc_hook=_column)
