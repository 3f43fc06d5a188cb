"""``leakguard mcp``: let an assistant ask about recorded runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("mcp")
@click.argument("folders", nargs=-1, metavar="FOLDER...", type=click.Path(path_type=Path))
def mcp(folders: tuple[Path, ...]) -> int:
    """Serve the runs below each FOLDER (the working folder without one) to an assistant.

    It speaks the Model Context Protocol on standard input and output. No file outside of the
    folders is read.
    """
    from leakguard.cli.mcp_server import server

    server(folders or (Path.cwd(),)).run()
    return 0
