"""mitmproxy's console in a real terminal: the same view as in mitmweb, live, the same commands, and
nothing raw from the model.
"""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.clients import OPENAI, Client, Dialect, Live, question
from tests.support.console import Console
from tests.support.frames import END, ROLE, stream, text

pytestmark = pytest.mark.slow

THOUGHT = "Seventy and fourteen."
ANSWER = "The answer is 84."
TAGGED = ("<think>", THOUGHT, "</think>", f"\n\n{ANSWER}")


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("llamacpp")) as server:
        yield server


@pytest.fixture
def console(server: ByPathServer, proxy_folder: Path) -> Iterator[Console]:
    with Console(server.address, proxy_folder) as console:
        yield console


def _ask(console: Console, server: ByPathServer, *texts: str, dialect: Dialect = OPENAI) -> None:
    server.rows[CHAT] = Says(steps=stream(*texts))
    with Client(console.port) as client:
        client.ask(dialect.path, question(stream=True))


def _open_reply(console: Console) -> None:
    """Open the only listed flow, and its reply."""
    console.shows("[1/1]")
    console.press("Enter")
    console.shows("Flow Details")
    console.press("Tab")


def test_the_view_is_chosen_by_itself(
    console: Console, server: ByPathServer, dialect: Dialect
) -> None:
    _ask(console, server, *TAGGED, dialect=dialect)
    _open_reply(console)
    shown = console.shows(ANSWER)
    assert "Thinking  " in shown
    assert shown.index(THOUGHT) < shown.index(ANSWER)
    assert "think>" not in shown


def test_a_stream_is_followed_live(
    console: Console, server: ByPathServer, dialect: Dialect
) -> None:
    goes_on, ends = threading.Event(), threading.Event()
    steps: list[Step] = [
        ROLE,
        *text("<think>First step."),
        goes_on,
        *text(" Second step."),
        ends,
        *text("</think>", ANSWER),
        *END,
    ]
    server.rows[CHAT] = Says(steps=steps)
    with Client(console.port) as client:
        live = Live(client.send(dialect.path, question(stream=True)))
        live.until(b"First step.")
        _open_reply(console)
        assert "Second step." not in console.shows("First step.")
        goes_on.set()
        assert ANSWER not in console.shows("Second step.")
        ends.set()
        assert live.rest().count(b"Second step.") == 1
    console.shows(ANSWER)
    console.shows("tokens: ")


def test_revert_shows_what_the_server_sent(
    console: Console, server: ByPathServer, dialect: Dialect
) -> None:
    _ask(console, server, *TAGGED, dialect=dialect)
    _open_reply(console)
    console.shows(ANSWER)
    console.press("V")
    console.command("console.flowview.mode.set raw")
    console.shows("<think>")
    console.command("console.flowview.mode.set auto")
    console.hides("<think>")


EVIL = "\x1b[31mRED\x1b]52;c;aGFja2Vk\x07\x9b31m\x85\x08\r\x7f\u202egnp.exe\u2028"
RAW = (
    b"\x1b[31mRED",
    b"\x1b]52",
    b"aGFja2Vk\x07",
    b"\xc2\x9b",
    b"\xc2\x85",
    b"\xe2\x80\xae",
    b"\xe2\x80\xa8",
)
"""Text that a terminal would obey, or that misleads a reader: colours, the clipboard, C1, text that
runs backwards.
"""


def _evil() -> Says:
    """A reply that has it wherever text is shown: the model's name, thought, text, a tool call, a
    field of the server's.
    """
    call = {
        "index": 0,
        "id": f"i{EVIL}",
        "type": "function",
        "function": {"name": f"f{EVIL}", "arguments": json.dumps({"a": EVIL})},
    }
    delta = {"tool_calls": [call], f"field{EVIL}": EVIL}
    steps = [ROLE, *text(f"<think>t{EVIL}", f"</think>a{EVIL}END"), *END]
    steps.insert(
        3, b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"
    )
    return Says(steps=[step.replace(b'"small"', json.dumps(f"m{EVIL}").encode()) for step in steps])


def test_nothing_of_the_model_reaches_the_terminal_raw(
    console: Console, server: ByPathServer, dialect: Dialect
) -> None:
    server.rows[CHAT] = _evil()
    before = len(console.written)
    asks = question(stream=True, messages=[{"role": "user", "content": f"u{EVIL}"}])
    with Client(console.port) as client:
        client.ask(dialect.path, asks)
    console.shows("[1/1]")
    console.press("Enter")
    console.shows("user")
    console.press("Tab")
    console.shows("END")
    console.command("console.flowview.mode.set 'thinking server'")
    console.shows("Thinking server  ")
    console.press("Tab")
    console.shows("Comment: ")
    console.press("Tab")
    console.command("console.flowview.mode.set auto")
    console.command("think.show @focus")
    console.press("E")
    console.shows("conversation:")
    written = console.written[before:]
    assert [raw for raw in RAW if raw in written] == []


def test_a_key_keeps_a_flow_as_a_recording(
    server: ByPathServer, proxy_folder: Path, tmp_path: Path
) -> None:
    with Console(server.address, proxy_folder, "--set", f"think_record={tmp_path}") as console:
        _ask(console, server, *TAGGED)
        console.shows("[1/1]")
        console.press("t")
        console.shows("think.record @focus")
        console.type("kept-by-a-key")
        console.press("Enter")
        console.shows("kept-by-a-key.mitm")
    assert (tmp_path / "kept-by-a-key.mitm").exists()
