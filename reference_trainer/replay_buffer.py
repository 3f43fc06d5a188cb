"""A ring of transitions that stores what cannot be rebuilt, and nothing else.

Episodes are stored as runs of rows, one row a state. The next state of a row is the row
after it, so no state is stored twice, and a trading state is a day index into the shared panel
plus the portfolio: 144 bytes with sixteen positions, where the windows would take megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reference_trainer.state_storage import StateStorage, touched

#: Flags of a row: the step taken there ended the task; no step was taken there.
TERMINATED, LAST = 1, 2
#: Observations that are read at once.
OBSERVATIONS_AT_ONCE = 256


@dataclass(frozen=True)
class Batch:
    """Transitions for P agents, B each; the tensors are reused by the next sample.

    `observation` and `next_observation` `[P, B, O]`, `action` `[P, B, A]`, `reward` (scaled) and
    `discount` (gamma, or 0 after termination) `[P, B]`.
    """

    observation: Tensor
    action: Tensor
    reward: Tensor
    next_observation: Tensor
    discount: Tensor

    def split(self, parts: int) -> Iterator[Batch]:
        """The batch in `parts` smaller ones along B."""
        fields = (self.observation, self.action, self.reward, self.next_observation, self.discount)
        for chunk in zip(*(field.chunk(parts, dim=1) for field in fields), strict=True):
            yield Batch(*chunk)


class Step(NamedTuple):
    """An action, what it earned, and the state it led to."""

    action: np.ndarray
    reward: float
    terminated: bool
    observation: np.ndarray
    info: Mapping[str, Any]


class ReplayBuffer:
    """The newest `capacity` transitions of all agents.

    `len(buffer)` counts transitions that can be sampled. Rows are a little more: each episode
    ends in one state from which no step was taken.
    """

    def __init__(
        self,
        capacity: int,
        storage: StateStorage,
        rows: int,
        *,
        gamma: float,
        reward_scale: float = 1.0,
    ) -> None:
        self.capacity, self.storage, self.rows = capacity, storage, rows
        self.gamma, self.reward_scale = gamma, reward_scale
        self.columns: dict[str, np.ndarray] = {
            **storage.columns,
            "reward": touched((rows,), np.float32),
            "flags": touched((rows,), np.uint8),
        }
        self._row_of = touched((capacity,), np.int32)
        self.rows_written = 0
        self.transitions_written = 0
        self._oldest = 0
        self._batches: dict[tuple[int, int], tuple[Batch, tuple[np.ndarray, ...]]] = {}

    def __len__(self) -> int:
        return self.transitions_written - self._oldest

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self.columns.values()) + self._row_of.nbytes

    @property
    def bytes_per_transition(self) -> float:
        """Bytes of one row of every column, and of its place in the ring."""
        row = sum(column.nbytes for column in self.columns.values()) / self.rows
        return row + self._row_of.itemsize

    def begin(self, observation: np.ndarray, info: Mapping[str, Any]) -> None:
        """Start an episode with its first state."""
        self._write_state(observation, info)

    def add(self, step: Step) -> None:
        """Add the step that was taken from the last state, and the state it led to."""
        if not self.rows_written:
            raise RuntimeError("begin() an episode before adding steps to it")
        row = (self.rows_written - 1) % self.rows
        self.storage.write_action(row, step.action)
        self.columns["reward"][row] = step.reward
        self.columns["flags"][row] = TERMINATED if step.terminated else 0
        self._row_of[self.transitions_written % self.capacity] = row
        self.transitions_written += 1
        self._write_state(step.observation, step.info)
        self._oldest = max(self._oldest, self.transitions_written - self.capacity)

    def blank_batch(self, agents: int, size: int) -> Batch:
        """The batch in whose memory `sample` will write, of zeros before it has."""
        return self._room(agents, size)[0]

    def sample(
        self, agents: int, size: int, rng: np.random.Generator, *, newest: int | None = None
    ) -> Batch:
        """Uniform transitions, `size` for each of `agents`; valid until the next sample.

        With `newest` they are of the last so many only.
        """
        if not len(self):
            raise ValueError("cannot sample from an empty replay buffer")
        oldest = self.transitions_written - min(newest or len(self), len(self))
        chosen = rng.integers(oldest, self.transitions_written, agents * size)
        rows = self._row_of[chosen % self.capacity].astype(np.int64)
        batch, (observation, action, reward, following, discount) = self._room(agents, size)
        self.storage.read_states(rows, observation)
        self.storage.read_actions(rows, action)
        self.storage.read_states((rows + 1) % self.rows, following)
        np.multiply(self.columns["reward"][rows], np.float32(self.reward_scale), out=reward)
        goes_on = self.columns["flags"][rows] != TERMINATED
        np.multiply(goes_on, np.float32(self.gamma), out=discount)
        return batch

    def newest_observations(self, count: int) -> Iterator[np.ndarray]:
        """The observations `[B, O]` of the last `count` transitions, as far as they are kept.

        In pieces of `OBSERVATIONS_AT_ONCE` or fewer; each is valid until the next one.
        """
        _, (room, *_) = self._room(1, OBSERVATIONS_AT_ONCE)
        end = self.transitions_written
        for begin in range(end - min(count, len(self)), end, OBSERVATIONS_AT_ONCE):
            newest = np.arange(begin, min(begin + OBSERVATIONS_AT_ONCE, end)) % self.capacity
            piece = room[: len(newest)]
            self.storage.read_states(self._row_of[newest].astype(np.int64), piece)
            yield piece

    def state(self) -> dict[str, int]:
        """The counters that go with the columns into a checkpoint."""
        return {
            "rows_written": self.rows_written,
            "transitions_written": self.transitions_written,
            "oldest": self._oldest,
        }

    def restore(self, state: Mapping[str, int]) -> None:
        """Take over counters after the columns were filled, and find the transitions again."""
        self.rows_written = state["rows_written"]
        self.transitions_written = state["transitions_written"]
        self._oldest = state["oldest"]
        rows = np.arange(max(0, self.rows_written - self.rows), self.rows_written) % self.rows
        rows = rows[self.columns["flags"][rows] != LAST][-self.capacity :]
        newest = np.arange(self.transitions_written - len(rows), self.transitions_written)
        self._row_of[newest % self.capacity] = rows

    def _write_state(self, observation: np.ndarray, info: Mapping[str, Any]) -> None:
        row = self.rows_written % self.rows
        self._forget_row(row)
        self.storage.write_state(row, observation, info)
        self.columns["flags"][row] = LAST  # until a step is taken there
        self.rows_written += 1

    def _forget_row(self, row: int) -> None:
        """Drop the oldest transition when its row is written over now."""
        if len(self) and self.rows_written >= self.rows:
            self._oldest += int(self._row_of[self._oldest % self.capacity]) == row

    def _room(self, agents: int, size: int) -> tuple[Batch, tuple[np.ndarray, ...]]:
        """A batch, and its fields one row a transition: the same memory each time."""
        key = (agents, size)
        if key not in self._batches:
            states, actions = self.storage.observation_size, self.storage.action_size
            widths = ((states,), (actions,), (), (states,), ())
            fields = tuple(touched((agents * size, *width), np.float32) for width in widths)
            batch = Batch(
                *(
                    torch.from_numpy(field).view(agents, size, *width)
                    for field, width in zip(fields, widths, strict=True)
                )
            )
            self._batches[key] = batch, fields
        return self._batches[key]
