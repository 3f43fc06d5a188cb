"""Run each script of the first hour once leaking and once clean, and print what leakguard says.

``python -m regression_tests.benchmarks.first_hour --python ENV/bin/python --runs FOLDER``, where
ENV has leakguard from a wheel, torch, gymnasium, matplotlib, pandas, scikit-learn, tensorboard,
IPython and pytest. What is judged by hand of it (holder, line, fix) stands in
``reports/first_hour/friction.md``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_SCRIPTS = _HERE / "scripts"
# Programs without a word of leakguard in them: watched from outside.
_UNCHANGED = ("callbacks", "cached_method", "log_handlers", "native_decoder", "tensorboard_writers",
              "hpo_callbacks", "prep_pandas", "sqlite_connections", "curve_figures")  # fmt: skip
# Those whose memory is budgeted by the plugin, and those that only print a log.
_BUDGETED = ("budget_tokenizer", "event_bus")
_LOGS = {"own_log": None, "own_log_mib": r"ep=(?P<epoch>\d+).*mem=(?P<ram>[\d.]+MiB)"}
# These say what they found on standard output.
_ON_STDOUT = (*_BUDGETED, *_LOGS, "notebook_shell", "tokenizer_cache")
# It keeps its guard silent; its run file is asked afterwards.
_SILENT = {"sockets": "s15.{}.jsonl"}
# Seconds for one run: ten times what the longest took on a quiet machine.
_PATIENCE = 200


def main() -> int:
    """Print two rows a script: its name, its side, the verdict with the first paragraph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="of the environment to try")
    parser.add_argument("--runs", type=Path, default=Path(), help="run files and outputs go here")
    parser.add_argument("--only", default="", metavar="NAME", help="scripts with this in it")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    for script in sorted(_SCRIPTS.iterdir()):
        if script.suffix in (".py", ".ipy") and options.only in script.name:
            for side in ("leak", "clean"):
                said = said_of(script, side, Path(options.python).absolute(), options.runs)
                (options.runs / f"{script.stem}.{side}.txt").write_text(said, encoding="utf-8")
                print(f"== {script.stem} {side}\n{said}", flush=True)
    return 0


def said_of(script: Path, side: str, python: Path, folder: Path) -> str:
    """Return what leakguard printed about one run of a script."""
    words = command(script, side, python, folder)
    environment = os.environ | ({"TWIN": "1", "LG_CLEAN": "1"} if side == "clean" else {})
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return "no answer"
    if script.suffix == ".ipy" or script.stem in (*_ON_STDOUT, *_SILENT):
        return done.stdout
    return done.stderr


def command(script: Path, side: str, python: Path, folder: Path) -> list[str]:
    """Return how a newcomer would run a script; of the one with a log, how he would read that."""
    interpreter, leakguard = str(python), str(python.with_name("leakguard"))
    arguments = [str(script), side]
    if script.stem in _UNCHANGED:
        return [leakguard, "run", "-o", f"{script.stem}_{side}.jsonl", *arguments]
    if script.suffix == ".ipy":
        return [interpreter, str(_HERE / "notebook.py"), *arguments]
    if script.stem in _BUDGETED:
        # Without the settings of this checkout, which put its own sources before the wheel.
        alone = ["-c", os.devnull, "--rootdir", str(script.parent)]
        return [interpreter, "-m", "pytest", "-q", "-p", "no:randomly", *alone, str(script)]
    if script.stem in _LOGS:
        log, pattern = folder / f"{script.stem}_{side}.log", _LOGS[script.stem]
        done = subprocess.run([interpreter, *arguments], stdout=subprocess.PIPE, check=True)
        log.write_bytes(done.stdout)
        return [leakguard, "report", log.name, *(["--pattern", pattern] if pattern else [])]
    if script.stem in _SILENT:
        subprocess.run([interpreter, *arguments], cwd=folder, check=True)
        run = _SILENT[script.stem].format("clean" if side == "clean" else "leaky")
        return [leakguard, "report", run]
    return [interpreter, *arguments]


if __name__ == "__main__":
    sys.exit(main())
