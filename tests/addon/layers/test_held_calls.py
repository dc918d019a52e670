"""While a call in the text is held, the client of a stream gets signs of life: in each dialect and
each lane, by the addon's own hooks.
"""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

import pytest
from mitmproxy.http import HTTPFlow

from converter.core.dialects.table import DIALECTS, Dialect, Form
from laws.reply_parser import parse_reply
from tests.addon.layers.test_splice import carry
from tests.faults.judge import read_reply
from tests.support.addon_flows import begin, running, wait
from tests.support.frames import ROLE, chat_stream, text
from tests.support.proxy_core import END, HEAD, Core, chunk
from think_addon import ThinkAddon

SCHEMA = {"type": "object"}
FUNCTION = {"name": "save", "parameters": SCHEMA}
QUESTION = {"messages": [{"role": "user", "content": "hi"}]}
CHAT = {**QUESTION, "tools": [{"type": "function", "function": FUNCTION}]}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai": ("/v1/chat/completions", CHAT),
    "anthropic": (
        "/v1/messages",
        {**QUESTION, "tools": [{"name": "save", "input_schema": SCHEMA}]},
    ),
    "responses": ("/v1/responses", {"input": "hi", "tools": [{"type": "function", **FUNCTION}]}),
    "ollama": ("/api/chat", CHAT),
}
BEFORE = text("<think>", *["hm "] * 4, "</think>", *["Look. "] * 4)
CALL = text('<tool_call>{"name": "save", ', '"arguments": {"a": "', *["word "] * 7, '"}}')
REST = b"".join(text("</tool_call>")) + chat_stream([])


ENDED = {"budget": "enforce", "budget_tokens": "99"}
LANES: dict[str, tuple[Callable[[Core, bytes], object], Form, dict[str, str]]] = {
    "layers": (Core.answer, Form.STREAM, {}),
    "splice": (carry, Form.STREAM, {}),
    "one body of a stream": (Core.answer, Form.WHOLE, ENDED),
}


def hooks_of(addon: ThinkAddon) -> dict[str, Callable[[HTTPFlow], object]]:
    """The addon's hooks, each run to its end."""
    rest = ("request", "responseheaders", "response")
    runs = {name: lambda flow, name=name: wait(getattr(addon, name)(flow)) for name in rest}
    return {"requestheaders": lambda flow: begin(addon, flow), **runs}


@pytest.mark.parametrize("client", DIALECTS, ids=lambda client: client.name)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("fast", ["true", "false"], ids=["fast path", "parsed"])
def test_while_a_call_is_held_a_stream_has_signs_of_life(
    client: Dialect, lane: str, fast: str, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINK_FAST", fast)
    (path, fields), (read, form, options) = REQUESTS[client.name], LANES[lane]
    streams = form is Form.STREAM
    body = json.dumps({"model": "small", "stream": streams, "max_tokens": 999, **fields}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    with running(**options) as (addon, _), Core(cast(Any, addon._listener)) as core:
        core.hooks = hooks_of(addon)
        core.ask(head.encode() + body)
        core.answer(HEAD + chunk(ROLE))
        for frame in BEFORE:
            read(core, chunk(frame))
        sent, signs = core.received(), list[bytes]()
        for frame in CALL:
            clock[0] += 6
            read(core, chunk(frame))
            assert core.received() == b""
            core.tick()
            signs.append(core.received())
        core.answer(chunk(REST) + END)
        sent += b"".join(signs) + core.received()
    assert [*map(bool, signs)] == [False, streams] * (len(CALL) // 2)
    reply = parse_reply(read_reply(BytesIO(sent)).body, form, client).choice()
    assert [json.loads(call["arguments"]) for call in reply.calls.values()] == [{"a": "word " * 7}]
