"""Shares out what a GPU gained among the holders of tensors that lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.defect import Defect
from leakguard.analysis.growth import Growth
from leakguard.analysis.tolerance import MAJORITY

# Kinds of defects whose bytes have those of tensors on devices in them.
_OF_TENSORS = ("tensors", "autograd")


def shared_out(
    defects: Sequence[Defect], filling: Sequence[Growth], growth: Growth
) -> list[Defect] | None:
    """Return the defects with what they gain on a GPU; None if they do not keep most of it.

    ``growth`` is what the GPU gained. ``filling`` are containers with a bound, which may keep it
    as well.
    """
    rate = growth.rate or 0.0
    gains = [_gain(defect) for defect in defects]
    kept = sum(gains) + sum(_on_devices(container, container) for container in filling)
    if kept < MAJORITY * rate:
        return None
    most = min(1.0, rate / kept) if kept else 0.0
    return [
        _with(defect, most * gain, growth.main_phase if gain >= MAJORITY * rate else None)
        for defect, gain in zip(defects, gains, strict=True)
    ]


def _gain(defect: Defect) -> float:
    on_devices = _on_devices(defect.container or defect.lead, defect.lead)
    return on_devices or (defect.bytes_rate or 0.0 if defect.kind in _OF_TENSORS else 0.0)


def _on_devices(container: Growth, lead: Growth) -> float:
    """Return the bytes per generation that new entries of a holder keep on devices."""
    holder = container.holder
    if holder is None or not holder.device_bytes or not holder.entries:
        return 0.0
    entries = lead.rate if lead.type == holder.element else container.rate
    return holder.device_bytes / holder.entries * max(entries or 0.0, 0.0)


def _with(defect: Defect, gain: float, phase: str | None) -> Defect:
    """Return a defect with its gain on devices, and with the phase of most of that if it has none.

    The gain is not added to bytes that have it, as those of tensors do.
    """
    known = defect.bytes_rate or 0.0
    size = known if known >= MAJORITY * gain else known + gain
    return replace(defect, bytes_rate=size or defect.bytes_rate, phase=defect.phase or phase)
