"""Reads a budget from its own TOML file, or from ``[tool.leakguard.budget]`` of a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakguard.analysis.budget_settings import budget_of
from leakguard.errors import UsageError
from leakguard.live.project_settings import leakguard_table, read_toml
from leakguard.model.budget import Budget

_PROJECT = Path("pyproject.toml")


def read_budget(path: Path | None) -> Budget:
    """Return the budget in ``path``; without a path, that of ./pyproject.toml.

    Without either, return the default budget, which only allows no leak.

    Raises:
        UsageError: the file cannot be read, or its content is no valid budget.
    """
    if path is None:
        settings = leakguard_table(_load(_PROJECT)).get("budget") if _PROJECT.is_file() else None
        return Budget() if settings is None else _budget(_PROJECT, settings)
    content = _load(path)
    settings = leakguard_table(content).get("budget")
    if settings is None:
        settings = content.get("budget", content)
    return _budget(path, settings)


def _budget(path: Path, settings: Any) -> Budget:
    if not isinstance(settings, Mapping):
        raise UsageError(f"{path}: budget is no table")
    try:
        return budget_of(settings)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _load(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise UsageError(f"cannot read the budget {path}: {error.strerror}") from error
    except RecursionError:
        raise UsageError(f"the budget {path} is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"the budget {path} is not TOML: {error}") from error
