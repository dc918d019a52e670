"""`think_record`: a real mitmdump keeps each exchange, without secrets, and no reply waits for it
or fails by it.
"""

import itertools
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.test import taddons

from converter.core.dialects.table import DIALECTS
from converter.extras.recordings.flow_file import to_flow
from converter.extras.recordings.library import Library
from converter.extras.recordings.recorder import Recorder
from converter.extras.recordings.recording import Recording
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, question
from tests.support.frames import ROLE, stream, text, whole
from tests.support.harness import ADDON, MITMDUMP, Program, Proxy, start_proxy
from tests.support.made_recordings import recording
from tests.support.scripted_server import JSON, Drop, ReceivedRequest, Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = stream("<think>deep</think>", "hello")
SUFFIXES = (".mitm", *(f".{dialect.name}.txt" for dialect in DIALECTS))
NAME = "{number:04}-{kind}-small"
KINDS = {"openai": "chat", "anthropic": "messages"}


@contextmanager
def _recording(
    address: str, folder: Path, log: str = "recording", server: str = "generic"
) -> Iterator[tuple[Proxy, Library]]:
    """A mitmdump that records; when it has ended, all that it had to write is there."""
    library = Library(folder / "kept")
    arguments = ["--set", f"think_record={library.folder}", "--set", f"think_server={server}"]
    with start_proxy([f"reverse:{address}"], arguments, folder, log) as proxy:
        yield proxy, library


def _ask(proxy: Proxy, dialect: Dialect = OPENAI, streamed: bool = True) -> bytes:
    with Client(proxy.ports[0]) as client:
        return client.ask(dialect.path, question(streamed)).body


def test_each_exchange_is_a_clean_recording_with_goldens(
    server: ScriptedServer, tmp_path: Path, dialect: Dialect, streamed: bool
) -> None:
    server.answer(Reply(GOOD) if streamed else Reply([whole("<think>deep</think>hello")], JSON))
    with _recording(server.address, tmp_path) as (proxy, library):
        got = [_ask(proxy, dialect, streamed) for _ in range(2)]
    names = [NAME.format(number=number, kind=KINDS[dialect.name]) for number in (1, 2)]
    assert library.names() == names
    assert [library.check(name, lambda *_: []) for name in names] == [[], []]
    kept = library.load(names[0])
    assert (
        dialect.read(kept.client_reply.body, streamed).thinking
        == dialect.read(got[0], streamed).thinking
        == "deep"
    )
    assert b"<think>" in kept.body
    assert len(kept.chunks) >= 1
    assert sorted(path.name for path in library.folder.iterdir()) == sorted(
        f"{name}{suffix}" for name in names for suffix in SUFFIXES
    )


CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'


def test_a_call_of_the_text_has_the_name_that_it_has_when_played_again(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answer(Reply(stream(CALL)))
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}
    with _recording(server.address, tmp_path) as (proxy, library), Client(proxy.ports[0]) as client:
        counted = {"stream_options": {"include_usage": True}}
        client.ask(OPENAI.path, question(True, tools=[tool], **counted))
    kept = library.load(NAME.format(number=1, kind="chat"))
    assert b'"call_recording_0"' in kept.client_reply.body
    assert kept.replayed().body == kept.client_reply.body


def test_two_runs_at_once_take_no_name_twice(server: ScriptedServer, tmp_path: Path) -> None:
    server.answer(Reply(GOOD))
    with (
        _recording(server.address, tmp_path, "first") as (first, library),
        _recording(server.address, tmp_path, "second") as (second, _),
    ):
        threads = [threading.Thread(target=_ask_often, args=(proxy,)) for proxy in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert library.names() == [f"{number:04}-chat-small" for number in range(1, 21)]


def _ask_often(proxy: Proxy) -> None:
    for _ in range(10):
        _ask(proxy)


def _only(library: Library) -> Recording:
    [name] = library.names()
    assert library.check(name, lambda *_: []) == []
    return library.load(name)


def test_a_stream_that_the_server_drops_is_kept(
    server: ScriptedServer, tmp_path: Path, dialect: Dialect
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>hel"), Drop()]))
    with _recording(server.address, tmp_path) as (proxy, library), Client(proxy.ports[0]) as client:
        response = client.send(dialect.path, question(stream=True))
        with suppress(HTTPException, OSError):
            response.read()
    kept = _only(library)
    assert kept.abort_reason
    assert b"<think>deep</think>hel" in kept.body


def _flow(count: int) -> HTTPFlow:
    return to_flow(recording(pieces=stream("<think>", *["word "] * count, "</think>", "hello")))


def test_what_waits_when_mitmproxy_ends_is_kept(tmp_path: Path) -> None:
    keeper = Recorder()
    with taddons.context() as context:
        context.options.add_option("think_record", str, str(tmp_path), "")
        kept = [keeper.keep(_flow(count), f"of-{count}") for count in (10, 5000)]
        keeper.done()
        assert [future.result(0).partition("\n")[0] for future in kept] == [
            f"kept {tmp_path / name}.mitm" for name in ("of-10", "of-5000")
        ]
        assert len([*tmp_path.glob("*.mitm")]) == 2


def test_a_recording_that_cannot_be_written_costs_a_line_and_no_reply(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answer(Reply(GOOD))
    with _recording(server.address, tmp_path) as (proxy, library):
        library.folder.rmdir()
        library.folder.write_text("in the way")
        assert OPENAI.read_stream(_ask(proxy)).thinking == "deep"
        proxy.wait_for("is not recorded: ")
        [trouble] = proxy.troubles()
    assert str(library.folder) in trouble


BAD = {
    "a file": lambda folder: folder / "file",
    "a folder in no folder": lambda folder: folder / "none" / "kept",
    "a folder in a file": lambda folder: folder / "file" / "kept",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_folder_that_cannot_be_is_refused_in_one_line(tmp_path: Path, bad: object) -> None:
    assert callable(bad)
    (tmp_path / "file").touch()
    command = [
        str(MITMDUMP),
        "-s",
        str(ADDON),
        "--set",
        f"confdir={tmp_path}",
        "-p",
        "0",
        "--set",
        f"think_record={bad(tmp_path)}",
    ]
    with Program(command, tmp_path / "log") as program:
        assert program.exit_status() == 1
    [line] = re.findall("think_record.*", program.output)
    assert str(bad(tmp_path)) in line
    assert "Traceback" not in program.output


SECRETS = {
    where: f"secret-{where}-{os.urandom(6).hex()}"
    for where in (
        "bearer",
        "api-key",
        "cookie",
        "header",
        "organisation",
        "metadata",
        "user",
        "identifier",
        "query",
        "field",
        "set-cookie",
        "response-header",
    )
}


def _with_secrets(dialect: Dialect, streamed: bool) -> tuple[str, bytes, dict[str, str]]:
    fields = {
        "metadata": {"user_id": SECRETS["metadata"]},
        "safety_identifier": SECRETS["identifier"],
        "my_own_field": {"deep": [SECRETS["field"]]},
    }
    if dialect is OPENAI:
        fields["user"] = SECRETS["user"]
    headers = {
        "authorization": f"Bearer {SECRETS['bearer']}",
        "x-api-key": SECRETS["api-key"],
        "cookie": f"session={SECRETS['cookie']}; other=1",
        "x-forwarded-user": SECRETS["header"],
        "openai-organization": SECRETS["organisation"],
        "anthropic-version": "2023-06-01",
    }
    return (
        f"{dialect.path}?beta=true&key={SECRETS['query']}",
        question(streamed, **fields),
        headers,
    )


def _echo(request: ReceivedRequest) -> Says:
    """Repeat the whole request, as servers do in their errors; in the answer as well, cut in the
    middle of each secret.
    """
    repeated = " ".join([request.target, *request.headers.values(), request.body.decode()])
    heads = {
        "set-cookie": f"id={SECRETS['set-cookie']}",
        "x-request-user": SECRETS["response-header"],
    }
    if json.loads(request.body).get("stream"):
        pieces = [repeated[at : at + 7] for at in range(0, len(repeated), 7)]
        return Says(
            steps=stream("<think>", *pieces, "</think>", *pieces),
            headers={"content-type": "text/event-stream", **heads},
        )
    return Says(whole(f"<think>{repeated}</think>{repeated}"), headers={**JSON, **heads})


def _fail(request: ReceivedRequest) -> Says:
    repeated = " ".join([request.target, *request.headers.values(), request.body.decode()])
    return Says(
        {"error": {"message": f"Incorrect API key: {repeated}", "type": "authentication_error"}},
        401,
    )


@pytest.mark.parametrize(
    "answer", [_echo, _fail], ids=["echoed in an answer", "echoed in an error"]
)
def test_no_secret_is_in_any_file(tmp_path: Path, answer: object) -> None:
    assert callable(answer)
    with (
        ByPathServer({CHAT: answer}) as server,
        _recording(server.address, tmp_path) as (proxy, library),
        Client(proxy.ports[0]) as client,
    ):
        for dialect, streamed in itertools.product((OPENAI, ANTHROPIC), (True, False)):
            client.ask(*_with_secrets(dialect, streamed))
        keys = [received.headers["authorization"] for received in server.requests]
    assert [SECRETS["bearer"] in key for key in keys] == [True] * 4  # they were sent
    assert len(library.names()) == 4
    written = {path.name: path.read_bytes() for path in library.folder.iterdir()}
    leaks = [
        (name, where)
        for name, data in written.items()
        for where, secret in SECRETS.items()
        if secret.encode() in data
    ]
    assert leaks == []
    assert not [name for name, data in written.items() if server.address.encode() in data]
