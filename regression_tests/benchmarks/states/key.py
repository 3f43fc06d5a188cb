"""What each state holds by construction, and what is to rank first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """Memory that may go: the kind and a word of its entry, and its bytes by construction."""

    kind: str
    word: str
    bytes: int


@dataclass(frozen=True)
class State:
    """A program, what it holds in the order of the ranking; ``clean`` if nothing may go."""

    program: str
    planted: tuple[Planted, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing may go."""
        return not self.planted


_MB = 1_000_000
STATES = (
    State("last_exception", (Planted("exception", "last exception", 40 * _MB),)),
    State("notebook_exception", (Planted("exception", "last exception", 40 * _MB),)),
    State("outputs", (Planted("output", "Out", 65 * _MB),)),
    State("figures", (Planted("figures", "figures", 80 * _MB),)),
    State("lru_cache", (Planted("cache", "features", 80 * _MB),)),
    State("copies", (Planted("duplicates", "per_worker", 90 * _MB),)),
    State("named_copies", (Planted("duplicates", "backup", 60 * _MB),)),
    State("slice", (Planted("view", "head", 80 * _MB),)),
    State("slices", (Planted("view", "reader.heads", 96 * _MB),)),
    State("storage", (Planted("view", "last", 80 * _MB),)),
    State("storages", (Planted("view", "kept", 80 * _MB),)),
    State("losses", (Planted("graph", "losses", 80 * _MB),)),
    State("records", (Planted("variable", "records", 0),)),
    State("saved_error", (Planted("exception", "saved", 40 * _MB),)),
    State("saved_errors", (Planted("exception", "errors", 48 * _MB),)),
    State("prefetch", (Planted("variable", "loader", 80 * _MB),)),
    State(
        "mixed",
        (
            Planted("exception", "last exception", 32 * _MB),
            Planted("output", "Out", 24 * _MB),
            Planted("figures", "figures", 40 * _MB),
        ),
    ),
    State("trained_model"),
    State("data_in_use"),
)
