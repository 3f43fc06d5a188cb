"""Why a series of numbers grows, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leakguard.analysis.facts.reason import Reason
from leakguard.model.units import format_bytes, format_number

_PLAIN = {
    "wandering": "random drift",
    "step": "a single step",
    "two steps": "two steps",
    "fill": "a buffer that is full",
    "saturation": "a warm-up or a cache that saturates",
}


def why_it_grows(reason: Sequence[Reason], unit: str) -> str:
    """Return the reason of a verdict of growth in words, its sizes in the series' unit."""
    size = format_bytes if unit == "bytes" else format_number
    told: list[str] = []
    for why in reason:
        if why.seen == "staircase":  # the steps of steps are told as one
            told = [part for part in told if "steps" not in part]
        told.append(_part(why, size))
    return "".join(told)


def _part(why: Reason, size: Callable[[float], str]) -> str:
    sizes, counts = list(map(size, why.sizes)), why.counts
    match why.seen:
        case "exact line" | "line":
            rate, low, high = sizes
            about = "exactly" if why.seen == "exact line" else "about"
            return (
                f"it grew by {about} {rate} per generation over {counts[0]} steps, from generation "
                f"{counts[1]} on ({low} to {high}), with no sign of slowing down; "
                f"{_PLAIN[why.than or 'wandering']} is the best benign explanation, and it fits "
                "worse"
            )
        case "ever faster":
            return f"it grew faster and faster for {counts[0]} samples, by {sizes[0]} in the last"
        case "even rises":
            return f"it grew by {sizes[0]} at every {counts[0]:g} generations, {counts[1]} times"
        case "after set-up":
            return f"after a change of {sizes[0]} in the first {counts[0]} samples, "
        case "after teeth":
            return f"{_fell(counts)}; since generation {counts[2]:g} "
        case "floors of teeth":
            return f"{_fell(counts)}, and of its floors "
        case "beside jumps":
            return f"beside a jump of {' and one of '.join(sizes)} "
        case "staircase":
            return f"it rises in {counts[0]} steps, and of these "


def _fell(counts: Sequence[float]) -> str:
    return f"it fell back {counts[0]} times in {counts[1]} samples"
