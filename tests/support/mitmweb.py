"""mitmweb with the addon, and its page in a real browser: Debian's Chromium, which meets nothing
but this machine.

Everything is waited for by what the page shows, never by time.
"""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.request import Request, urlopen

import pytest
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.support.harness import ADDON, FAULTS, MITMWEB, TESTS, Program

SCREENSHOTS = TESTS.parent / "screenshots"
SECONDS_TO_SHOW = 60  # only when a test has failed; what is waited for comes at once
SIZE = (1280, 930)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--headless",
    "--no-sandbox",  # it may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # no process for a page that may come, nor for drawing: an eighth of the processor time
    "--disable-features=SpareRendererForSitePerProcess",
    "--in-process-gpu",
]
TAB = "//div[@class='flow-detail']//nav//a[normalize-space()='{}']"
RIBBON = "//div[@class='menu-content']//button[contains(., '{}')]"
MENU_TAB = "//header//nav//a[normalize-space()='{}']"
SETTLED = """
const [element, done] = arguments;
element.scrollIntoView({ block: "nearest" });
let before = null, still = 0;
function look() {
  const { top } = element.getBoundingClientRect();
  still = top === before ? still + 1 : 0;
  before = top;
  still === 3 ? done() : requestAnimationFrame(look);
}
look();
"""
"""Rows that come into view move what stands below them, and a click would meet another place."""
REDRAWN = [StaleElementReferenceException, ElementClickInterceptedException]
"""The page has drawn what we look at anew; look again."""
LOST_FILE = "/src/css/vendor.less - Failed to load resource"
"""The index page of mitmweb 12.3.1 names a source file that its package does not have."""
SUGGESTION = ".argument-suggestion"
MENU = ".contentview .controls .btn-xs"


class Mitmweb(Program):
    """mitmweb with the addon in front of one server; `port` is the proxy's, `page` the address that
    opens its page.
    """

    def __init__(
        self,
        server: str,
        folder: Path,
        *arguments: str,
        addon: Path = ADDON,
        cwd: Path | None = None,
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            page = str(free.getsockname()[1])
        listening = ["--web-host", "127.0.0.1", "--web-port", page, "--no-web-open-browser"]
        mode = [
            "--mode",
            f"reverse:{server}@127.0.0.1:0",
            "--set",
            f"confdir={folder / 'mitmproxy'}",
        ]
        handle, log = tempfile.mkstemp(".log", "mitmweb-", folder)
        os.close(handle)
        command = [str(MITMWEB), "-s", str(addon), *mode, *listening, *arguments]
        super().__init__(command, Path(log), cwd=cwd)
        [self.page] = self.wait_for(r"Web server listening at (\S+)")
        self.port = int(self.wait_for(r"listening at 127\.0\.0\.1:(\d+)\.")[0])

    def clear(self) -> None:
        """Forget all flows: the page draws no more rows than it has room for."""
        same = "_xsrf=aa"  # in the cookie as in the query: so no other site's page could have asked
        address = self.page.replace("/?", "/clear?", 1) + f"&{same}"
        urlopen(Request(address, b"", {"cookie": f"_mitmproxy{same}"})).close()

    def check(self) -> None:
        """No exception has left the addon."""
        assert not FAULTS.search(self.output), self.output


class Page:
    """mitmweb's page. What it shows changes under our hands while a reply streams, so each look at
    it finds everything anew. Without a browser the test is left out, but in CI it fails.
    """

    def __init__(self) -> None:
        if "CI" not in os.environ and not all(find_browser()):
            pytest.skip("no Chromium with its driver: make programs installs them, or says how")
        self._profile = tempfile.TemporaryDirectory(
            prefix="think-chromium-", ignore_cleanup_errors=True
        )
        self._browser = _chromium(self._profile.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.quit()
        self._profile.cleanup()

    def open(self, address: str, tab: str = "Response") -> None:
        """Open the page, and in it the last of its flows: its request or its response."""
        self._browser.get(
            "about:blank"
        )  # an address that differs in its fragment alone would not be loaded anew
        self._browser.get(address)
        self._press(By.CSS_SELECTOR, ".flow-table tbody td.col-path")
        self.turn_to(tab)

    def log_in(self, address: str, password: str) -> None:
        """Give mitmweb's form its password, as a person does."""
        self._browser.get(address)
        field = self.until(lambda: self._all("input[type=password]"), "the form")[0]
        field.send_keys(password + Keys.ENTER)
        self.until(lambda: self._all("#mitmproxy"), "the page")

    def until[T](self, what: Callable[[], T], meaning: str) -> T:
        """Wait for what is true."""
        waiting = WebDriverWait(self._browser, SECONDS_TO_SHOW, 0.02, REDRAWN)
        try:
            return waiting.until(lambda _: what())
        except TimeoutException:
            shown = "\n".join([*self.rows()[-2:], self._text(".flow-detail")[:2000]])
            raise AssertionError(f"no {meaning}; the page shows:\n{shown}") from None

    def rows(self) -> list[str]:
        """The flows that are listed, by their paths."""
        return [row.text for row in self._all(".flow-table tbody td.col-path")]

    def turn_to(self, tab: str) -> None:
        """Show another tab of the flow."""
        self._click(TAB.format(tab))

    def view(self) -> str:
        """The name of the content view that is shown."""
        return self._text(".contentview .controls h5")

    def content(self) -> str:
        """Return the text of the content view."""
        return self._text(".contentview pre")

    def shows(self, text: str) -> str:
        """Wait until the content view has `text`; return all it shows."""
        self.until(lambda: text in self.content(), f"{text!r} in the content view")
        return self.content()

    def choose(self, view: str) -> None:
        """Choose another content view from the page's menu, which has all names in lower case."""
        self._press(By.CSS_SELECTOR, MENU)
        self._click(
            f"//ul[contains(@class, 'dropdown-menu')]//a[normalize-space()='{view.lower()}']"
        )
        self.until(lambda: self.view().lower().startswith(view.lower()), f"the view {view!r}")

    def revert(self) -> None:
        self._click(RIBBON.format("Revert"))

    def cell(self, column: str) -> str:
        """Return a cell of the last flow's row, such as its comment."""
        cells = self._all(f".flow-table tbody td.col-{column}")
        return cells[-1].text if cells else ""

    def search(self, expression: str) -> None:
        """Type into the field of the list's filter."""
        self._click(MENU_TAB.format("Flow List"))
        field = self.until(
            lambda: self._all("input[placeholder=Search]"), "the field for a filter"
        )[0]
        field.send_keys(Keys.CONTROL + "a")  # what is half typed is read as well
        field.send_keys(expression)

    def display(self, part: str) -> None:
        """Have the page display another part: the event log, the command bar."""
        self._click(MENU_TAB.format("Options"))
        self._click(f"//label[contains(., 'Display {part}')]")

    def command(self, text: str) -> None:
        """Give a command in the command bar, which must be displayed."""
        self._type_command(text + Keys.ENTER)

    def help(self, command: str) -> str:
        """Return the command bar's help for a typed command."""
        self._type_command(Keys.CONTROL + "a" + Keys.NULL + command)
        self.until(lambda: "# " in self._content(SUGGESTION), f"help for {command}")
        return self._content(SUGGESTION)

    def results(self) -> str:
        """Return the results of commands."""
        return self._text(".command-result")

    def log(self) -> str:
        """The end of the event log, which draws no more lines than it has room for."""
        self.script(
            "const lines = document.querySelector('.eventlog pre'); if (lines) lines.scrollTop = lines.scrollHeight"
        )
        return self._text(".eventlog")

    def elements(self, selector: str) -> int:
        """Return the number of elements of the page that the selector matches."""
        return len(self._all(selector))

    def script(self, code: str, *arguments: object) -> object:
        return self._browser.execute_script(code, *arguments)

    def complaints(self) -> list[dict[str, Any]]:
        """Return the messages of the browser's console, without mitmweb's own faults."""
        logged = self._browser.get_log("browser")  # type: ignore[no-untyped-call]
        return [
            line for line in logged if line["level"] != "INFO" and LOST_FILE not in line["message"]
        ]

    def hosts(self) -> set[str]:
        """Return every host that got a request."""
        matched = self.script(
            "return performance.getEntriesByType('resource').map((each) => new URL(each.name).host)"
        )
        assert isinstance(matched, list)
        return set(matched)

    def screenshot(self, name: str) -> Path:
        """Save a picture of the page, for people to look at."""
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        assert self._browser.save_screenshot(str(path))
        return path

    def _type_command(self, keys: str) -> None:
        field = self.until(
            lambda: self._all("input[placeholder='Enter command']"), "the command bar"
        )[0]
        field.send_keys(keys)

    def _click(self, path: str) -> None:
        self._press(By.XPATH, path)

    def _press(self, by: str, where: str) -> None:
        """Click on the last of what is there, as soon as it can be clicked on and stands still."""

        def pressed() -> bool:
            matched = [
                element
                for element in self._browser.find_elements(by, where)
                if element.is_displayed()
            ]
            if matched and matched[-1].is_enabled():
                self._browser.execute_async_script(SETTLED, matched[-1])
                matched[-1].click()
                return True
            return False

        self.until(pressed, f"something to click on: {where}")

    def _all(self, selector: str) -> list[WebElement]:
        return self._browser.find_elements(By.CSS_SELECTOR, selector)

    def _content(self, selector: str) -> str:
        """The text of what is there, shown or not."""
        return str(self.script(f"return document.querySelector({selector!r})?.textContent ?? ''"))

    def _text(self, selector: str) -> str:
        return str(self.script(f"return document.querySelector({selector!r})?.innerText ?? ''"))


def find_browser() -> tuple[str | None, str | None]:
    """Return where Chromium and its driver are."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None), shutil.which("chromedriver")


def _chromium(profile: str) -> Chrome:
    os.environ["SE_OFFLINE"] = "true"  # selenium would look for a browser and a driver of its own
    browser, driver = find_browser()
    assert driver, "chromedriver is missing: make test installs it, or says how"
    assert browser, "chromium is missing: make test installs it, or says how"
    options = ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    arguments: Sequence[str] = [
        *QUIET,
        f"--user-data-dir={profile}",
        "--window-size={},{}".format(*SIZE),
    ]
    for argument in arguments:
        options.add_argument(argument)
    return Chrome(options, Service(driver))
