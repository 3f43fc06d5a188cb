"""Which holders are worth a proof: those that the run's gravest findings name."""

from __future__ import annotations

from leakguard.capture import heap
from leakguard.live.copier import is_traced
from leakguard.model import Proof, Run
from leakguard.model.finding import SEVERITY

# Each takes a copy and some seconds; findings after these are small change.
_MOST = 3


def proofs_of(run: Run) -> tuple[Proof, ...]:
    """Cut what the leading findings are held by, in copies, and return what came free."""
    holders = leading_holders(run)
    if is_traced():
        return tuple(
            Proof(held_by, refused="another tool traces this process") for held_by in holders
        )
    return tuple(heap.prove(held_by, retained) for held_by, retained in holders.items())


def leading_holders(run: Run) -> dict[str, int | None]:
    """Return the holders of the leading findings of a run that is over, with what they retain."""
    from leakguard.analysis import diagnose

    telling = (f for f in diagnose(run).findings if SEVERITY[f.verdict] >= SEVERITY["suspect"])
    held = {f.held_by: f.retained_bytes for f in telling if f.held_by}
    return dict(list(held.items())[:_MOST])
