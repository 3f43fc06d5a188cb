"""Command lines that complain in one line."""

from __future__ import annotations

import sys
from typing import Any

import click

from reference_trainer.errors import TrainerError

UNUSABLE = 2


class OneLineErrors(click.Command):
    """A command whose errors are one line on stderr and exit status 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run like any click command, but without the usage text before an error."""
        try:
            result = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as problem:
            _complain(problem.format_message())
        except TrainerError as problem:
            _complain(str(problem))
        except click.Abort:
            sys.exit(130)
        sys.exit(result if isinstance(result, int) else 0)


class OneLineGroup(OneLineErrors, click.Group):
    """The same for a command with subcommands."""


def _complain(message: str) -> None:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    sys.exit(UNUSABLE)
