"""Cells of a notebook: which file names stand for one, and which cell that is."""

from __future__ import annotations

import sys
from typing import Any


def cell_of(file: str) -> str | None:
    """Return ``In[3]`` for the made up file of a cell that ran; None for any other file.

    IPython is asked where the program has it; it compiles each cell under a name of its own.
    """
    module: Any = sys.modules.get("IPython.core.interactiveshell")
    if module is None:
        return None
    try:
        shell = module.InteractiveShell._instance
        told = None if shell is None else shell.compile.format_code_name(file)
        return None if told is None else str(told[1])
    except Exception:  # another shell, or another IPython
        return None
