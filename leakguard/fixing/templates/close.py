"""Closes what is opened once per round, when the function that opens it is done."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source
from leakguard.fixing.templates.lasting import ended

# How an object of a type is closed; by the end of the type's or the called function's name.
_ENDS = {
    "TextIOWrapper": "{}.close()", "BufferedReader": "{}.close()", "BufferedWriter": "{}.close()",
    "FileIO": "{}.close()", "open": "{}.close()", "socket": "{}.close()", "memmap": "",
    "create_connection": "{}.close()", "Connection": "{}.close()", "connect": "{}.close()",
    "SummaryWriter": "{}.close()", "Pool": "{0}.terminate()\n{0}.join()",
    "ThreadPoolExecutor": "{}.shutdown()", "ProcessPoolExecutor": "{}.shutdown()",
    "TemporaryFile": "{}.close()", "NamedTemporaryFile": "{}.close()", "fdopen": "{}.close()",
    "FileHandler": "{}.close()", "ZipFile": "{}.close()", "Popen": "{}.communicate()",
    "mkdtemp": "", "SpooledTemporaryFile": "{}.close()", "make": "{}.close()",
}  # fmt: skip


def close(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Close in ``finally`` what a line of the finding assigns to a variable."""
    for line in clue.lines:
        statement = source.statement_at(line.number)
        if statement is None or not source.path.endswith(line.file.rpartition("/")[2]):
            continue
        part = statement.body[0]
        if not isinstance(part, cst.Assign) or not isinstance(part.value, cst.Call):
            continue
        target = part.targets[0].target
        called = source.code(part.value.func).rpartition(".")[2]
        end = _ENDS.get(called, "")
        if end and isinstance(target, cst.Name):
            after = ended(source, statement, [statement], end.format(target.value))
            if after is not None:
                yield f"close {target.value} when {line.function} is done with it", after
