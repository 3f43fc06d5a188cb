"""Finds where torch keeps the memory of a tensor, so that plain tensors can be read in place.

Reading one through torch's own getters takes some 10 µs. A plain tensor is dense and in host memory
that torch's own allocator frees. torch documents no layout of its C++ objects. So the places of
what is read are found in three new tensors, of which torch tells the addresses and sizes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from leakguard.capture.heap.classes import basic_size, namespace

_Words = Callable[[int, int], "tuple[int, ...]"]

_WORD = 8
# Words of torch's C++ objects that are searched. Chosen: in torch 1.13 to 2.13 both objects have
# more, a tensor's at least 192 bytes and a storage's 72.
_TENSOR_WORDS, _STORAGE_WORDS = 24, 9
# Bytes of two of the new tensors. Chosen: no other field of a storage has these values.
_SIZES = 1_000, 1_016


class PlainTensors(NamedTuple):
    """How plain tensors are read.

    Attributes:
        layout: for the compiled scan (``TensorLayout`` in ``scan/scan.h``).
        memory: returns (start, bytes) of the memory of a plain tensor that is in no backward graph;
            None for others, and for those without memory.
    """

    layout: bytes
    memory: Callable[[Any], tuple[int, int] | None]


# What was found, by the identity of torch's core.
_known: dict[int, PlainTensors | None] = {}


def plain_tensors(torch: Mapping[str, Any]) -> PlainTensors | None:
    """Return how plain tensors are read; None if their layout is not known.

    ``torch`` is the namespace of the module. No code of the program runs. A copy of the process
    only uses what was found before it was made: a new tensor is memory of the C allocator, whose
    lock another thread may have held.
    """
    # Imported late: the compiled scan reads the constants of modules that import this one.
    from leakguard.capture.heap.process_copy import is_copy

    core = id(torch["_C"])
    if core not in _known and not is_copy():
        _known[core] = _found(torch)
    return _known.get(core)


def prepare() -> None:
    """Find the layout of plain tensors if torch is loaded, before a copy of the process is made."""
    module = sys.modules.get("torch")
    with suppress(KeyError, TypeError):  # torch is being imported
        if module is not None:
            plain_tensors(vars(module))


def _found(torch: Mapping[str, Any]) -> PlainTensors | None:
    new = torch["empty"]  # the last of what is needed, while torch is being imported
    try:
        from leakguard.capture.heap._scan import tensor_memory, words

        layout = _layout(torch, partial(new, device="cpu", requires_grad=False), words)
        return PlainTensors(layout, partial(tensor_memory, layout))
    except Exception:  # it is not built here, or this torch tells less of its tensors
        return None


def _layout(torch: Mapping[str, Any], new: Callable[..., Any], words: _Words) -> bytes:
    """Return the layout; ``new`` makes a tensor.

    Raises:
        ValueError: a place is not found, or could be one of several.
    """
    internals = vars(torch["_C"])
    tensor, storage = namespace(internals["TensorBase"]), namespace(internals["StorageBase"])
    address_of, room_of = tensor["_cdata"].__get__, storage["_cdata"].__get__
    with internals["DisableTorchFunction"](), internals["_DisableTorchDispatch"]():
        tensors = [new(size, dtype=torch["uint8"]) for size in _SIZES]
        leaf = new(1, dtype=torch["float32"])
        (keys,) = {internals["_dispatch_keys"](one).raw_repr() for one in (*tensors, leaf)}
        storages = [tensor["untyped_storage"](one) for one in tensors]
        starts = [storage["data_ptr"](one) for one in storages]
        sizes = [storage["nbytes"](one) for one in storages]
        alone = words(address_of(leaf), _TENSOR_WORDS)
        tensor["requires_grad"].__set__(leaf, True)
        in_graph = words(address_of(leaf), _TENSOR_WORDS)
        heads = [words(id(one), basic_size(type(one)) // _WORD) for one in tensors]
        bodies = [words(address_of(one), _TENSOR_WORDS) for one in tensors]
        rooms = [words(room_of(one), _STORAGE_WORDS) for one in storages]
    # A storage has the start twice, and between the two the function that frees the memory.
    start, again = _words_with(rooms, starts)
    release, released = start + 1, rooms[0][start + 1]
    if again != start + 2 or rooms[1][release] != released:
        raise ValueError("a storage of another layout")
    places = (
        _word_with(heads, [address_of(one) for one in tensors]),
        _word_with(bodies, [room_of(one) for one in storages]),
        _word_with([alone, [not word for word in in_graph]], [0, 0]),
        _word_with(bodies, [keys, keys]),
        start,
        _word_with(rooms, sizes),
        release,
    )
    return struct.pack("<7q2Q", *(_WORD * place for place in places), keys, released)


def _words_with(objects: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[int]:
    """Return the words at which each of the objects has what is wanted of it."""
    words = zip(*objects, strict=True)
    return [place for place, found in enumerate(words) if list(found) == list(wanted)]


def _word_with(objects: Sequence[Sequence[int]], wanted: Sequence[int]) -> int:
    (place,) = _words_with(objects, wanted)
    return place
