"""Pictures of a run, all drawn on one figure. No pyplot: its registry keeps every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Plotter:
    """One figure and one canvas for all pictures: a run's plots allocate nothing that stays."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(8, 4.5), layout="constrained")
        self.canvas = FigureCanvasAgg(self.figure)

    def fitness(self, history: Sequence[Mapping[str, Any]], target: Path | IO[bytes]) -> None:
        """Mean fitness with its spread, the best of each generation, and the validation score."""
        history = [record for record in history if record["fitness_mean"] is not None]
        axes = self._axes("Fitness", "generation", "episode reward")
        generation = [record["generation"] for record in history]
        mean = np.array([record["fitness_mean"] for record in history])
        spread = np.array([record["fitness_std"] for record in history])
        axes.fill_between(generation, mean - spread, mean + spread, alpha=0.25, label="one std")
        axes.plot(generation, mean, label="mean of the population")
        axes.plot(generation, [record["fitness_max"] for record in history], label="best")
        validated = [r for r in history if r.get("validation") is not None]
        axes.plot(
            [r["generation"] for r in validated],
            [r["validation"] for r in validated],
            "o",
            label="best agent, validation",
        )
        self._save(axes, target)

    def equity(self, curves: Mapping[str, np.ndarray], target: Path | IO[bytes]) -> None:
        """Equity over one validation episode, the best agent beside the baselines."""
        axes = self._axes("Validation episode", "day", "equity")
        for name, curve in curves.items():
            axes.plot(curve, label=name, linewidth=2.5 if name == "best agent" else 1.0)
        self._save(axes, target)

    def memory(self, series: Mapping[str, Sequence[float]], target: Path | IO[bytes]) -> None:
        """Resident memory in MB after each phase, one line a phase, one point a generation."""
        axes = self._axes("Memory by phase", "generation", "RSS, MB")
        for phase, values in series.items():
            axes.plot(range(1, len(values) + 1), values, label=phase)
        self._save(axes, target)

    def _axes(self, title: str, x: str, y: str) -> Any:
        self.figure.clear()
        axes = self.figure.subplots()
        axes.set(title=title, xlabel=x, ylabel=y)
        return axes

    def _save(self, axes: Any, target: Path | IO[bytes]) -> None:
        """Write a PNG, complete or not at all."""
        axes.legend()
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
            staging = target.with_name(f".{target.name}")
            self.canvas.print_figure(staging, format="png")
            staging.replace(target)
        else:
            self.canvas.print_figure(target, format="png")
        self.figure.clear()
