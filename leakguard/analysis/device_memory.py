"""Shares out what a GPU gained among the holders of tensors that lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Growth
from leakguard.analysis.holders import holder_of_device
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import MAJORITY

# Kinds of rows whose bytes have those of tensors on devices in them.
_OF_TENSORS = ("tensors", "autograd")


def shared_out(
    case: Case, rows: Sequence[LedgerRow], filling: Sequence[Growth], growth: Growth
) -> list[LedgerRow]:
    """Return the rows with what they gain on a GPU; one more if they do not keep most of it.

    ``growth`` is what the GPU gained. ``filling`` are containers with a bound, which may keep it
    as well.
    """
    holder = holder_of_device(case, growth)
    known = _shared_out([_held(row, holder) for row in rows], filling, growth)
    if known is not None:
        return known
    phase = growth.phase
    return [*rows, LedgerRow(growth, (), holder, phase, bytes_rate=growth.bytes_rate)]


def _held(row: LedgerRow, holder: Growth | None) -> LedgerRow:
    """Return a row of tensors with the holder on the GPU if it has none."""
    is_free = row.held_by is None and row.kind in _OF_TENSORS
    return replace(row, container=holder) if is_free else row


def _shared_out(
    rows: Sequence[LedgerRow], filling: Sequence[Growth], growth: Growth
) -> list[LedgerRow] | None:
    """Return the rows with what they gain on a GPU; None if they do not keep most of it."""
    rate = growth.rate or 0.0
    gains = [_gain(row) for row in rows]
    kept = sum(gains) + sum(container.on_devices(container.rate) for container in filling)
    if kept < MAJORITY * rate:
        return None
    most = min(1.0, rate / kept) if kept else 0.0
    return [
        _with(row, most * gain, growth.phase if gain >= MAJORITY * rate else None)
        for row, gain in zip(rows, gains, strict=True)
    ]


def _gain(row: LedgerRow) -> float:
    container, lead = row.container or row.lead, row.lead
    are_leads = container.holder is not None and lead.type == container.holder.element
    on_devices = container.on_devices(lead.rate if are_leads else container.rate)
    # What a holder has on devices was measured; of what nobody holds it is not known.
    unknown = row.held_by is None and row.kind in _OF_TENSORS
    return on_devices or (row.bytes_rate or 0.0 if unknown else 0.0)


def _with(row: LedgerRow, gain: float, phase: str | None) -> LedgerRow:
    """Return a row with its gain on devices, and with the phase of most of that if it has none.

    The gain is not added to bytes that have it, as those of tensors do.
    """
    known = row.bytes_rate or 0.0
    size = known if known >= MAJORITY * gain else known + gain
    return replace(row, bytes_rate=size or row.bytes_rate, phase=row.phase or phase)
