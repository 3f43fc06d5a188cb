"""Shares out what a GPU gained among the holders of tensors that lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.defect import Defect
from leakguard.analysis.growth import Growth
from leakguard.analysis.tolerance import MAJORITY


def shared_out(
    defects: Sequence[Defect], filling: Sequence[Growth], rate: float
) -> list[Defect] | None:
    """Return the defects with what they gain on a GPU; None if holders do not keep most of it.

    ``filling`` are containers with a bound, which may keep it as well. ``rate`` is what the GPU
    gained, in bytes per generation.
    """
    gains = [_gain(defect.container or defect.lead, defect.lead) for defect in defects]
    kept = sum(gains) + sum(_gain(container, container) for container in filling)
    if kept < MAJORITY * rate:
        return None
    share = min(1.0, rate / kept)
    return [_with(defect, share * gain) for defect, gain in zip(defects, gains, strict=True)]


def _gain(container: Growth, lead: Growth) -> float:
    """Return the bytes per generation that new entries of a holder keep on devices."""
    holder = container.holder
    if holder is None or not holder.device_bytes or not holder.entries:
        return 0.0
    entries = lead.rate if lead.type == holder.element else container.rate
    return holder.device_bytes / holder.entries * max(entries or 0.0, 0.0)


def _with(defect: Defect, gain: float) -> Defect:
    """Return a defect with its gain on devices, unless its bytes have it, as of tensors."""
    known = defect.bytes_rate or 0.0
    return defect if known >= MAJORITY * gain else replace(defect, bytes_rate=known + gain)
