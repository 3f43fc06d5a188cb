"""Call one function many times in each generation, watched: ``player.py CODE CALLS RUN``.

It runs in a process of its own, with one release of one library before all others on the path.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from leakguard import LeakGuard

GENERATIONS = 8


def play(code: str, calls: int, run: Path) -> None:
    """Call what ``code`` defines as ``call`` in generations, and write the run."""
    names: dict[str, Any] = {"__name__": "played"}
    exec(compile(code, "played.py", "exec"), names)
    call = names["call"]
    guard = LeakGuard(out=run, log=None)
    with guard:
        for _ in guard.generations(range(GENERATIONS)):
            for _ in range(calls):
                call()


if __name__ == "__main__":
    play(Path(sys.argv[1]).read_text("utf-8"), int(sys.argv[2]), Path(sys.argv[3]))
