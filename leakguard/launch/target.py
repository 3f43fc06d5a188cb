"""Something in a program by its dotted name: a function, a method, a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from leakguard.errors import UsageError, shown

MAIN = "__main__"


@dataclass(frozen=True, slots=True)
class Target:
    """``module:Class.method``; without a module, it is in the script itself."""

    module: str
    path: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse ``trainer:Trainer.evaluate``, or ``evaluate`` for a function of the script.

        Raises:
            UsageError: the text is not a dotted name.
        """
        module, _, name = text.strip().rpartition(":")
        path = tuple(name.split("."))
        parts = (*(module or MAIN).split("."), *path)
        if not all(part.isidentifier() for part in parts):
            raise UsageError(f"{shown(text)} is no name; write module:Class.method")
        return cls(module or MAIN, path)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def name(self) -> str:
        """The dotted path inside of its module: ``Trainer.evaluate``."""
        return ".".join(self.path)

    def of(self, module: ModuleType) -> Any:
        """Return the object with this name.

        Raises:
            AttributeError: the module has no such object.
        """
        value: Any = module
        for part in self.path:
            value = getattr(value, part)
        return value

    def replace(self, module: ModuleType, change: Callable[[Any], Any]) -> None:
        """Replace the object by ``change(object)``; a staticmethod is passed as such.

        Raises:
            AttributeError: the module has no such object.
            TypeError: it is part of a class written in C, which cannot be changed.
        """
        owner: Any = module
        for part in self.path[:-1]:
            owner = getattr(owner, part)
        setattr(owner, self.path[-1], change(inspect.getattr_static(owner, self.path[-1])))
