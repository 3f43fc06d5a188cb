"""Whole documents kept beside the tests; LEAKGUARD_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden" / "render"


def assert_same(document: str, name: str) -> None:
    """Compare a document with the kept one, line by line and whole."""
    path = FOLDER / name
    if os.environ.get("LEAKGUARD_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document, encoding="utf-8")
    assert document.splitlines() == path.read_text(encoding="utf-8").splitlines()
