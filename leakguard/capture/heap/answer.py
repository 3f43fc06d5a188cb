"""What a look in a copy of the process sends to the process: plain data, as MessagePack."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from leakguard.capture.heap.column import Column

T = TypeVar("T")


def packed(value: object) -> bytes:
    """Return a value as bytes."""
    return _encoder.encode(value)


def unpacked(answer: bytes, kind: type[T]) -> T:
    """Return the value of ``kind`` that was packed."""
    return msgspec.msgpack.decode(answer, type=kind, dec_hook=_read)


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
