"""A finding that a project accepts until a date, and why."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that does not fail a check until a date has passed.

    Attributes:
        fingerprint: the fingerprint of the finding, as a report prints it.
        reason: why the finding is accepted, in the words of the project.
        until: the last day on which the finding is accepted.
    """

    fingerprint: str
    reason: str
    until: datetime.date

    def holds(self, today: datetime.date) -> bool:
        """Return whether the finding is still accepted."""
        return today <= self.until
