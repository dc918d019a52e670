"""The commands, sent to a real mitmweb as by its page; and the command bar's answers."""

import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from mitmproxy.test import taddons
from mitmproxy.tools.console.keymap import Keymap

from converter.core.dialects.table import DIALECTS
from converter.extras.recordings.library import Library
from converter.extras.recordings.recorder import KEY, KEY_CONTEXTS, Recorder
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, Live, question
from tests.support.console import Console
from tests.support.frames import END, ROLE, stream, text
from tests.support.harness import FAULTS
from tests.support.mitmweb import Mitmweb
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

HELLO = "hello <b>you</b>"
GOOD = Reply(stream("<think>deep</think>", HELLO))


class Web(Mitmweb):
    """mitmweb, whose commands are called as its page calls them."""

    def __init__(self, server: str, folder: Path) -> None:
        super().__init__(server, folder, "--set", "think_server=generic", cwd=folder)
        self.recordings = folder / "recordings"

    def forget(self) -> None:
        """Have no flow, no recording and no output, as if it had just been started."""
        self.call("view.clear")
        if self.recordings.is_file():
            self.recordings.unlink()
        shutil.rmtree(self.recordings, ignore_errors=True)
        super().forget()

    def call(self, name: str, *arguments: str) -> Any:
        """Return the result of a command; raise its error."""
        headers = {
            "content-type": "application/json",
            "cookie": "_mitmproxy_xsrf=abcd",
            "x-xsrftoken": "abcd",
        }
        body = json.dumps({"arguments": arguments}).encode()
        address = self.page.replace("/?", f"/commands/{name}?", 1)
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            result = json.load(answer)
        if "error" in result:
            raise CommandError(result["error"])
        return result["value"]

    def ask(self, dialect: Dialect = OPENAI, streamed: bool = True, query: str = "") -> None:
        """Have one more flow, complete."""
        before = len(self.wait_for("reply: ", 0))
        with Client(self.port) as client:
            client.ask(dialect.path + query, question(streamed))
        self.wait_for("reply: ", before + 1)


class CommandError(Exception):
    """The text that the command bar would show in red."""


@pytest.fixture(scope="module")
def one_web(
    scripted_server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    with Web(scripted_server.address, tmp_path_factory.mktemp("web")) as program:
        yield program


@pytest.fixture
def web(server: ScriptedServer, one_web: Web) -> Iterator[Web]:
    server.answer(GOOD)
    one_web.forget()
    yield one_web
    assert not FAULTS.search(one_web.output), one_web.output


def test_show_writes_the_conversation_to_the_log(web: Web, dialect: Dialect) -> None:
    web.ask(dialect)
    assert web.call("think.show", "@focus") is None
    web.wait_for(rf"conversation:\n(?s:.*)user\n.*hi(?s:.*)assistant\n.*deep\n\n.*{HELLO}")


def test_record_keeps_the_chosen_flow(web: Web, dialect: Dialect) -> None:
    web.ask(dialect)
    assert web.call("think.record", "@focus", "odd-reply") is None
    web.wait_for("recording: kept .*/recordings/odd-reply.mitm")
    library = Library(web.recordings)
    assert library.names() == ["odd-reply"]
    assert library.check("odd-reply", lambda *_: []) == []
    assert len(list(library.folder.iterdir())) == 1 + len(DIALECTS)


def test_record_without_a_flow_takes_the_last_reply_and_says_which(web: Web) -> None:
    web.ask(OPENAI)
    web.ask(ANTHROPIC, query="?key=secret")
    web.call("think.record", "the-last")
    web.wait_for("recording: the last reply, POST /v1/messages\n")
    assert "secret" not in web.output
    web.wait_for("recording: kept .*/recordings/the-last.mitm")
    assert Library(web.recordings).load("the-last").request.path == "/v1/messages"


def _again(web: Web, _: Path) -> None:
    web.call("think.record", "@focus", "twice")
    web.wait_for("kept .*/recordings/twice.mitm")
    web.call("think.record", "@focus", "twice")


def _unwritable(web: Web, _: Path) -> None:
    web.recordings.write_text("in the way")
    web.call("think.record", "@focus", "x")


def _foreign(web: Web, _: Path) -> None:
    with Client(web.port) as client:
        client.ask("/v1/embeddings", b"{}")
    web.call("think.record", "~u embeddings", "x")


def _foreign_shown(web: Web, _: Path) -> None:
    with Client(web.port) as client:
        client.ask("/v1/embeddings", b"{}")
    web.call("think.show", "~u embeddings")


REFUSED: dict[str, tuple[Callable[[Web, Path], None], str]] = {
    "a name that is none": (
        lambda web, _: web.call("think.record", "@focus", "../x"),
        r"expected a name .*, got '\.\./x'",
    ),
    "a recording that is there": (_again, r".*/recordings/twice\.mitm is there already"),
    "a folder that cannot be": (_unwritable, r".*/recordings cannot be made: .*"),
    "a flow that is not ours": (_foreign, r".*without the addon.*"),
    "a flow that is no conversation": (
        _foreign_shown,
        r"this flow is no conversation with a model",
    ),
}


@pytest.mark.parametrize(("do", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_in_one_line(
    web: Web, tmp_path: Path, do: Callable[[Web, Path], None], message: str
) -> None:
    web.ask()
    with pytest.raises(CommandError, match=f"^{message}$"):
        do(web, tmp_path)


def test_a_flow_that_still_runs_is_shown_and_not_kept(server: ScriptedServer, web: Web) -> None:
    held = Event()
    server.answer(Reply([ROLE, *text("<think>deep</think>hel"), held, *END]))
    with Client(web.port) as client:
        live = Live(client.send(OPENAI.path, question(stream=True)))
        live.until(b"hel")
        with pytest.raises(CommandError, match=r"^this flow is still running$"):
            web.call("think.record", "@focus", "x")
        assert web.call("think.show", "@focus") is None
        held.set()
        live.rest()
    web.wait_for("reply: ")


@contextmanager
def _keymap(*taken: str) -> Iterator[Keymap]:
    """The console's own map of keys, some of them taken in these contexts."""
    with taddons.context() as context:
        keys = context.master.keymap = Keymap(context.master)
        for name in taken:
            keys.add(KEY, "the.users.own", [name])
        Recorder().running()
        yield keys


def test_the_key_keeps_the_chosen_flow_of_the_console(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answer(GOOD)
    folder = tmp_path / "mine"
    with Console(
        server.address, tmp_path, "--set", "think_server=generic", "--set", f"think_record={folder}"
    ) as console:
        with Client(console.port) as client:
            client.ask(OPENAI.path, question(stream=True))
        console.shows(OPENAI.path)
        console.press("t")
        console.shows("think.record")
        console.press(*"pressed", "Enter")
        console.shows("recording: kept")
    assert Library(folder).names() == ["0001-chat-small", "pressed"]


@pytest.mark.parametrize("taken", [*KEY_CONTEXTS, "global"])
def test_a_key_of_the_users_own_stays_theirs(taken: str) -> None:
    with _keymap(taken) as keys:
        bound = [keys.get(name, KEY) for name in [*KEY_CONTEXTS, "global"]]
    assert [binding.command for binding in bound if binding] == ["the.users.own"]
