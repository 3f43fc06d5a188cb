"""What to change, for the object and the place that were found."""

from __future__ import annotations

from leakguard.analysis.place import place_of
from leakguard.model import Holder

_BY_NAME = (
    (
        ("environment", "env"),
        "make each environment once and re-aim it with reset(); drop every list that collects them",
    ),
    (
        ("agent", "model", "network", "policy", "actor", "critic"),
        "drop the last reference to what was replaced, or copy the weights into the old object "
        "(load_state_dict copies already)",
    ),
)

_TENSOR = (
    "store numbers, not tensors: loss.item(), or tensor.detach() when the values are needed; a "
    "tensor with a grad_fn keeps its whole graph alive"
)
_ARRAY = (
    "clear what collects these arrays when its summary is made, or bound it (deque(maxlen=...))"
)
_ANY = "find what appends them and never removes; clear it each generation, or bound it"


def advice(type_name: str, holder: Holder | None = None) -> str:
    """Return the fix that fits objects of a type and what holds them, in the imperative."""
    short = type_name.rsplit(".", 1)[-1].lower()
    where = f" ({holder.path})" if holder else ""
    if holder is not None and holder.graph_nodes:
        return _TENSOR + where
    place = None if holder is None else place_of(holder)
    if place is not None and holder is not None:
        return place.fix.format(path=holder.path)
    if type_name.startswith("torch."):
        return _TENSOR + where
    for endings, text in _BY_NAME:
        if short.endswith(endings):
            return text + where
    if holder is not None:
        return (
            f"{holder.path} only grows: clear it each generation, or bound it, for example "
            "with deque(maxlen=...)"
        )
    return _ARRAY if type_name == "numpy.ndarray" else _ANY
