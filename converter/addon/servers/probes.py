"""Probes, the addon's own questions to a server, such as its kind or a prompt's tokens:
`addon/probes/upstream_client.py` sends each `ProbeRequest`, the probe reads the `ProbeReply`. Also
`estimate_tokens`, which asks no server, and `ADDON_PATH`, at which the addon identifies itself.

A probe does no I/O. It is a generator that yields a `ProbeRequest`, is sent the `ProbeReply` (or
`None` if no reply came), and returns its result. The probe `end_thought` is an order: it has the
server end the thought of a running reply.
"""

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from converter.addon.servers.initial_state import state_after_prompt
from converter.addon.servers.profiles import GENERIC, SERVERS, Fingerprint, Server
from converter.addon.servers.unread_replies import TEMPLATE_PATH
from converter.core.dialects.server_fields import TEMPLATE
from converter.core.dialects.table import COMMON
from converter.core.model.initial_state import InitialState
from converter.core.model.raw_messages import messages_of, role_of, with_messages
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object, objects


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """A request that a probe sends to a server: a POST of JSON, or a GET."""

    path: str
    """The path, relative to the prefix of the server's API (`Upstream.prefix`)."""
    body: bytes | None = None
    """The JSON of a POST; `None`: the request is a GET."""


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """A server's response to a `ProbeRequest`."""

    status: int
    """The HTTP status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Name of a header in lower case -> its value."""
    body: bytes = b""
    """The bytes of the body."""

    def value(self) -> object:
        """Return the body's JSON; `None` if the status is not 200 or the body is not JSON."""
        return json_text.read_or_none(self.body) if self.status == 200 else None


type Probe[Result] = Generator[ProbeRequest, ProbeReply | None, Result]
"""A generator that yields requests to a server, is sent the reply to each, and returns its result.
"""


@dataclass(frozen=True, slots=True)
class ProbeResult[Result]:
    """The result of a probe that has ended. A generator ends with a StopIteration that has the
    result, but a future of asyncio cannot hold a StopIteration, so `advance_probe`
    returns this object.
    """

    result: Result
    """The value that the probe returned."""


def advance_probe[Result](
    probe: Probe[Result], reply: ProbeReply | None
) -> ProbeRequest | ProbeResult[Result]:
    """Send a reply into a probe. Return the probe's next request, or its result if it has ended.
    `reply`: `None` begins the probe; later it means that no reply came.
    """
    try:
        return probe.send(reply)
    except StopIteration as settled:
        return ProbeResult(settled.value)


IDENTITY_PATHS = tuple(
    dict.fromkeys(fingerprint.path for server in SERVERS for fingerprint in server.fingerprints)
)
"""The paths that a server is asked for to recognise it: its replies show its kind. All are
requested at the same time, because a server may never answer one of them.
"""


def recognise_server(replies: Mapping[str, ProbeReply | None]) -> Server | None:
    """Return the first row of `SERVERS` with a fingerprint in these replies (path of
    `IDENTITY_PATHS` -> reply, `None` if none came).

    If no fingerprint fits, the result depends on the replies. Return `None` if one is missing,
    demands a key, or is a server's failure: then the server has to be asked again. Else return the
    generic row.
    """
    replied = {path: reply for path, reply in replies.items() if reply is not None}
    for server in SERVERS:
        if any(_has_fingerprint(fingerprint, replied) for fingerprint in server.fingerprints):
            return server
    silent = len(replied) < len(IDENTITY_PATHS)
    shut = any(reply.status in _KEY_STATUSES or reply.status >= 500 for reply in replied.values())
    return None if silent or shut else GENERIC


def is_certain(server: Server, replies: Mapping[str, ProbeReply | None]) -> bool:
    """Return True if the server would be recognised as `server` again. Return False if another row
    of `SERVERS` may fit when the server is asked again:

    - A row that stands before `server` in `SERVERS`, if a reply to one of its paths is missing.
    - Any row, if no row fits yet and the list of models is empty: `transformers serve` is
      recognised by this list, once it has loaded a model.
    """
    listed = replies.get("/v1/models")
    if server is GENERIC and listed and as_object(listed.value()).get("data") == []:
        return False
    before = SERVERS[: SERVERS.index(server)] if server in SERVERS else SERVERS
    return all(replies.get(fingerprint.path) for row in before for fingerprint in row.fingerprints)


def _has_fingerprint(fingerprint: Fingerprint, replies: Mapping[str, ProbeReply]) -> bool:
    """Return True if the reply to the path of `fingerprint` has this fingerprint; False if it has
    not, or if no reply came.
    """
    reply = replies.get(fingerprint.path)
    if reply is None:
        return False
    value = as_object(reply.value())
    listed = objects(value.get("data"))
    if fingerprint.lacks and (not listed or any(fingerprint.lacks in model for model in listed)):
        return False
    if fingerprint.header:
        return fingerprint.value in reply.headers.get(fingerprint.header, "").lower()
    telling = [
        each for each in (value, *listed) if not fingerprint.beside or fingerprint.beside in each
    ]
    matches = [each[fingerprint.field] for each in telling if fingerprint.field in each]
    return fingerprint.value in matches if fingerprint.value else bool(matches)


def end_thought(reply_id: str, model: object) -> Probe[bool | None]:
    """Have the server (llama.cpp) end the thought of a running reply. Return True if the server
    ends the thought, or if the reply has ended already; `None` if the server has no endpoint for
    this or did not answer; else False. `reply_id`: the `id` in the reply's frames. `model`: the
    model of the reply's request, by which llama.cpp's router finds the server.
    """
    control = {"id": reply_id, "action": "reasoning_end", "model": model}
    reply = yield ProbeRequest(_CONTROL_AT, json_text.write(control))
    if reply is None or reply.status in (404, 405, 501):
        return None
    answer = as_object(reply.value())
    return answer.get("success") is True or "no active" in str(answer.get("message"))


def count_tokens(
    server: Server, body: Mapping[str, object], request: ProbeRequest | None = None
) -> Probe[int | None]:
    """Return how many tokens the prompt of a chat-completions request has, `None` if the server
    cannot count them. `request`: the client's own request for a count, in the client's dialect, if
    it sent one.
    """
    if server.name == "llama.cpp":
        # llama.cpp of autumn 2026 counts the tokens itself. An older one renders the prompt, and
        # a second request turns the rendered prompt into tokens, which are counted here
        counted = _reply_field(
            (yield ProbeRequest(_COUNTED_AT, json_text.write(body))), "input_tokens"
        )
        if type(counted) is int:
            return counted
        tokens = yield from _tokens_on_llama(body)
        return None if tokens is None else len(tokens)
    renders = server.name in _TOKENIZE_MESSAGES
    count = (yield from _tokenize(body, "count")) if renders else None
    if count is None and request and server.name == "sglang":
        # An SGLang whose /tokenize takes no messages may have the Messages API's endpoint that
        # counts tokens. It gets the client's own request
        count = _reply_field((yield request), "input_tokens")
    return count if type(count) is int else None


def prompt_state(server: Server, body: Mapping[str, object]) -> Probe[InitialState | None]:
    """Return where the reply to a chat-completions request begins, by the end of its prompt; `None`
    if the server does not report the prompt.
    """
    if server.name == "llama.cpp":
        # Assistant turns at the end are left out: llama.cpp would write them behind the opener, so
        # that the prompt would not end with the opener
        turns = [*messages_of(body)]
        while turns and role_of(turns[-1]) == "assistant":
            turns.pop()
        prompt = yield from rendered_prompt(with_messages(body, turns) if turns else body)
        return None if prompt is None else state_after_prompt(prompt)
    if server.name == "sglang":
        # SGLang 0.5.23 reports a prompt as token ids: a second request turns the last ids into text
        ids = yield from _tokenize(body, "tokens")
        if not isinstance(ids, list) or not ids:
            return None
        fields = {"tokens": ids[-_TAIL:], "skip_special_tokens": False}
        text = _reply_field((yield ProbeRequest("/detokenize", json_text.write(fields))), "text")
        return state_after_prompt(text) if isinstance(text, str) else None
    tokens = yield from _tokens_on_vllm(server, body)
    if not tokens:
        return None
    # vLLM reports tokens as byte-level BPE spells them: `Ċ` is a line feed, `Ġ` is a blank
    tail = "".join(map(str, tokens[-_TAIL:]))
    return state_after_prompt(tail.replace("Ċ", "\n").replace("Ġ", " "))


def prompt_pieces(server: Server, body: Mapping[str, object]) -> Probe[list[bytes] | None]:
    """Return the bytes of each token in the prompt of a chat-completions request; `None` if the
    server does not report them, as all kinds but llama.cpp and vLLM do not.
    """
    if server.name == "llama.cpp":
        tokens = yield from _tokens_on_llama(body, with_pieces=True)
        pieces = [token.get("piece") if isinstance(token, dict) else "" for token in tokens or ()]
        return [_llama_bytes(piece) for piece in pieces] or None
    tokens = yield from _tokens_on_vllm(server, body)
    return [_vocabulary_bytes(str(token)) for token in tokens or ()] or None


def rendered_prompt(body: Mapping[str, object]) -> Probe[str | None]:
    """Return the prompt that the server (llama.cpp) renders for a chat-completions request; `None`
    if the server renders no prompts for clients, or sent no reply.
    """
    reply = yield ProbeRequest(TEMPLATE_PATH, json_text.write(body))
    prompt = _reply_field(reply, "prompt")
    return prompt if isinstance(prompt, str) else None


def _tokens_on_llama(
    body: Mapping[str, object], *, with_pieces: bool = False
) -> Probe[list[object] | None]:
    """Return the tokens of a request's prompt as llama.cpp lists them: ids, or objects with a
    `piece` if `with_pieces` is True; `None` if the server does not list them.
    """
    prompt = yield from rendered_prompt(body)
    if prompt is None:
        return None
    fields = {"content": prompt, "add_special": True, "parse_special": True}
    if with_pieces:
        fields["with_pieces"] = True
    tokens = _reply_field((yield ProbeRequest("/tokenize", json_text.write(fields))), "tokens")
    return tokens if isinstance(tokens, list) else None


def _llama_bytes(piece: object) -> bytes:
    """Return the bytes of a token. llama.cpp sends a token's `piece` as text, or as a list of byte
    values if the token is only a part of a character.
    """
    if isinstance(piece, list):
        return bytes(byte for byte in piece if type(byte) is int and 0 <= byte < 256)
    return str(piece).encode(errors="replace")


def _tokens_on_vllm(server: Server, body: Mapping[str, object]) -> Probe[list[object] | None]:
    """Return the tokens of a request's prompt as vLLM spells them; `None` for another server, or if
    the server does not list them.
    """
    if server.name != "vllm":
        return None
    tokens = yield from _tokenize(body, "token_strs", return_token_strs=True)
    return tokens if isinstance(tokens, list) else None


def _tokenize(body: Mapping[str, object], name: str, **more: object) -> Probe[object]:
    """Have the server's `/tokenize` render and tokenize the prompt of a chat-completions request,
    and return the field `name` of its reply; `None` without a reply or the field. `more`: further
    fields for `/tokenize`.
    """
    fields = {field: body[field] for field in _TEMPLATED if field in body} | more
    return _reply_field((yield ProbeRequest("/tokenize", json_text.write(fields))), name)


def _vocabulary_bytes(token: str) -> bytes:
    """Return the bytes of a token from its spelling in the model's vocabulary: `<0x0A>` is one
    byte; GPT-2's spelling has a character for each byte (`Ġ` for a blank); SentencePiece's spelling
    is text with `▁` for a blank.
    """
    if hexadecimal := _BYTE_TOKEN.fullmatch(token):
        return bytes([int(hexadecimal[1], 16)])
    if all(letter in _BYTE_OF for letter in token):
        return bytes(_BYTE_OF[letter] for letter in token)
    return token.replace("▁", " ").encode(errors="replace")


def _reply_field(reply: ProbeReply | None, name: str) -> object:
    """Return a field of the reply's JSON object; `None` without a reply or the field."""
    return as_object(reply and reply.value()).get(name)


_KEY_STATUSES = (401, 403)
"""Statuses of a server that demands a key: such a reply does not identify the server."""
_COUNTED_AT = f"{COMMON.requests.path}/input_tokens"
"""The path at which llama.cpp counts the tokens of a request's prompt."""
_CONTROL_AT = f"{COMMON.requests.path}/control"
"""The path at which llama.cpp ends the thought of a running reply."""
_TOKENIZE_MESSAGES = ("vllm", "sglang")
"""Names of servers whose `/tokenize` takes the messages of a chat-completions request, not only a
text (SGLang does so in 0.5.23).
"""
_TEMPLATED = ("model", "messages", "tools", TEMPLATE)
"""Names of the fields of a chat-completions request that a server needs to render the prompt."""
_BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")
"""Matches the spelling of a token that is one byte: `<0x0A>`."""
_SPELLED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
"""Bytes that GPT-2's vocabulary spells as the character with the same number. The other bytes have
the characters from number 256 on.
"""
_BYTE_OF = {
    **{chr(byte): byte for byte in _SPELLED},
    **{
        chr(256 + at): byte
        for at, byte in enumerate(byte for byte in range(256) if byte not in set(_SPELLED))
    },
}
"""Character in the spelling of a token of GPT-2's vocabulary -> the byte that it means."""
_TAIL = 12
"""How many tokens at a prompt's end are searched for an opener."""
CHARACTERS_PER_TOKEN = 4
"""How many characters a token has on average in English text and JSON, for servers that cannot
count tokens.
"""
_READ_BY_MODEL = ("messages", "tools", "system", "input", "instructions")
"""Names of the fields of a request, in any dialect, whose texts become a part of the prompt."""
_ENCODED = re.compile(r'(?:;base64,|"data":\s*")[A-Za-z0-9+/=]+')
"""Finds the base64 of a picture or a sound. An estimate of tokens leaves base64 out, because its
length is no measure of the picture's or sound's tokens.
"""


def estimate_tokens(body: Mapping[str, object]) -> int:
    """Return a rough count of the tokens in a request of any dialect, at least 1, by the length of
    its text without pictures and sounds.
    """
    read = json_text.write([body.get(name) for name in _READ_BY_MODEL]).decode()
    return max(1, len(_ENCODED.sub("", read)) // CHARACTERS_PER_TOKEN)


ADDON_PATH = "/.well-known/think-addon"
"""The path at which the addon identifies itself, so that a search for model servers skips the
proxy, and `think-addon` finds a proxy that already runs.
"""
_NAME = "think-addon"
"""The name by which a reply at `ADDON_PATH` is recognised as the addon's."""
ANY_SERVER = "any server"
"""The name that a forward proxy reports as its server, because it has no fixed server."""


def addon_identity(server: str) -> bytes:
    """Return the body of the reply at `ADDON_PATH`. `server`: the address of the proxy's only
    server; empty: the proxy has no fixed server.
    """
    return json_text.write({"name": _NAME, "server": server or ANY_SERVER})


def server_of_addon(value: object) -> str:
    """Return the server that the JSON of a reply at `ADDON_PATH` names; empty if the reply is not
    the addon's.
    """
    identity = as_object(value)
    return str(identity.get("server") or ANY_SERVER) if identity.get("name") == _NAME else ""
