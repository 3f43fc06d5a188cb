"""The HTML report: one file, no network, nothing from a log runs; drawn in a real browser."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import report_stories as stories
from test_untrusted_text import poisoned

from leakguard import LeakGuard
from leakguard.model import Census, Gauge, TypeCount
from leakguard.render import render, render_many
from leakguard.render.charts import leak_chart
from leakguard.render.curves import bands, memory_curves

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_page_asks_the_network_for_nothing():
    page = render(stories.leaking(), "html")
    for tag, attributes in Elements(page).seen:
        assert tag not in {"iframe", "img", "object", "embed", "base"}
        for name in ("src", "href", "action", "style"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:,")), (tag, name, value)
    policy = next(a["content"] for t, a in Elements(page).seen if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_text_of_a_log_never_becomes_an_element():
    tags = [tag for tag, _ in Elements(render(poisoned(), "html")).seen]
    assert tags.count("script") == [
        t for t, _ in Elements(render(stories.leaking(), "html")).seen
    ].count("script")


def test_verdict_and_fix_come_before_everything_else():
    page = render(stories.leaking(), "html")
    body = page[page.index("<body>") :]
    places = [
        body.index(word)
        for word in (
            "LEAK</span>",
            "<strong>Fix</strong>",
            "TradingEnvironment alive</text>",
            "Allocator in use</text>",
            "<dl>",
            "RSS over the run",
        )
    ]
    assert places == sorted(places)


def test_every_table_has_heads_and_every_chart_a_name():
    seen = Elements(render(stories.leaking(), "html")).seen
    tables = sum(tag == "table" for tag, _ in seen)
    heads = sum(tag == "thead" for tag, _ in seen)
    assert tables == heads > 0
    charts = [a for t, a in seen if t == "svg" and a.get("class") == "plot"]
    assert len(charts) > 3
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_several_runs_share_one_page():
    page = render_many([stories.healthy(), stories.leaking()], "html")
    assert len(re.findall("<article ", page)) == 2
    assert page.index('href="#run-1"') < page.index('id="run-1"')


def test_charts_need_no_package_beyond_the_default_installation(monkeypatch):
    for name in ("vl_convert", "matplotlib", "numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    assert render(stories.leaking(), "html").count('class="plot"') > 3
    assert render(stories.leaking(), "svg").count('class="plot"') == 2


def test_thinning_keeps_the_spike_of_one_snapshot_in_a_hundred_thousand():
    report = stories.long(4_000, spike=7_777)
    curve = memory_curves(report.run)[0]
    assert len(curve.points) <= 400
    assert max(point.y for point in curve.points) == 999e9


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium.webdriver")
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromedriver")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--no-first-run",
                 "--window-size=1100,1400"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    yield driver
    driver.quit()


def open_page(browser, tmp_path, page, width=1100):
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    size = {"width": width, "height": 1400, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())


def complaints(browser):
    return [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]]


def boxes(browser, selector):
    """Return (left, top, right, bottom) of what a selector finds, in pixels of the window."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect())"
        ".map(b => [b.left, b.top, b.right, b.bottom])"
    )
    return browser.execute_script(script, selector)


@pytest.mark.parametrize("width", [420, 1100])
@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short, poisoned])
def test_page_fits_its_window_and_the_browser_complains_of_nothing(browser, tmp_path, story, width):
    open_page(browser, tmp_path, render(story(), "html"), width)
    assert complaints(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [420, 1100])
def test_the_count_of_what_leaks_is_the_first_chart_and_lies_inside_of_it(browser, tmp_path, width):
    open_page(browser, tmp_path, render(stories.leaking(), "html"), width)
    legends = browser.execute_script(
        "return [...document.querySelectorAll('.plot .legend')].map(e => e.textContent)"
    )
    assert "TradingEnvironment alive" in legends[0]
    assert "RSS" in legends[1]
    left, top, right, bottom = boxes(browser, ".plot")[0]
    for mark in (".plot .line", ".plot .mark", ".plot .dot", ".plot .column"):
        x1, y1, x2, y2 = boxes(browser, mark)[0]
        assert left - 1 <= x1 <= x2 <= right + 1, mark
        assert top - 1 <= y1 <= y2 <= bottom + 1, mark
    points = [box for box in boxes(browser, ".plot .dot") if box[3] <= bottom]
    assert points[0][1] > points[-1][1]  # it rises


def test_finding_is_copied_as_text_for_an_issue(browser, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    open_page(browser, tmp_path, render(stories.leaking(), "html"))
    browser.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite"]})
    button = browser.find_element(By.CSS_SELECTOR, "button[data-copy]")
    assert button.is_displayed()
    button.click()
    WebDriverWait(browser, 10).until(lambda _: button.text == "Copied")
    copied = browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))"
    )
    assert copied.startswith("**LEAK DETECTED: TradingEnvironment")
    assert "Held by: __main__.trainer.spent_environments[*]" in copied
    assert "Python: 3.11.7" in copied


def test_page_of_a_long_run_stays_small_enough_to_mail():
    assert len(render(stories.long(4_000), "html").encode()) < 300_000


def test_line_that_makes_what_leaks_is_quoted_with_three_lines_around_it(tmp_path):
    rollout = tmp_path / "reference_trainer" / "rollout.py"
    rollout.parent.mkdir()
    rollout.write_text("".join(f"line = {n}\n" for n in range(1, 101)))
    page = render(stories.leaking(), "html", sources=tmp_path)
    quoted = re.search(r'<figure class="source">(.*?)</figure>', page, re.DOTALL)[1]
    assert re.findall(r"line = (\d+)", quoted) == [str(n) for n in range(85, 92)]
    assert re.search(r'class="made".*?line = (\d+)', quoted)[1] == "88"


def test_line_that_keeps_it_is_quoted_beside_the_line_that_makes_it(tmp_path):
    (tmp_path / "app.py").write_text("".join(f"line = {n}\n" for n in range(1, 101)))
    report = stories.leaking()
    for kept, quotes in ((("app.py:50 in keep",), 2), (("app.py:20 in make",), 1)):
        finding = replace(report.findings[0], created_at="app.py:20 in make", kept_at=kept)
        page = render(replace(report, findings=(finding,)), "html", sources=tmp_path)
        marked = re.findall(r'class="made".*?line = (\d+)', page)
        assert (page.count('<figure class="source">'), marked[-1]) == (quotes, kept[0][7:9])


@pytest.mark.parametrize(
    "site", ["/etc/passwd:1", "../outside.py:1", "notes.txt:1", "rollout.py:999", "rollout.py", ""]
)
def test_nothing_but_python_below_the_folder_is_quoted(tmp_path, site):
    (tmp_path / "outside.py").write_text("secret\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("secret\n")
    (folder / "rollout.py").write_text("secret\n")
    report = stories.leaking()
    finding = replace(report.findings[0], created_at=site)
    page = render(replace(report, findings=(finding,)), "html", sources=folder)
    assert "secret" not in page
    assert '<figure class="source">' not in page


def test_redacted_page_quotes_no_source(tmp_path):
    (tmp_path / "reference_trainer").mkdir()
    (tmp_path / "reference_trainer" / "rollout.py").write_text("secret\n" * 100)
    assert "secret" not in render(stories.leaking(), "html", sources=tmp_path, redact=True)


def test_chart_of_a_few_more_among_many_shows_their_bytes():
    """Two hundred more strings among forty thousand are flat; the memory they take is not."""
    report = stories.leaking()
    shots = tuple(
        replace(shot, census=Census({"str": TypeCount(40_000 + 9 * n, (1 + 9 * n) * stories.MB)}))
        for n, shot in enumerate(report.run.snapshots)
    )
    finding = replace(report.findings[0], type="str")
    chart = leak_chart(replace(report, run=replace(report.run, snapshots=shots)), finding)
    assert chart.plots[0].lines[0].title == "Memory of str objects"


@pytest.mark.parametrize(
    "values",
    [(float("nan"), 1, 2), (1, float("inf"), 2), (float("-inf"), -3, -3), (0, 0, 0), (-5, 0, 7),
     (1e-9, 2e-9, 3e-9), (1e299, 2e299, 0)],
)  # fmt: skip
def test_any_gauge_can_be_drawn(values):
    report = stories.leaking()
    shots = tuple(
        replace(shot, gauges={"odd": Gauge(values[n % 3])})
        for n, shot in enumerate(report.run.snapshots)
    )
    page = render(replace(report, run=replace(report.run, snapshots=shots)), "html")
    assert "nan" not in "".join(re.findall(r'(?:cx|cy|x|y|d|y1)="([^"]*)"', page)).lower()
    assert "inf" not in "".join(re.findall(r'(?:cx|cy|x|y|d|y1)="([^"]*)"', page)).lower()


def test_phase_that_runs_many_times_on_end_is_one_stretch_of_the_chart():
    with LeakGuard(report=None) as guard:
        for _ in guard.generations(3):
            for _ in range(5):
                with guard.phase("work"):
                    pass
    assert len([s for s in guard.run.snapshots if s.phase == "work"]) > 3
    assert len(bands(guard.run, "work")) == 3
