"""Probes: the addon's own questions to a server. What it is, how its prompt ends, how many tokens
a prompt has.

Sans I/O: a probe is a generator that yields a request and is sent the reply, None when there was
none; its return value is the result. `converter.shell.probes.upstream_client` carries them.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from converter.model.initial_state import InitialState
from converter.servers.initial_state import end_of_prompt
from converter.servers.profiles import GENERIC, SERVERS, Fingerprint, Server
from converter.wire import json_text


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """A request to the server; a GET when there is no body. `path` begins after the prefix of the
    server's API.
    """

    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """The server's answer: header names in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def value(self) -> object:
        """Return the body's JSON, None when it is none or an error."""
        return json_text.read_or_none(self.body) if self.status == 200 else None


type Probe[Result] = Generator[ProbeRequest, ProbeReply | None, Result]


@dataclass(frozen=True, slots=True)
class Settled[Result]:
    """The end of a probe, which a thread cannot tell by StopIteration."""

    result: Result


def step[Result](probe: Probe[Result], reply: ProbeReply | None) -> ProbeRequest | Settled[Result]:
    """Return what a probe asks next, or what it has found out."""
    try:
        return probe.send(reply)
    except StopIteration as settled:
        return Settled(settled.value)


IDENTITY_PATHS = tuple(dict.fromkeys(mark.path for server in SERVERS for mark in server.marks))
"""Paths at which servers say what they are, asked at once because a server may hang on one."""


def recognise(replies: Mapping[str, ProbeReply | None]) -> Server | None:
    """Return the row of the server that answered so to `IDENTITY_PATHS`, generic when no row's
    marks fit; None when it has not said, so that it is to be asked again.
    """
    heard = {path: reply for path, reply in replies.items() if reply is not None}
    for server in SERVERS:
        if any(_fits(mark, heard) for mark in server.marks):
            return server
    silent = len(heard) < len(IDENTITY_PATHS)
    shut = any(reply.status in _SHUT or reply.status >= 500 for reply in heard.values())
    return None if silent or shut else GENERIC


def is_certain(server: Server, replies: Mapping[str, ProbeReply | None]) -> bool:
    """Tell whether no row before this one may fit as well, because a path of its was silent."""
    before = SERVERS[: SERVERS.index(server)] if server in SERVERS else SERVERS
    return all(replies.get(mark.path) for row in before for mark in row.marks)


def _fits(mark: Fingerprint, replies: Mapping[str, ProbeReply]) -> bool:
    reply = replies.get(mark.path)
    if reply is None:
        return False
    if mark.header:
        return mark.value in reply.headers.get(mark.header, "").lower()
    value = reply.value()
    listed = value.get("data") if isinstance(value, dict) else None
    places = [value, *listed] if isinstance(listed, list) else [value]
    matches = [
        place[mark.field] for place in places if isinstance(place, dict) and mark.field in place
    ]
    return mark.value in matches if mark.value else bool(matches)


def count_tokens(server: Server, body: Mapping[str, object]) -> Probe[int | None]:
    """Return how many tokens the prompt of a chat completion has, None when the server has no
    tokenizer to ask.
    """
    if server.name == "llama.cpp":
        return (yield from _count_on_llama(body))
    if server.name == "vllm":
        fields = {name: body[name] for name in _TEMPLATED if name in body}
        reply = yield ProbeRequest("/tokenize", json_text.write(fields))
        count = _field(reply, "count")
        return count if type(count) is int else None
    return None


def prompt_state(server: Server, body: Mapping[str, object]) -> Probe[InitialState | None]:
    """Return where the reply to a chat completion begins, None when the server cannot be asked for
    its prompt.
    """
    if server.name != "vllm":
        return None
    fields = {name: body[name] for name in _TEMPLATED if name in body}
    fields["return_token_strs"] = True
    tokens = _field((yield ProbeRequest("/tokenize", json_text.write(fields))), "token_strs")
    if not isinstance(tokens, list) or not tokens:
        return None
    tail = "".join(map(str, tokens[-_TAIL:]))
    return end_of_prompt(tail.replace("Ċ", "\n").replace("Ġ", " "))  # byte-level BPE's LF and blank


def _count_on_llama(body: Mapping[str, object]) -> Probe[int | None]:
    prompt = _field((yield ProbeRequest("/apply-template", json_text.write(body))), "prompt")
    if not isinstance(prompt, str):
        return None
    fields = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = _field((yield ProbeRequest("/tokenize", json_text.write(fields))), "tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _field(reply: ProbeReply | None, name: str) -> object:
    value = reply.value() if reply else None
    return value.get(name) if isinstance(value, dict) else None


_SHUT = (401, 403)
"""A server that did not let the client in has said nothing of itself, nor has one that is still
starting.
"""
_TEMPLATED = ("model", "messages", "tools", "chat_template_kwargs")
_TAIL = 12
"""Tokens at a prompt's end that hold its last mark."""
CHARACTERS_PER_TOKEN = 4
"""Of English text and JSON; the estimate for servers without a tokenizer to ask."""


def estimate_tokens(body: Mapping[str, object]) -> int:
    """Return a rough count: of the characters of what the model reads."""
    read = json_text.write([body.get("messages"), body.get("tools")]).decode()
    return max(1, len(read) // CHARACTERS_PER_TOKEN)
