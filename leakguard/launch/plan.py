"""What ``leakguard run`` was asked for, on its way into the fresh interpreter."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from leakguard.launch.target import Target

#: What the interpreter takes a program for: a path or ``-``, the name after ``-m``, the text after
#: ``-c``.
Form = Literal["path", "module", "command"]
#: The path that stands for standard input.
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Plan:
    """A program, how to watch it, and where the run is written.

    Targets are texts such as ``trainer:Trainer.evaluate``; ``every`` is how many steps make a
    generation, None to find out.
    """

    program: str
    form: Form = "path"
    phases: tuple[str, ...] = ()
    watches: tuple[str, ...] = ()
    generation: str | None = None
    every: int | None = None
    out: str | None = None
    log: str | None = None

    def to_json(self) -> str:
        """Return it as one argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read it back."""
        values: dict[str, Any] = json.loads(text)
        known = {field.name for field in fields(cls)}
        lists = {name: tuple(values[name]) for name in ("phases", "watches")}
        return cls(**{k: v for k, v in values.items() if k in known} | lists)

    def targets(self) -> tuple[Target, ...]:
        """Return what is to be found in the program, all of them.

        Raises:
            UsageError: one is no dotted name.
        """
        named = (*self.phases, *self.watches, *([self.generation] if self.generation else ()))
        return tuple(map(Target.parse, named))
