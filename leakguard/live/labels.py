"""Names and labels as users give them, in a form that every file and screen can take."""

from __future__ import annotations

_LONGEST = 200  # characters: a label is a heading, and is written down with every snapshot


def plain_text(text: object) -> str:
    """Return a label in one line of at most 200 characters, whatever was given for it."""
    if type(text) is not str:
        try:
            text = f"{text}"
        except Exception:
            text = type(text).__name__
    if not text.isprintable():
        text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
