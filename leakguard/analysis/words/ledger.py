"""Why a part of the growth of RSS is unknown."""

from __future__ import annotations

_NO_CENSUS = "live objects were not counted and sized at both ends"
_NO_HELD = "the C allocator was not read at both ends"
_NO_POOLS = "Python's small-object allocator was not read at both ends"
_NO_PARTS = "RSS was not split into anonymous, file-backed and shared pages"
_NO_SWAP = "swap was not read at both ends"
_NO_NATIVE = "it is memory in use beyond live objects, and one of the two is unknown"

#: By part, for what was not read.
UNREAD = {
    "tensors": _NO_CENSUS,
    "arrays": _NO_CENSUS,
    "python": _NO_CENSUS,
    "native": _NO_NATIVE,
    "interpreter": _NO_POOLS,
    "allocator": _NO_HELD,
    "shared": _NO_PARTS,
    "swapped": _NO_SWAP,
}
