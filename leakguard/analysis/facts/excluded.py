"""Other explanations of a growth that were tested and rejected."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from leakguard.analysis.facts.reason import Reason


class NotFilling(Struct, frozen=True):
    """A count neither fills up nor warms up; ``why`` is how its series shows it.

    ``like`` is the metric of live memory whose series shows it, if the count rises as that does.
    """

    why: tuple[Reason, ...]
    like: str | None = None


Excluded: TypeAlias = (
    NotFilling
    | Literal[
        "peak freed", "copies constant", "collector frees", "no holder", "not held free",
        "already freed",
    ]
)  # fmt: skip
