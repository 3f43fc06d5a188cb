"""A training run that takes a second, for tests that care about what happens around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reference_trainer.config import Config

SETTINGS: dict[str, Any] = {
    "days": 200,
    "stocks": 6,
    "context_days": 20,
    "trading_days": 8,
    "settlement_days": 3,
    "validation_days": 40,
    "population_size": 6,
    "hidden": (8, 8),
    "batch_size": 8,
    "gradient_steps": 3,
    "buffer_capacity": 300,
    "buffer_ready": 60,
    "plot_every": 100,
}


def small_config(folder: Path, name: str = "run", **changes: Any) -> Config:
    """The configuration, with its output and its market below `folder`."""
    places = {"out": folder / name, "data_dir": folder / "data", "progress": False}
    return Config(**{**places, **SETTINGS, **changes})


def small_arguments() -> list[str]:
    """The same settings as words of a command line."""
    words = []
    for name, value in SETTINGS.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += ["--set", f"{name}={text}"]
    return words
