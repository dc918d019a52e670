"""The page at /think: requests as a program sends them, and the page in a real browser."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.clients import Answer
from tests.support.mitmweb import Mitmweb, Page

XSRF = "aa"
COOKIE = f"_mitmproxy_xsrf={XSRF}"
DRAWN = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
ROWS, CHOSEN, REPLY = "#rows a.row", "#rows a[aria-current]", ".exchange .reply"


def address(web: Mitmweb, path: str = "", token: bool = True) -> str:
    base, _, query = web.page.partition("?")
    return f"{base}think{path}" + (f"{'&' if '?' in path else '?'}{query}" if token else "")


def ask(
    web: Mitmweb,
    path: str = "",
    body: object = None,
    headers: Mapping[str, str] | None = None,
    token: bool = True,
) -> Answer:
    """Return mitmweb's answer; a body is posted, as by the page's own script."""
    data = None if body is None else json.dumps(body).encode()
    own = {"content-type": "application/json", "cookie": COOKIE, "x-xsrftoken": XSRF}
    sent = dict(own if headers is None and data is not None else headers or {})
    request = urllib.request.Request(address(web, path, token), data, sent)
    try:
        with urllib.request.urlopen(request) as answer:
            return Answer(answer.status, dict(answer.headers.items()), answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers.items()), error.read())


def flows(web: Mitmweb) -> list[str]:
    """The ids of all flows, the newest last."""
    base, _, query = web.page.partition("?")
    with urllib.request.urlopen(f"{base}flows?{query}") as answer:
        return [flow["id"] for flow in json.load(answer)]


def dump(web: Mitmweb) -> bytes:
    """All flows, as mitmweb saves them."""
    with urllib.request.urlopen(web.page.replace("/?", "/flows/dump?", 1)) as answer:
        saved: bytes = answer.read()
    return saved


class ThinkPage(Page):
    """The page in the browser. Each look at it finds everything anew."""

    def show(self, web: Mitmweb, rows: int = 1) -> None:
        """Open it, and wait until so many exchanges are listed."""
        self.open_address(address(web))
        self.until(lambda: len(self._all(ROWS)) >= rows, f"{rows} rows")

    def open_address(self, address: str) -> None:
        """Open it, and wait for nothing."""
        self._browser.get("about:blank")
        self._browser.get(address)

    def leave(self) -> None:
        """Look no more, before a server goes."""
        self._browser.get("about:blank")

    def after(self, script: str, *arguments: object) -> float:
        """Run a script that reports its own end; return its result."""
        self._browser.set_script_timeout(60)
        return float(str(self._browser.execute_async_script(script, *arguments)))

    def until_shown(self, text: str, where: str = ".exchange") -> str:
        """Wait until the element has the text; return all its text."""
        self.until(lambda: text in self.text(where), f"{text!r} in {where}")
        return self.text(where)

    def text(self, where: str) -> str:
        """Return the visible text of an element, once the browser has drawn it."""
        self._browser.execute_async_script(DRAWN)
        return self._text(where)

    def content(self, where: str = "") -> str:
        """Return all text of an element, visible or not; by default of mitmweb's content view."""
        return self._content(where) if where else super().content()

    def pick(self, number: int = 0) -> None:
        """Choose an exchange of the list, 0 for the newest, and wait until its end is shown or it
        runs.
        """
        self._all(ROWS)[number].click()
        done = (
            ".exchange .end dl, .exchange .end .error, .exchange .waiting, .exchange .reply .part"
        )
        self.until(lambda: bool(self._all(done)), "the exchange")
        self.until(lambda: not self.script("return document.body.ariaBusy === 'true'"), "all of it")

    def press(self, what: str) -> None:
        """Click on what a selector names."""
        self._press(By.CSS_SELECTOR, what)

    def rows(self) -> list[str]:
        """Return the texts of the listed rows."""
        return [row.text for row in self._all(ROWS)]

    def keys(self, keys: str) -> None:
        """Type where the focus is."""
        ActionChains(self._browser).send_keys(keys).perform()

    def fill(self, where: str, text: str) -> None:
        [field] = self._all(where)
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(text or Keys.DELETE)

    def select(self, where: str, text: str) -> None:
        """Choose from a list of choices."""
        self.script(
            f"const field = document.querySelector({where!r});"
            f"field.value = {text!r}; field.dispatchEvent(new Event('change'))"
        )

    def attribute(self, where: str, name: str) -> str:
        return str(self.script(f"return document.querySelector({where!r})?.getAttribute({name!r})"))

    def copied(self) -> str:
        """Return the text that the last copying button has copied."""
        self._browser.execute_cdp_cmd(
            "Browser.grantPermissions", {"permissions": ["clipboardReadWrite"]}
        )
        return str(
            self._browser.execute_async_script(
                "const done = arguments[0]; navigator.clipboard.readText().then(done, String)"
            )
        )

    def save(self, path: Path) -> None:
        """Save a picture of the page."""
        assert self._browser.save_screenshot(str(path))

    def webp(self, quality: int) -> bytes:
        """Return a picture of the page as a WebP file."""
        chosen = {"format": "webp", "quality": quality}
        taken = self._browser.execute_cdp_cmd("Page.captureScreenshot", chosen)
        return base64.b64decode(taken["data"])

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def unsize(self) -> None:
        self._browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
