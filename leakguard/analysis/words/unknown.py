"""Why a finding has no holder or no line, and why a part of the growth of RSS is unknown."""

from __future__ import annotations

from leakguard.analysis.facts.no_line import NoLine, NotInTrace, TooFewBirths, TooFewCounts
from leakguard.model.units import format_bytes

NO_HOLDER = "no observed container gained as many"
_SAID = {
    "observed outside": "the process was observed from outside, where lines are unknown",
    "ended early": "no generation was traced: the run ended before two consecutive looks agreed "
    'on what grows; a longer run names the line, unless trace is "off"',
}
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


def no_line(why: NoLine) -> str:
    """Return why no line is named."""
    match why:
        case NotInTrace(generation, cut):
            if cut:
                return (
                    f"the trace of generation {generation} took too long and was cut before it "
                    "reached the growth"
                )
            traced = f"in the traced generation {generation}"
            return f"{traced}, no line allocated as much as the growth"
        case TooFewBirths(interval, held):
            one = f"there was one sample for every {format_bytes(interval)} allocated"
            if held:
                return f"of what it gained too little was sampled; {one}"
            return f"no line leaves as much behind; {one}"
        case TooFewCounts(counted, generations):
            return (
                f"no generation was traced: max_overhead allowed object counts in only {counted} "
                f"of the {generations} generations before the last one ended, too few to decide "
                "what to trace"
            )
        case _:
            return _SAID[why]
