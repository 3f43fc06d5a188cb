"""Run the cells of a script, divided by ``# %%`` lines, in an IPython shell and show its outputs.

``python notebook.py SCRIPT.ipy [clean]``
"""

from __future__ import annotations

import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell


def main() -> int:
    """Exit status 1 when a cell failed."""
    cells = Path(sys.argv.pop(1)).read_text(encoding="utf-8").split("# %%\n")[1:]
    shell = InteractiveShell.instance()
    return 0 if all(shell.run_cell(cell.strip("\n")).success for cell in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
