"""Decides whether a class belongs to the watched program or to a library."""

from __future__ import annotations

import sys

_FRAMEWORKS = frozenset({"numpy", "torch", "gymnasium", "pandas", "scipy", "tqdm", "matplotlib"})


def is_users(type_name: str) -> bool:
    """Return True for a class that is not builtin, of the standard library, or of a framework."""
    root, dot, _ = type_name.partition(".")
    standard = sys.stdlib_module_names - {"__main__"}
    return bool(dot) and root not in standard and root not in _FRAMEWORKS
