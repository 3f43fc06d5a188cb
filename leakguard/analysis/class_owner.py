"""Who owns a class: the watched program or a library."""

from __future__ import annotations

import sys

_FRAMEWORKS = frozenset({"numpy", "torch", "gymnasium", "pandas", "scipy", "tqdm", "matplotlib"})


def is_users(type_name: str) -> bool:
    """Return True for a class of the watched program: not builtin, standard or a framework's."""
    root, dot, _ = type_name.partition(".")
    standard = sys.stdlib_module_names - {"__main__"}
    return bool(dot) and root not in standard and root not in _FRAMEWORKS
