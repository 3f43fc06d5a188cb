"""Size of the HTML report and the time a browser needs to open it and draw every chart.

    python regression_tests/benchmarks/html_report.py

Needs selenium, chromium and chromedriver.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver

from leakguard.analysis import diagnose
from leakguard.model import Report
from leakguard.render import render
from leakguard.testing import RunStory, State

_PHASES = ("evaluate", "train", "evolve", "validate", "checkpoint")
_WAIT = "return document.querySelectorAll('.canvas:not([data-drawn])').length"


def long_report(generations: int) -> Report:
    """Return the diagnosis of a run with six snapshots a generation and one spike."""
    story = RunStory(watch={"TradingEnvironment": (2, 2)})
    story.baseline(State({"rss": 4_230_000_000}, {"TradingEnvironment": 2}))
    for generation in range(generations):
        spike = 90_000_000_000 if generation == generations // 2 else 0
        phases = {}
        for place, name in enumerate(_PHASES):
            rss = 8_000_000_000 + place * 100_000_000 + spike
            metrics = {"rss": rss, "heap_in_use": 7_000_000_000, "peak": rss}
            phases[name] = State(metrics, {"TradingEnvironment": 2})
        story.generation(**phases)
    return diagnose(story.run())


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=driver)


def opening_seconds(driver: webdriver.Chrome, page: str) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(page)
        file.flush()
        start = time.perf_counter()
        driver.get(Path(file.name).as_uri())
        while driver.execute_script(_WAIT):
            time.sleep(0.01)
        return time.perf_counter() - start


def main(generation_counts: list[int]) -> None:
    driver = browser()
    driver.get("about:blank")
    print("snapshots  MB     rendered s  opened and drawn s  console messages")
    for generations in generation_counts:
        report = long_report(generations)
        start = time.perf_counter()
        page = render(report, "html")
        rendered = time.perf_counter() - start
        opened = opening_seconds(driver, page)
        count = len(report.run.snapshots)
        megabytes = len(page.encode()) / 1e6
        print(f"{count:<10,} {megabytes:<6.2f} {rendered:<11.2f} {opened:<19.2f} "
              f"{len(driver.get_log('browser'))}")  # fmt: skip
    driver.quit()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [25, 16_667])
