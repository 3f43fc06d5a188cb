"""The command line, one file per command.

Only this package handles command-line paths, exit statuses and standard error.

Exit status: 0 fine; 1 for a verdict or a broken budget that the caller asked to fail on; 2 for
input or arguments that cannot be used, with one line on standard error.
"""

from __future__ import annotations

import importlib
import sys

import click

from leakguard import __version__
from leakguard.cli.output import close_quietly, complain
from leakguard.errors import LeakguardError

#: Each name is that of a module in this package and of the command function in that module.
COMMANDS = (
    "run", "attach", "detach", "report", "watch", "check", "diff", "bisect", "snapshot", "audit",
    "fleet", "fix", "reproduce", "explain", "manual", "mcp",
)  # fmt: skip

FINE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


class _Commands(click.Group):
    """Imports a command's module only when the command is called, so that others start faster."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"leakguard.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="leakguard")
@click.pass_context
def program(context: click.Context) -> None:
    """Find what leaks memory in a training loop: which phase, since when, who holds it, the fix."""
    if context.invoked_subcommand is None:
        raise click.UsageError("no command given; try 'leakguard report training.log' or --help")


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status; never raises, never prints a traceback."""
    try:
        status = program.main(args=argv, prog_name="leakguard", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        complain(error.format_message())
        return UNUSABLE
    except LeakguardError as error:
        complain(str(error))
        return UNUSABLE
    except ModuleNotFoundError as error:
        complain(f"{error.name} is not installed, and leakguard needs it; reinstall leakguard")
        return UNUSABLE
    except BrokenPipeError:
        close_quietly(sys.stdout)
        return FINE
    return status if isinstance(status, int) else FINE
