"""A dialect is one record and one row: a fourth one works with all others, by nothing else."""

import json
import re
from dataclasses import replace

import pytest

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange, begin
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.servers.profiles import by_name
from converter.addon.transcript import reply
from converter.addon.transcript.turns import Part
from converter.core.dialects import recogniser, table
from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import ANTHROPIC, COMMON, DIALECTS, FRAMINGS, Dialect, Form
from converter.core.model.conversation import RequestError, TextBlock, ThinkingBlock, ToolUse
from converter.core.model.memory import Memory
from converter.core.wire.sse import FrameDecoder, Framing
from tests.support import endpoints
from tests.support.frames import stream, whole
from tests.support.toy_dialect import TOY

SETTINGS = settings.read()
TOLD = [
    {"told": "text", "text": "<think>h"},
    {"told": "text", "text": "m</think>So"},
    {"told": "call", "name": "look", "text": '{"at": "sky"}'},
    {"told": "end", "text": "tool_calls"},
]
SERVERS_BYTES = {
    Form.STREAM: b"".join(f"data: {json.dumps(entry)}\n\n".encode() for entry in TOLD),
    Form.WHOLE: json.dumps({"told": TOLD}).encode(),
}
PARTS = [(ThinkingBlock, "hm"), (TextBlock, "So"), (ToolUse, "look")]
PAIRS = [
    pytest.param(
        server, client, server_form, form, id=f"{server}-{client}-{server_form.name}-{form.name}"
    )
    for server, client in [
        *((TOY, client) for client in (*DIALECTS, TOY)),
        *((server, TOY) for server in (COMMON, ANTHROPIC)),
    ]
    for server_form in Form
    for form in Form
]


@pytest.fixture(autouse=True)
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "DIALECTS", (*DIALECTS, TOY))
    monkeypatch.setattr(table, "_BY_NAME", {**table._BY_NAME, "toy": TOY})


def _words(part: Part) -> object:
    return part.name if isinstance(part, ToolUse) else getattr(part, "text", "")


def _sent(server: Dialect, form: Form) -> bytes:
    """The reply as a server of this dialect sends it."""
    if server is TOY:
        return SERVERS_BYTES[form]
    told = rewriter_of(SETTINGS, server, Form.STREAM, form, server=TOY)
    return b"".join(told.whole(SERVERS_BYTES[Form.STREAM]))


@pytest.mark.parametrize(("server", "client", "server_form", "form"), PAIRS)
def test_it_is_rewritten_from_and_to_every_other_dialect(
    server: Dialect, client: Dialect, server_form: Form, form: Form
) -> None:
    sent = _sent(server, server_form)
    for pieces in ([sent], [sent[place : place + 1] for place in range(len(sent))]):
        through = rewriter_of(SETTINGS, client, server_form, form, server=server)
        out = b"".join(
            [*(made for piece in pieces for made in through.feed(piece)), *through.close()]
        )
        assert through.failure == ""
        (turn,) = reply.read(out).turns
        assert [(type(part), _words(part)) for part in turn.parts] == PARTS


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("sent", [stream("<think>hm</think>So"), [whole("<think>hm</think>So")]])
def test_its_requests_are_translated_and_their_replies_come_back(
    sent: list[bytes], streamed: bool
) -> None:
    exchange = Exchange(endpoints.MESSAGES, SETTINGS, client=TOY)
    asked = json.dumps({"ask": "Why?", "stream": streamed}).encode()
    request = read_request.read(exchange, asked).written(by_name("llama.cpp"), parses=False)
    assert request.body["messages"] == [{"role": "user", "content": "Why?"}]
    server = Form.STREAM if len(sent) > 1 else Form.WHOLE
    out = b"".join(AwaitedReply(request).rewriter(server).whole(b"".join(sent)))
    assert out.startswith(b"data: ") is streamed
    (turn,) = reply.read(out).turns
    assert [_words(part) for part in turn.parts] == ["hm", "So"]


def test_its_bad_requests_and_errors_have_its_own_words() -> None:
    exchange = Exchange(endpoints.MESSAGES, SETTINGS, client=TOY)
    with pytest.raises(RequestError) as refused:
        read_request.read(exchange, b"{}")
    _, answer = exchange.refusal(refused.value)
    assert json.loads(answer.body)["told"] == "error"
    error = exchange.error(500, b"busy")
    assert error
    assert json.loads(error.body)["told"] == "error"


def test_it_is_known_by_its_name_its_replies_and_its_headers() -> None:
    assert table.by_name("toy") is TOY
    assert table.recognise(TOLD[0]) is TOY
    assert table.by_headers({"x-toy": "1"}) is TOY


def test_its_endpoints_are_found_and_its_own_answered() -> None:
    asked = begin("POST", "/toy", {}, SETTINGS, "1", reverse=True)
    assert asked
    assert asked.client is TOY
    assert asked.translated
    exchange = begin("GET", "/toy/names", {}, SETTINGS, "1", reverse=True)
    assert exchange
    answer = exchange.own(OwnRequest("GET", "/toy/names"), Memory(0, 0))
    assert answer
    assert json.loads(answer.body) == {"told": "end", "text": "/toy/names"}


def test_its_streams_are_framed_and_asked_for_as_its_record_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = Framing(
        "application/x-lines",
        FrameDecoder,
        lambda data, _: data + b"\n",
        re.compile(b"!"),
        (b"\n",),
    )
    dialect = replace(
        TOY, wire=replace(TOY.wire, framing=lines), requests=replace(TOY.requests, streams=True)
    )
    monkeypatch.setattr(recogniser, "FRAMINGS", (*FRAMINGS, lines))
    exchange = Exchange(endpoints.MESSAGES, settings.read({"think_native": ""}), client=dialect)
    assert ReadRequest(exchange, {"ask": "Why?"}).form is Form.STREAM
    assert ReadRequest(exchange, {"ask": "Why?", "stream": False}).form is Form.WHOLE
    awaited = AwaitedReply(ReadRequest(exchange, {"ask": "Why?"}))
    assert is_stream("application/x-lines; a=b")
    got = awaited.whole(200, "text/event-stream", b"".join(stream("So"))).answer
    assert got
    assert got.content_type == "application/x-lines; charset=utf-8"
