"""How the states and actions of the replay buffer's rows are kept: vectors, or trading indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from reference_trainer.environment import largest, write_observations
from reference_trainer.observation import MarketView


class StateStorage(Protocol):
    """Keeps the states and actions of the ring's rows in its own columns."""

    columns: dict[str, np.ndarray]
    observation_size: int
    action_size: int

    def write_state(self, row: int, observation: np.ndarray, info: Mapping[str, Any]) -> None: ...
    def write_action(self, row: int, action: np.ndarray) -> None: ...
    def read_states(self, rows: np.ndarray, out: np.ndarray) -> None: ...
    def read_actions(self, rows: np.ndarray, out: np.ndarray) -> None: ...


class VectorStates:
    """Any Gymnasium task: observations and actions as float32 vectors."""

    def __init__(self, rows: int, observation_size: int, action_size: int) -> None:
        self.observation_size, self.action_size = observation_size, action_size
        self.columns = {
            "observation": touched((rows, observation_size), np.float32),
            "action": touched((rows, action_size), np.float32),
        }

    def write_state(self, row: int, observation: np.ndarray, info: Mapping[str, Any]) -> None:
        """Copy the observation."""
        self.columns["observation"][row] = observation

    def write_action(self, row: int, action: np.ndarray) -> None:
        """Copy the action."""
        self.columns["action"][row] = action

    def read_states(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Observations `[n, O]`."""
        np.take(self.columns["observation"], rows, axis=0, out=out)

    def read_actions(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Actions `[n, A]`."""
        np.take(self.columns["action"], rows, axis=0, out=out)


class _PanelStates:
    """Trading states: the day, the clock, and a portfolio in one of two layouts."""

    def __init__(self, rows: int, view: MarketView, stocks: int) -> None:
        self.view, self.stocks = view, stocks
        self.observation_size = view.size + stocks + 2
        self.action_size = stocks
        self.columns = {
            "day": touched((rows,), np.int16),
            "progress": touched((rows, 2), np.int16),
            "settling": touched((rows,), np.uint8),
        }

    def write_state(self, row: int, observation: np.ndarray, info: Mapping[str, Any]) -> None:
        """Store where the environment stands; the observation itself is not needed."""
        self.columns["day"][row] = info["day"]
        self.columns["progress"][row] = info["progress"]
        self.columns["settling"][row] = info["settling"]
        self._write_vector("weights", row, info["weights"], 0.0)

    def write_action(self, row: int, action: np.ndarray) -> None:
        """Store the appetites as float16."""
        self._write_vector("action", row, action, -1.0)

    def read_states(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Rebuild the observations `[n, O]` from the panel."""
        write_observations(
            self.view,
            self.columns["day"][rows].astype(np.int64),
            self._read_vectors("weights", rows, 0.0),
            self.columns["progress"][rows],
            self.columns["settling"][rows],
            out,
        )

    def read_actions(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Actions `[n, stocks]`."""
        out[...] = self._read_vectors("action", rows, -1.0)

    def _write_vector(self, name: str, row: int, values: np.ndarray, rest: float) -> None:
        raise NotImplementedError

    def _read_vectors(self, name: str, rows: np.ndarray, rest: float) -> np.ndarray:
        raise NotImplementedError


class DensePanelStates(_PanelStates):
    """Every weight and appetite as float16: 2.7 kB a transition at 669 stocks."""

    def __init__(self, rows: int, view: MarketView, stocks: int) -> None:
        super().__init__(rows, view, stocks)
        self.columns["weights"] = touched((rows, stocks), np.float16)
        self.columns["action"] = touched((rows, stocks), np.float16)

    def _write_vector(self, name: str, row: int, values: np.ndarray, rest: float) -> None:
        self.columns[name][row] = values

    def _read_vectors(self, name: str, rows: np.ndarray, rest: float) -> np.ndarray:
        return self.columns[name][rows]


class SparsePanelStates(_PanelStates):
    """At most `slots` positions and orders as (stock, float16) pairs: 144 bytes at sixteen."""

    def __init__(self, rows: int, view: MarketView, stocks: int, slots: int) -> None:
        super().__init__(rows, view, stocks)
        self.slots = slots
        for name in ("weights", "action"):
            self.columns[f"{name}_stock"] = touched((rows, slots), np.int16)
            self.columns[f"{name}_value"] = touched((rows, slots), np.float16)

    def _write_vector(self, name: str, row: int, values: np.ndarray, rest: float) -> None:
        chosen = np.flatnonzero(values > rest)
        if len(chosen) > self.slots:
            chosen = chosen[largest(values[chosen], self.slots)]
        self.columns[f"{name}_stock"][row] = -1
        self.columns[f"{name}_stock"][row, : len(chosen)] = chosen
        self.columns[f"{name}_value"][row, : len(chosen)] = values[chosen]

    def _read_vectors(self, name: str, rows: np.ndarray, rest: float) -> np.ndarray:
        stock = self.columns[f"{name}_stock"][rows]
        vectors = np.full((len(rows), self.stocks), rest, dtype=np.float16)
        line, slot = np.nonzero(stock >= 0)
        vectors[line, stock[line, slot]] = self.columns[f"{name}_value"][rows[line], slot]
        return vectors


def touched(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros whose pages are written, so that the memory is charged at the start."""
    array = np.empty(shape, dtype=dtype)
    array.fill(0)
    return array
