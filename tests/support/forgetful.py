"""A client that drops thoughts, in each dialect: its requests, and what it keeps of the replies."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from converter.addon.exchange import settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.earlier_thoughts import EarlierThoughts
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import ReadRequest, read, read_in_dialect
from converter.addon.servers.profiles import by_name
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.model.memory import Memory
from tests.support import endpoints

type Item = dict[str, Any]

MODEL = "Qwen3.6-35B-A3B"
LLAMA = by_name("llama.cpp")
TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}


def _of_chat(reply: Item, thoughts: bool) -> list[Item]:
    message = reply["choices"][0]["message"]
    names = ("content", "tool_calls", *(["reasoning_content"] if thoughts else []))
    fields = {name: message[name] for name in names if message.get(name) is not None}
    return [{"role": "assistant", **fields}]


def _of_messages(reply: Item, thoughts: bool) -> list[Item]:
    blocks = [part for part in reply["content"] if thoughts or part["type"] != "thinking"]
    return [{"role": "assistant", "content": blocks}]


def _of_responses(reply: Item, thoughts: bool) -> list[Item]:
    return [item for item in reply["output"] if thoughts or item["type"] != "reasoning"]


@dataclass(frozen=True)
class Api:
    """Writers of a client's items in one dialect: reply, user's turn, tool's result, request."""

    client: Dialect
    endpoint: Any
    kept: Callable[[Item, bool], list[Item]]
    result: Callable[[str, str], Item]
    body: Callable[[list[Item]], Item]


def _result_block(call: str, result: str) -> Item:
    block = {"type": "tool_result", "tool_use_id": call, "content": result}
    return {"role": "user", "content": [block]}


APIS = {
    "chat": Api(
        OPENAI_CHAT,
        endpoints.CHAT,
        _of_chat,
        lambda call, result: {"role": "tool", "tool_call_id": call, "content": result},
        lambda items: {
            "messages": items,
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": TOOL}}],
        },
    ),
    "messages": Api(
        ANTHROPIC,
        endpoints.MESSAGES,
        _of_messages,
        _result_block,
        lambda items: {
            "messages": items,
            "max_tokens": 99,
            "tools": [{"name": "weather", "input_schema": TOOL}],
        },
    ),
    "responses": Api(
        RESPONSES,
        endpoints.RESPONSES,
        _of_responses,
        lambda call, result: {"type": "function_call_output", "call_id": call, "output": result},
        lambda items: {
            "input": items,
            "store": False,
            "tools": [{"type": "function", "name": "weather", "parameters": TOOL}],
        },
    ),
}


@dataclass
class Talk:
    """One conversation through the machines. `thoughts`: the client brings them back."""

    api: Api
    memory: Memory
    model: str = MODEL
    owner: str = ""
    thoughts: bool = False
    options: Item = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)

    def request(self) -> ReadRequest:
        """Return the request as it goes to the server."""
        chosen, api = settings.read(self.options), self.api
        exchange = Exchange(api.endpoint, chosen, client_dialect=api.client, owner=self.owner)
        body = json.dumps({"model": self.model, **api.body(self.items)}).encode()
        memory = Memory(store=self.memory.store, owner=self.owner)
        if api.client is OPENAI_CHAT:
            request = read_in_dialect(exchange, body)
            wants = request.wants_earlier_thoughts(LLAMA)
            return request.with_restored_thoughts(memory, LLAMA) if wants else request
        return read(exchange, body, memory).translate(LLAMA, False, memory)

    def turn(self, user: Item, reply: Sequence[bytes]) -> tuple[Item, EarlierThoughts]:
        """Say something, get this stream for a reply; return the server's request."""
        self.items.append(user)
        request = self.request()
        rewriter = AwaitedReply(request).rewriter(Form.STREAM, self.api.client, Form.WHOLE)
        position, out = request.earlier_thoughts.position, list[bytes]()
        for chunk in (*reply, b""):
            out += rewriter.feed(chunk) if chunk else rewriter.close()
            if position:
                position.add(rewriter.events, rewriter.thoughts)
        if position:
            position.keep()
        self.items += self.api.kept(json.loads(b"".join(out)), self.thoughts)
        return dict(request.body), request.earlier_thoughts


def says(text: str) -> Item:
    """Return a turn of the user."""
    return {"role": "user", "content": text}
