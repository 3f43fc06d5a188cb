"""Pictures of a run. No pyplot: a figure belongs to its function and dies with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def plot_fitness(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Mean fitness with its spread, the best of each generation, and the validation score."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
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
    axes.set(xlabel="generation", ylabel="episode reward", title="Fitness")
    axes.legend()
    save(figure, path)


def plot_equity(curves: Mapping[str, np.ndarray], path: Path) -> None:
    """Equity over one validation episode, the best agent beside the baselines."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, curve in curves.items():
        axes.plot(curve, label=name, linewidth=2.5 if name == "best agent" else 1.0)
    axes.set(xlabel="day", ylabel="equity", title="Validation episode")
    axes.legend()
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write the figure as a picture, complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}")
    FigureCanvasAgg(figure).print_figure(staging, format="png")
    staging.replace(path)
