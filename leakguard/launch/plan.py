"""What the user asked ``leakguard run`` for, in a form to pass to the fresh interpreter."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from leakguard.launch.target import Target

#: How the program is given: as a path or ``-``, as the name after ``-m``, or as the text after
#: ``-c``.
Form = Literal["path", "module", "command"]
#: The path that denotes standard input.
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Plan:
    """A program, how to watch it, and where the run is written.

    Targets are texts such as ``trainer:Trainer.evaluate``. ``every`` is the number of steps in a
    generation, or None to choose it automatically.
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
        """Return the plan as one argument of a command line."""
        return json.dumps(asdict(self))

    def as_for_python(self) -> tuple[str, ...]:
        """Return the arguments by which ``python`` runs the program, without its own."""
        options: dict[Form, tuple[str, ...]] = {"path": (), "module": ("-m",), "command": ("-c",)}
        return (*options[self.form], self.program)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan from the text of ``to_json``."""
        values: dict[str, Any] = json.loads(text)
        known = {field.name for field in fields(cls)}
        lists = {name: tuple(values[name]) for name in ("phases", "watches")}
        return cls(**{k: v for k, v in values.items() if k in known} | lists)

    def targets(self) -> tuple[Target, ...]:
        """Return all targets that must be found in the program.

        Raises:
            UsageError: a text is not a dotted name.
        """
        named = (*self.phases, *self.watches, *([self.generation] if self.generation else ()))
        return tuple(map(Target.parse, named))
