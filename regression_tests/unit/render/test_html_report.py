"""The HTML report: one file, no network, nothing from a log runs; drawn in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import report_stories as stories
from test_untrusted_text import poisoned

from leakguard.render import render, render_many, vega
from leakguard.render.curves import memory_curves

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

needs_charts = pytest.mark.skipif(not vega.available(), reason="vl-convert-python is not installed")


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
        for word in ("LEAK</span>", "<strong>Fix</strong>", "<dl>", "RSS over the run")
    ]
    assert places == sorted(places)


def test_every_table_has_heads_and_every_box_a_label():
    seen = Elements(render(stories.leaking(), "html")).seen
    tables = sum(tag == "table" for tag, _ in seen)
    heads = sum(tag == "thead" for tag, _ in seen)
    assert tables == heads > 0
    assert sum(t == "label" for t, _ in seen) == sum(a.get("type") == "checkbox" for _, a in seen)


def test_several_runs_share_one_page():
    page = render_many([stories.healthy(), stories.leaking()], "html")
    assert len(re.findall("<article ", page)) == 2
    assert page.index('href="#run-1"') < page.index('id="run-1"')


def test_page_without_the_chart_package_says_so(monkeypatch):
    monkeypatch.setattr(vega, "available", lambda: False)
    page = render(stories.leaking(), "html")
    assert "Charts are left out" in page
    assert "LEAK DETECTED" in page


def test_thinning_keeps_the_spike_of_one_snapshot_in_a_hundred_thousand():
    report = stories.long(4_000, spike=7_777)
    curve = memory_curves(report.run)[0]
    assert len(curve.points) <= 1_000
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


def open_page(browser, tmp_path, page):
    from selenium.webdriver.support.wait import WebDriverWait

    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    browser.get(path.as_uri())
    charts = "return document.querySelectorAll('.canvas').length"
    drawn = "return document.querySelectorAll('.canvas[data-drawn]').length"
    WebDriverWait(browser, 20).until(
        lambda b: b.execute_script(drawn) == b.execute_script(charts) > 0
    )


def complaints(browser):
    return [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]]


def lines_drawn(browser):
    return browser.execute_script(
        "return document.querySelectorAll('#memory-0 .mark-line path').length"
    )


@needs_charts
@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, poisoned])
def test_browser_draws_every_chart_and_complains_of_nothing(browser, tmp_path, story):
    open_page(browser, tmp_path, render(story(), "html"))
    assert complaints(browser) == []


@needs_charts
def test_lines_can_be_switched_with_the_keyboard(browser, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    open_page(browser, tmp_path, render(stories.leaking(), "html"))
    before = lines_drawn(browser)
    box = browser.find_element(By.CSS_SELECTOR, 'fieldset input[value="peak"]')
    box.send_keys(Keys.SPACE)
    WebDriverWait(browser, 10).until(lambda b: lines_drawn(b) == before + 1)
    box.send_keys(Keys.SPACE)
    WebDriverWait(browser, 10).until(lambda b: lines_drawn(b) == before)


@needs_charts
def test_pointing_at_a_line_names_the_snapshot(browser, tmp_path):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    open_page(browser, tmp_path, render(stories.leaking(), "html"))
    chart = browser.find_element(By.CSS_SELECTOR, "#memory-0 svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    ActionChains(browser).move_to_element_with_offset(chart, 10, -40).pause(0.2).move_by_offset(
        3, 1
    ).perform()
    shown = (
        "const t = document.querySelector('#vg-tooltip-element.visible'); return t && t.innerText"
    )
    WebDriverWait(browser, 10).until(lambda b: "Gen 2" in (b.execute_script(shown) or ""))
    assert "GB" in browser.execute_script(shown)
    assert complaints(browser) == []


@needs_charts
def test_large_run_stays_small_enough_to_mail(tmp_path):
    page = render(stories.long(4_000), "html")
    assert len(page.encode()) < 6_000_000
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page)
    assert data is not None
    assert len(json.loads(data[1])["memory-0"]["data"]["values"]) <= 4 * 1_000


def test_ledger_is_drawn_with_shrinking_parts_below_zero():
    pytest.importorskip("vl_convert")
    from leakguard.render import vega
    from leakguard.render.chart import PRINTED, ledger_chart

    shrunk = replace(
        stories.LEDGER, generation=2, parts={**stories.LEDGER.parts, "unexplained": -(10**9)}
    )
    report = replace(
        stories.leaking(), ledger_history=(shrunk, replace(stories.LEDGER, generation=3))
    )
    spec = ledger_chart(report, PRINTED)
    sizes = {(row["at"], row["part"]): row["size"] for row in spec["data"]["values"]}
    assert sizes[2, "Not explained"] == -1.0
    assert sizes[3, "Arrays"] == 14.1
    assert "Not explained" in vega.svg(spec)
