"""The page of the command line, written from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from leakguard import cli

_TOP = """# Command line

Exit status of every command: 0 fine; 1 a verdict or budget that you asked to fail on; 2 input or
arguments that cannot be used, with one line on standard error.

`leakguard COMMAND --help` prints the same text.
"""


def page() -> str:
    """Return the page: one section per command, in alphabetical order."""
    with click.Context(cli.program, info_name="leakguard") as context:
        sections = [_section(context, name) for name in cli.program.list_commands(context)]
    return "\n".join([_TOP, *sections])


def _section(context: click.Context, name: str) -> str:
    command = cli.program.get_command(context, name)
    assert command is not None
    own = click.Context(command, info_name=name, parent=context)
    usage = " ".join([own.command_path, *command.collect_usage_pieces(own)])
    text = inspect.cleandoc(command.help or "")
    return "\n".join([f"## {name}\n", f"```\n{usage}\n```\n", f"{text}\n", *_options(command, own)])


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [
        parameter.get_help_record(context)
        for parameter in command.params
        if isinstance(parameter, click.Option)
    ]
    if not records:
        return
    yield "| Option | Meaning |\n|---|---|"
    for option, meaning in filter(None, records):
        yield f"| `{_cell(option)}` | {_cell(meaning)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
