"""Open the profiles of a run in the viewers that they are for, and keep what the viewers show.

``python -m regression_tests.benchmarks.profiles -o reports/profiles [--speedscope FOLDER]`` records
a loop with two leaks and writes both profiles. ``go tool pprof`` prints and draws the one, with
graphviz. ``FOLDER`` is ``dist/release`` of the npm package speedscope; chromium opens the other one
in it, and is photographed. Needs Go, and for speedscope selenium and chromium.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = "python -m regression_tests.benchmarks.profiles -o reports/profiles --speedscope FOLDER\n"
PROGRAM = """\
import time

from leakguard import LeakGuard


class Rollout:
    def __init__(self):
        self.rewards = [float(step) for step in range(50_000)]


best = []
log = {}


def evaluate():
    best.append(Rollout())  # meant to keep the best, keeps them all


def record(generation):
    for step in range(200):
        log[generation, step] = bytes(2_000)  # nobody reads old generations


guard = LeakGuard(out="run.jsonl")
with guard:
    for generation in guard.generations(range(1, 17)):
        with guard.phase("evaluate"):
            evaluate()
        with guard.phase("record"):
            record(generation)
        time.sleep(0.2)
"""
WEIGHTS = ("retained_bytes", "born_bytes", "growth_bytes")
_OLD_LINES = ("File:", "Time:", "Duration:")  # differ from run to run and say nothing
_DRAWN = 3.0  # seconds that the viewer has for drawing


def main() -> int:
    """Record, write, open, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="out", type=Path, required=True)
    parser.add_argument("--speedscope", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="profiles-") as place:
        folder = Path(place)
        _record(folder)
        (options.out / "pprof.md").write_text(_printed(folder), encoding="utf-8")
        _pprof(folder, "-png", "-sample_index=retained_bytes", "-output=retained.png")
        shutil.copy(folder / "retained.png", options.out)
        if options.speedscope is not None:
            shutil.copytree(options.speedscope, folder / "viewer")
            shutil.copy(folder / "leak.speedscope.json", folder / "viewer")
            _photograph(folder / "viewer", options.out)
    (options.out / "COMMAND").write_text(COMMAND, encoding="utf-8")
    return 0


def _record(folder: Path) -> None:
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    _run(folder, sys.executable, "train.py")
    for name in ("leak.pb.gz", "leak.speedscope.json"):
        _run(folder, sys.executable, "-m", "leakguard", "report", "run.jsonl", "-o", name)


def _printed(folder: Path) -> str:
    """Return what pprof prints, as Markdown."""
    parts = ["What `go tool pprof` shows of `leakguard report run.jsonl -o leak.pb.gz`.\n"]
    for weight in WEIGHTS:
        options = ["-top", "-lines", f"-sample_index={weight}"]
        parts.append(_block(options, _pprof(folder, *options)))
    parts.append(_block(["-tags"], _pprof(folder, "-tags")))
    return "\n".join(parts)


def _block(options: list[str], said: str) -> str:
    kept = [line.rstrip() for line in said.splitlines() if not line.startswith(_OLD_LINES)]
    text = "\n".join(kept).strip("\n")
    return f"```\n$ go tool pprof {' '.join(options)} leak.pb.gz\n{text}\n```\n"


def _pprof(folder: Path, *options: str) -> str:
    return _run(folder, "go", "tool", "pprof", *options, "leak.pb.gz")


def _run(folder: Path, *command: str) -> str:
    paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE
    ).stdout


def _photograph(viewer: Path, out: Path) -> None:
    """Keep a picture of each profile in the viewer, in its "left heavy" view."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains

    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--window-size=1200,420",
                   "--enable-unsafe-swiftshader"):  # fmt: skip
        options.add_argument(option)
    with _served(viewer) as address:
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            browser.get(f"{address}/index.html#profileURL=/leak.speedscope.json&view=left-heavy")
            for weight in WEIGHTS:
                time.sleep(_DRAWN)
                browser.save_screenshot(str(out / f"speedscope_{weight.split('_')[0]}.png"))
                ActionChains(browser).send_keys("n").perform()  # the next profile
        finally:
            browser.quit()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback, because the viewer fetches its profile."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
