"""Looks at who holds what only once a budget seems broken: most tests need no deep look."""

from __future__ import annotations

from collections.abc import Mapping

from leakguard.live.suspicion import Suspicion
from leakguard.model import TypeCount


class Patience(Suspicion):
    """Follows the counts like any suspicion, and keeps it to itself until it is ``over``."""

    def __init__(self, *, over: bool) -> None:
        super().__init__()
        self.over = over

    def note(self, types: Mapping[str, TypeCount]) -> bool:
        """Take the census of a generation's end; suspicious only when patience is over."""
        return super().note(types) and self.over
