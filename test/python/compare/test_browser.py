"""The page in a headless Chromium: it renders, its script has no fault, its tables sort."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import LSTM_DIMS, Compare
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


def column(table: WebElement, index: int) -> list[str]:
    return [cell.text for cell in table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({index})")]


def look(browser: webdriver.Chrome, page: Path, scheme: str, width: int) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    background = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert ("255, 255, 255" in background) == (scheme == "light")
    # Nothing but the tables scrolls sideways.
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    plots = browser.find_elements(By.CSS_SELECTOR, "svg")
    assert len(plots) == 6 and all(plot.size["height"] > 50 for plot in plots)
    table = next(
        t for t in browser.find_elements(By.CSS_SELECTOR, "table") if len(column(t, 1)) == 2 and "quantize" in t.text
    )
    header = table.find_element(By.CSS_SELECTOR, "th button")
    header.click()
    assert column(table, 1) == ["product", "quantize"]
    header.click()
    assert column(table, 1) == ["quantize", "product"]
    overview = browser.find_element(By.CSS_SELECTOR, "table")
    assert column(overview, 1) == ["product", "lstm"] and column(overview, 2) == ["passed", "differs"]
    overview.find_element(By.CSS_SELECTOR, "th button").click()
    assert column(overview, 1) == ["lstm", "product"]
    assert browser.get_log("browser") == []


def test_page(compare: Compare, lstm: Path, product: Path, tmp_path: Path, browser: webdriver.Chrome) -> None:
    page = tmp_path / "page.html"
    compare(product, lstm, *LSTM_DIMS, "--per-node", "--speed", "--runs", "5", "--html", page)
    for scheme in ("light", "dark"):
        for width in (360, 1200):
            look(browser, page, scheme, width)
