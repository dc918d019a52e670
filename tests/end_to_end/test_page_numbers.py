"""The numbers at the head of the page, as its own script counts them in a real browser: of the hour
that ends with the newest exchange, of all models or of one.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.by_path_server import ByPathServer
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import ThinkPage

pytestmark = pytest.mark.slow

HOUR, BARS = 3600, 30
DRAWN = """
const [given, model] = arguments;
const of = (name) => import(new URL(`think/${name}.js`, document.baseURI));
return (async () => {
  const [{ rows }, { drawNumbers }] = await Promise.all([of("rows"), of("numbers")]);
  rows.clear();
  given.forEach((row, at) => rows.set(String(at), row));
  const chosen = document.getElementById("model");
  chosen.add(new Option(model, model));
  chosen.value = model;
  drawNumbers();
  const numbers = document.getElementById("numbers");
  return {
    hidden: numbers.hidden,
    tiles: [...numbers.children].map((tile) => [...tile.querySelectorAll("dt, b")].map((one) => one.textContent.trim())),
    bars: [...numbers.querySelectorAll("div:first-child rect.is")].map((bar) => Number(bar.getAttribute("x"))),
  };
})();
"""

type Row = dict[str, object]


def row(at: float = 1.0, model: str = "small", **fields: object) -> Row:
    done = {"state": "done", "thinking": 30, "text": 70, "first_byte": 0.1, "end": 1.0}
    return {"at": at, "model": model, "running": False, **done, **fields}


@pytest.fixture(scope="module")
def page(proxy_folder: Path) -> Iterator[ThinkPage]:
    with (
        ByPathServer() as server,
        Mitmweb(server.address, proxy_folder) as web,
        ThinkPage() as page,
    ):
        page.show(web, 0)
        yield page


def drawn(page: ThinkPage, rows: list[Row], model: str = "") -> Row:
    shown = page.script(DRAWN, rows, model)
    assert isinstance(shown, dict)
    return shown


def tiles(page: ThinkPage, rows: list[Row], model: str = "") -> dict[str, str]:
    shown = drawn(page, rows, model)["tiles"]
    assert isinstance(shown, list)
    return {label: " ".join(text.split()) for label, text in shown}


def test_nothing_has_no_numbers(page: ThinkPage) -> None:
    assert drawn(page, [])["hidden"]
    assert drawn(page, [row(running=True)])["hidden"]
    assert not drawn(page, [row()])["hidden"]


def test_they_are_counted_together_and_of_one_model(page: ThinkPage) -> None:
    rows = [row(), row(2, "large", state="broken"), row(3)]
    together = tiles(page, rows)
    assert (together["Requests"], together["Share of thinking"]) == ("3 1 failed", "30%")
    assert tiles(page, rows, "small")["Requests"] == "2 none failed"
    assert tiles(page, rows, "large")["Requests"] == "1 1 failed"


def test_times_are_the_middle_and_the_slowest_of_streamed_replies(page: ThinkPage) -> None:
    rows = [row(at, first_text=at / 10) for at in range(100, 0, -1)]
    whole = row(first_text=500, first_byte=1.0)
    shown = tiles(page, [*rows, whole])
    assert (shown["First text"], shown["First thought"]) == ("5.00 s p95 9.50 s", "–")
    assert shown["First byte"] == "100 ms p95 100 ms"


def test_the_hour_ends_with_the_newest(page: ThinkPage) -> None:
    rows = [row(5), row(HOUR + 5), row(HOUR + 4)]
    assert tiles(page, rows)["Requests"] == "2 none failed"


def test_each_stretch_of_the_hour_has_its_bar(page: ThinkPage) -> None:
    rows = [row(1), row(HOUR), row(HOUR)]
    assert drawn(page, rows)["bars"] == [0, BARS - 1]
