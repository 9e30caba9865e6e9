"""A real Chromium, headless, and short ways to use it."""

from __future__ import annotations

import os
import shutil
import time

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.conftest import NO_BROWSER

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TIMEOUT_SECONDS = 120.0  # seconds; machines may be busy
TRANSIENT_ERRORS = (
    StaleElementReferenceException,
    ElementClickInterceptedException,
    ElementNotInteractableException,
)


def find_browser():
    """Browser and driver: as the environment names them, or as they are on PATH."""
    browser = os.environ.get("COUNTERPLAY_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), ""
    )
    driver = os.environ.get("COUNTERPLAY_CHROMEDRIVER") or shutil.which("chromedriver")
    if browser and driver:
        return browser, driver
    problem = f"{NO_BROWSER} with its driver on PATH, nor named by COUNTERPLAY_CHROMIUM"
    if os.environ.get("COUNTERPLAY_REQUIRE_BROWSER"):
        pytest.fail(problem)
    pytest.skip(problem)


class Browser:
    """A browser window with the actions that tests need."""

    def __init__(self, width=1280, height=900):
        binary, driver = find_browser()
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for flag in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(flag)
        if not os.getuid():
            options.add_argument("--no-sandbox")
        options.add_argument(f"--window-size={width},{height}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))

    def open(self, studio, path="/"):
        """Open a page, with the token if this browser does not have it yet."""
        self.driver.get(f"{studio.url}{path}#token={studio.token}")

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def until(self, condition, what="something"):
        """Wait for a condition that is asked again if the page changes meanwhile."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                found = condition()
                if found:
                    return found
            except TRANSIENT_ERRORS:
                pass
            if time.monotonic() > end:
                text = self.driver.find_element(By.TAG_NAME, "body").text
                raise AssertionError(f"{what} did not come; the page says: {text[:2000]}")
            time.sleep(0.05)

    def see(self, css, text=""):
        """The first element that has the text, once it is there."""

        def look():
            return next((e for e in self.all(css) if text in e.text), None)

        return self.until(look, f"{css} with {text!r}")

    def wait_until_absent(self, css):
        self.until(lambda: not self.all(css), f"the end of {css}")

    def click(self, css, text=""):
        def press():
            found = next((e for e in self.all(css) if text in e.text and e.is_enabled()), None)
            if found is None:
                return False
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            found.click()
            return True

        self.until(press, f"{css} with {text!r} to click")

    def keys(self, *keys):
        """Press keys where the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def settle(self):
        """Wait until the page has no open requests."""
        self.until(
            lambda: not self.all(".working") and "…\n" not in f"{self.main.text}\n", "a calm page"
        )

    @property
    def main(self):
        return self.driver.find_element(By.TAG_NAME, "main")

    @property
    def path(self):
        return self.driver.execute_script("return location.pathname + location.search")

    def theme(self, name):
        """Light or dark, at once: colours do not move from one to the other."""
        wanted = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce"}
        features = [{"name": key, "value": value} for key, value in wanted.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def complaints(self):
        """Messages of the console since the last call."""
        return [line["message"] for line in self.driver.get_log("browser")]

    def set_width(self, width=None):
        """Lay pages out as if the window were this wide, also narrower than a window can be."""
        if width is None:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            return
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def beyond(self):
        """Pixels by which the page is wider than the window."""
        script = "return document.documentElement.scrollWidth - innerWidth"
        return self.driver.execute_script(script)

    def count(self):
        return self.driver.execute_script("return document.getElementsByTagName('*').length")


__all__ = ["Browser", "By", "Keys", "find_browser"]
