"""The looks of a run as they are written down; one may be under way in a copy of the process."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.live.look import Look, Looker, LookInCopy
from leakguard.live.scribe import Scribe, SnapshotDraft
from leakguard.live.traced_generation import TracedGeneration

# Seconds to wait for a look in a copy where the run ends or the user asks; then it is ended.
_COPY_PATIENCE = 10.0


@dataclass(slots=True)
class TakenLooks:
    """Writes what was looked at, now or when it has arrived from a copy.

    ``seen`` says whether what the program did last has been looked at, as deep as it calls for.
    """

    looker: Looker
    scribe: Scribe
    traced: TracedGeneration
    seen: bool = True
    under_way: LookInCopy | None = None

    def write(self, draft: SnapshotDraft, look: Look, round_: int | None) -> None:
        """Write a snapshot; ``round_`` counts the generations from 0."""
        self.seen = self._is_whole(look) or look.under_way is not None
        self.scribe.write(draft, look, round_)
        self.under_way = look.under_way or self.under_way

    def settle(self, *, wait: bool = False) -> None:
        """Write down the look in a copy that is under way, if it has arrived; ``wait`` for it."""
        if self.under_way is None:
            self.scribe.release()
            return
        look = self.looker.arrived(self.under_way)
        if look is None and wait:
            look = self.looker.awaited(self.under_way, _COPY_PATIENCE)
        if look is not None:
            self.under_way = None
            self.seen = self.seen and self._is_whole(look)
            self.scribe.complete(look)
            self.traced.choose(look)

    def _is_whole(self, look: Look) -> bool:
        return look.seen.census is not None and not self.looker.owing
