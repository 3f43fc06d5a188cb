"""``leakguard audit``: compare installed or locked packages with the known leaks of libraries."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import click

from leakguard.cli.output import complain, wants_color, write_document
from leakguard.errors import UsageError
from leakguard.model.known_leak import Package
from leakguard.render import Layout
from leakguard.render.text import columns

_FORMATS = ("terminal", "markdown", "json", "sarif")
_STANDARD_INPUT = Path("-")
_SITE_PACKAGES = "lib/python*/site-packages"  # of a virtual environment


@click.command("audit")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="terminal",
              show_default=True)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE instead of standard output.")  # fmt: skip
@click.option("--all", "unfixed", is_flag=True,
              help="Also leaks that no release is known to end.")  # fmt: skip
@click.option("--ignore", metavar="ID", multiple=True,
              help="Leave out the known leak of this name; may be repeated.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def audit(
    paths: tuple[Path, ...], format_: str, output: Path | None, unfixed: bool,
    ignore: tuple[str, ...], color: str,
) -> int:  # fmt: skip
    """Look for releases with known leaks at each PATH, or in this environment; nothing is run.

    PATH is a requirements file, pylock.toml, uv.lock, poetry.lock, a virtual environment or a
    folder of packages, or - for the output of pip freeze. Exit status 1 if a known leak is found,
    2 if a PATH cannot be used.
    """
    from leakguard.analysis.audit import audit as audited
    from leakguard.render.audit import render_audit

    _check_names(ignore)
    audits, unusable = [], 0
    for path in paths or (None,):
        try:
            place, packages = _installed() if path is None else _listed(path)
        except UsageError as error:
            complain(str(error))
            unusable += 1
            continue
        is_file = path is not None and path.is_file()
        audits.append(audited(place, packages, is_file=is_file, unfixed=unfixed, ignore=ignore))
    if audits:
        layout = Layout(width=columns(), color=wants_color(color, output))
        write_document(render_audit(audits, format_, layout), output)
    return 2 if unusable else int(any(each.exposures for each in audits))


def _check_names(ignore: Iterable[str]) -> None:
    from leakguard.analysis.knowledge.known_leaks import known_leaks

    known = {leak.id for leak in known_leaks()}
    wrong = next((name for name in ignore if name not in known), None)
    if wrong is not None:
        raise UsageError(f"no known leak is called {wrong!r}; leakguard audit prints the names")


def _installed() -> tuple[str, list[Package]]:
    python = Package("python", platform.python_version())
    return f"the environment of {sys.executable}", [python, *_packages(distributions())]


def _listed(path: Path) -> tuple[str, list[Package]]:
    """Return the name of a path for messages, and the packages that it lists or contains.

    Raises:
        UsageError: the path is missing, cannot be read, or has no packages.
    """
    from leakguard.store.lockfile import packages_in

    if path.is_dir():
        return str(path), list(_in_folder(path))
    try:
        data = sys.stdin.buffer.read() if path == _STANDARD_INPUT else path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text; give requirements or a lock file") from None
    name = "standard input" if path == _STANDARD_INPUT else str(path)
    return name, packages_in(text, name)


def _in_folder(folder: Path) -> Iterator[Package]:
    environment = folder / "pyvenv.cfg"
    places = [folder, *folder.glob(_SITE_PACKAGES)] if environment.is_file() else [folder]
    packages = list(_packages(distributions(path=[str(place) for place in places])))
    if not packages:
        raise UsageError(f"{folder} has no packages; give a virtual environment or site-packages")
    yield from packages
    if environment.is_file():
        version = re.search(r"^version(?:_info)?\s*=\s*(\S+)", environment.read_text("utf-8"), re.M)
        yield Package("python", None if version is None else version[1])


def _packages(found: Iterable[Distribution]) -> Iterator[Package]:
    """Yield the first distribution of each name, which is the one that an import uses."""
    seen = set()
    for distribution in found:
        name = distribution.metadata["Name"]  # None if the installation is broken
        if name and name.lower() not in seen:
            seen.add(name.lower())
            yield Package(name, distribution.version)
