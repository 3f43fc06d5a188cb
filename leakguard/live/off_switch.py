"""``LEAKGUARD=off``: asked before anything else of the guard is imported."""

from __future__ import annotations

import os


def is_switched_off() -> bool:
    """Return whether ``LEAKGUARD=off`` (or 0, no, false) in the environment switches guards off."""
    return os.environ.get("LEAKGUARD", "").strip().lower() in ("off", "0", "no", "false")
