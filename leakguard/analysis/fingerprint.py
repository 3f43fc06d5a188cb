"""Names for defects that stay the same from run to run."""

from __future__ import annotations

import hashlib


def fingerprint(*parts: str | None) -> str:
    """Return twelve hex digits that depend on ``parts`` only; addresses must not be in them."""
    text = "\n".join(part or "" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
