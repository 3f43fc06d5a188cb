"""What holds memory at present, without a loop: the looks of ``leakguard.now``."""

from __future__ import annotations

from leakguard.capture import heap
from leakguard.capture.probe import Unavailable
from leakguard.errors import UsageError
from leakguard.model.holding import Holdings, since

# What the last call found: names and numbers, no object of the program.
_last: Holdings | None = None


def now() -> Holdings:
    """Look at the process; see ``leakguard.now``."""
    global _last
    try:
        look = heap.holdings()
    except Unavailable as reason:
        raise UsageError(f"what holds memory cannot be told: {reason}") from None
    told, _last = since(_last, look), look
    return told
