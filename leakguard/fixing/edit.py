"""One proposed change of one file, and its unified diff."""

from __future__ import annotations

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """One file before and after a change.

    Attributes:
        template: the name of the template that made the change, such as ``bound``.
        title: what the change does, as an instruction.
        path: the file's path below the program's folder, with ``/``.
        before: the file's text without the change.
        after: the file's text with the change.
    """

    template: str
    title: str
    path: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff that ``git apply`` and ``patch -p1`` take."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True),
            f"a/{self.path}", f"b/{self.path}",
        )  # fmt: skip
        marked = (x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
        return "".join(marked)
