"""What pytest itself keeps of a running test."""

from __future__ import annotations

import logging


def forget_captured_records() -> None:
    """Clear the log records that pytest captured: it keeps them, and all that they refer to."""
    for handler in logging.getLogger().handlers:
        clear = getattr(handler, "clear", None)
        if type(handler).__module__ == "_pytest.logging" and callable(clear):
            clear()
