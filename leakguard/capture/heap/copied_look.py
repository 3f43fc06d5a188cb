"""A look that was taken in a copy of the process, as the bytes that come back from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leakguard.capture.heap.column import Column
from leakguard.capture.heap.result import HeapCensus, Inspection


@dataclass(frozen=True, slots=True)
class CopiedLook:
    """What lives, and who holds it where that was asked."""

    census: HeapCensus
    found: Inspection | None = None


def encoded(look: CopiedLook) -> bytes:
    """Return the look as bytes, to be made in the copy."""
    return _ENCODER.encode(look)


def decoded(answer: bytes) -> CopiedLook:
    """Return the look again, in the process that wanted it.

    Raises:
        msgspec.MsgspecError: these are not the bytes of a look.
    """
    return _DECODER.decode(answer)


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


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_column)
_DECODER = msgspec.msgpack.Decoder(CopiedLook, dec_hook=_read)
