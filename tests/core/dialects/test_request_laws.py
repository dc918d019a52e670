"""Laws of the whole way of a request, from the Messages API to chat completions, over drawn
requests.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicBody
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from converter.addon.servers.profiles import GENERIC, SERVERS, Server, by_name, request_settings
from converter.core.dialects.anthropic import request_reader as anthropic_request
from converter.core.dialects.openai_chat.request_writer import write

pytestmark = pytest.mark.slow

# Pydantic checks an `Iterable` only as it is read, and needs its adapter alive until then.
ANTHROPIC = TypeAdapter[Any](AnthropicBody)
OPENAI = TypeAdapter[Any](CompletionCreateParamsNonStreaming)
SERVER_NAMES = [server.name for server in SERVERS]


def written(request: dict[str, Any], server: Server = GENERIC, **fields: Any) -> dict[str, Any]:
    conversation = anthropic_request.read(request)
    return write(conversation, request_settings(server, conversation, **fields))[0]


def read_through(value: Any) -> None:
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, str | int | float | None):
        for item in value:
            read_through(item)


# Every text carries a number, so that nothing can be lost or change its place unseen.

PIXEL = base64.b64encode(b"\x89PNG").decode()
NOISE = st.text(st.sampled_from('ab \n<>/think`"\\{}é🙂'), max_size=12)


class Numbered:
    """Draws a Messages request; `texts` has every text in it, in order."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.texts: list[str] = []
        self.calls: list[str] = []

    def text(self) -> str:
        self.texts.append(f"{self.draw(NOISE)}[{len(self.texts)}]{self.draw(NOISE)}")
        return self.texts[-1]

    def block(self, kind: str) -> dict[str, object]:
        match kind:
            case "thinking":
                return {"type": "thinking", "thinking": self.text(), "signature": "sig-secret"}
            case "redacted_thinking":
                return {"type": "redacted_thinking", "data": "sig-secret"}
            case "image":
                return {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                }
            case "document":
                return {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": self.text()},
                }
            case "tool_use":
                self.calls.append(f"call_{len(self.calls)}")
                return {"type": "tool_use", "id": self.calls[-1], "name": "f", "input": {}}
            case _:
                return {"type": "text", "text": self.text()}

    def blocks(self, *kinds: str, most: int = 4) -> list[dict[str, object]]:
        return [
            self.block(kind) for kind in self.draw(st.lists(st.sampled_from(kinds), max_size=most))
        ]

    def results(self, calls: list[str]) -> Iterator[dict[str, object]]:
        for call in calls:
            yield from self.blocks("text", "image", most=1)
            content = (
                self.text()
                if self.draw(st.booleans())
                else self.blocks("text", "image", "document")
            )
            yield {
                "type": "tool_result",
                "tool_use_id": call,
                "content": content,
                "is_error": self.draw(st.booleans()),
            }

    def messages(self) -> Iterator[dict[str, object]]:
        for _ in range(self.draw(st.integers(1, 3))):
            yield {"role": "user", "content": self.blocks("text", "image", "document")}
            if self.draw(st.booleans()):
                yield {"role": "system", "content": self.text()}
            before = len(self.calls)
            yield {
                "role": "assistant",
                "content": self.blocks("thinking", "redacted_thinking", "text", "tool_use"),
            }
            yield {
                "role": "user",
                "content": [*self.results(self.calls[before:]), self.block("text")],
            }


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    drawn = Numbered(draw)
    system = drawn.text()
    messages = list(drawn.messages())
    return {"model": "m", "max_tokens": 10, "system": system, "messages": messages}, drawn.texts


def strings(messages: Any) -> Iterator[str]:
    for message in messages:
        content = message["content"]
        yield from (
            [content]
            if isinstance(content, str)
            else [part["text"] for part in content if part["type"] == "text"]
        )


@given(requests(), st.sampled_from(SERVER_NAMES))
def test_no_text_is_lost_or_moved(drawn: tuple[dict[str, Any], list[str]], name: str) -> None:
    request, texts = drawn
    body = written(request, replace(by_name(name), tool_turn_history=""))
    sent = "\0".join(strings(body["messages"]))
    # Texts of a tool result stand in its message, its images after the run: texts alone keep their
    # order.
    assert [int(number) for number in re.findall(r"\[(\d+)\]", sent)] == list(range(len(texts)))
    assert all(text in sent for text in texts)


@given(
    requests(),
    st.sampled_from(SERVER_NAMES),
    st.sampled_from(["tags", "reasoning_content", "reasoning", "drop"]),
    st.booleans(),
)
def test_every_drawn_request_is_a_good_one(
    drawn: tuple[dict[str, Any], list[str]], name: str, history: Any, first: bool
) -> None:
    request, _ = drawn
    read_through(ANTHROPIC.validate_python(request))
    order = "tools-first" if first else "as-written"
    body = written(request, by_name(name), history=history, order=order)
    read_through(OPENAI.validate_python(body))
    assert "sig-secret" not in json.dumps(body)
    roles = [message["role"] for message in body["messages"]]
    assert "system" not in roles[1:]
    assert all(
        pair not in (("user", "user"), ("assistant", "assistant")) for pair in pairwise(roles)
    )


@given(requests())
def test_every_result_follows_its_call_when_tools_come_first(
    drawn: tuple[dict[str, Any], list[str]],
) -> None:
    body = written(drawn[0], order="tools-first")
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls", [])]
