"""Valid requests of the recordings with a few things wrong: what cannot be read is refused in the
client's dialect, what can be read makes a request that a server can read.

They begin as valid ones, or all would be refused at the first field.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange import read_request
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.servers.profiles import SERVERS
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.extras.recordings.recording import Recording
from tests.fuzz.mutations import of, spoiled_bytes, spoiled_json
from tests.support.strategies import law

pytestmark = pytest.mark.slow

MEASURED = {dialect.name: of(dialect) for dialect in (ANTHROPIC, OPENAI_CHAT)}
"""Real requests. Those of the Responses API are made of chat completions below."""


def responses_request(recording: Recording) -> dict[str, object]:
    """The same question as the Responses API has it."""
    request = json.loads(recording.request.body)
    turns = [turn for turn in request.get("messages", ()) if isinstance(turn.get("content"), str)]
    items = [
        {"type": "message", "role": turn["role"], "content": turn["content"]}
        for turn in turns
        if turn["role"] in ("system", "user", "assistant")
    ]
    tools = [
        {"type": "function", **tool["function"]}
        for tool in request.get("tools", ())
        if "function" in tool
    ]
    return {"model": "m", "input": items, "tools": tools, "reasoning": {"effort": "low"}}


def read(exchange: Exchange, body: bytes) -> ReadRequest | None:
    """Read a request as the addon does; none: it was refused, with an answer for the client."""
    memory = Memory(10, 1 << 20)
    try:
        if not exchange.is_translated:
            return read_request.read_in_dialect(exchange, body)
        parsed = read_request.read(exchange, body, memory)
        written = [
            parsed.translate(server, parses) for server in SERVERS for parses in (True, False)
        ]
        return written[-1]
    except Exception as error:
        message, answer = exchange.refusal_answer(error)
        assert 400 <= answer.status < 500, message
        assert json.loads(answer.body)
        return None


def judge(exchange: Exchange, body: bytes) -> None:
    """Read it; what is made of it is JSON, and its reply can be set up, if anybody read it."""
    if (parsed := read(exchange, body)) is None:
        return
    assert isinstance(json_text.read(json_text.write(parsed.body)), dict)
    assert str(parsed.requested_model) is not None
    if parsed.form:
        wire = exchange.client_dialect.wire
        wire.encoder(parsed.reply_context, parsed.form is Form.WHOLE).close()


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI_CHAT], ids=str)
def test_spoiled_requests(dialect: Dialect) -> None:
    @law(60)
    @given(st.data(), st.sampled_from(MEASURED[dialect.name]))
    def spoiled(data: st.DataObject, recording: Recording) -> None:
        body = data.draw(spoiled_json(json.loads(recording.request.body)))
        judge(recording.exchange(), json.dumps(body).encode())

    spoiled()


@law(60)
@given(st.data(), st.sampled_from(MEASURED["openai"]))
def test_spoiled_requests_of_the_responses_api(data: st.DataObject, recording: Recording) -> None:
    exchange = recording.awaited(RESPONSES).request.exchange
    body = data.draw(spoiled_json(responses_request(recording)))
    judge(exchange, json.dumps(body).encode())


@law(40)
@given(st.data(), st.sampled_from([*MEASURED["anthropic"], *MEASURED["openai"]]))
def test_spoiled_bytes_of_requests(data: st.DataObject, recording: Recording) -> None:
    judge(recording.exchange(), data.draw(spoiled_bytes(recording.request.body)))


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI_CHAT], ids=str)
def test_what_the_fuzz_begins_with_is_valid(dialect: Dialect) -> None:
    for recording in MEASURED[dialect.name]:
        assert read(recording.exchange(), recording.request.body) is not None, recording.name


def test_what_the_fuzz_of_responses_begins_with_is_valid() -> None:
    for recording in MEASURED["openai"]:
        exchange = recording.awaited(RESPONSES).request.exchange
        body = json.dumps(responses_request(recording)).encode()
        assert read(exchange, body) is not None, recording.name
