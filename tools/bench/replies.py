"""Build the model replies that the benches' server (`server.py`) sends: their tokens, frames and
bodies, and the message that a client must read in each.

A reply has a name such as `tags.2000.50`: its kind, its number of tokens, and its pace. That is how
many tokens the server sends in a second; 0 stands for all at once. A request has the reply's name
as its `model`, because every proxy passes the model on.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice

# A hundred tokens, with `|` between them. The mixture is that of real replies, so that the figures
# are too: most tokens are plain words; a few need an escape in JSON, hold a newline, or hold a `<`,
# with which a mark could begin.
TEXT = (
    " The| answer| depends| on| how| many| streams| are| open|,| so| I| first| count| them|.| Then| I| look| at| what"
    "| each| one| has| brought|:| some| have| ended|,| others| still| wait|.\n|If| n| <| 8|,| a| single| read| is"
    "| enough|;| otherwise| the| loop| runs| again|.| In| code|:| `|for| stream| in| streams|:| read|(|stream|)|`|.|\n\n"
    '|Caf|é| is| a| word| with| an| accent|,| and| "|quoted|"| words| need| an| escape|.| That| is| all| there| is|,'
    "| I| think|.| Next| comes| the| part| about| time|:| it| passes|"
)
TOKENS = TEXT.split("|")
"""The tokens of `TEXT`. Most begin with a blank."""


@dataclass(frozen=True)
class Message:
    """The content of a reply, free of any dialect."""

    thinking: str
    """The text of the thought."""
    text: str
    """The text of the answer."""
    calls: tuple[tuple[str, str], ...] = ()
    """For each call its name and its arguments. The arguments are JSON text."""


@dataclass(frozen=True)
class ReplyName:
    """The name of a reply in its parts: `tags.2000.50` has kind `tags`, 2000 tokens and pace 50."""

    kind: str
    """A key of `KINDS`, or `whole` for a reply that is not streamed."""
    tokens: int
    """The number of tokens."""
    pace: int = 0
    """How many tokens the server sends in a second; 0 for all at once."""

    def __str__(self) -> str:
        return f"{self.kind}.{self.tokens}.{self.pace}"


type Piece = tuple[str, str]
"""One token of a reply: a field's name and the token's text. The field is one of the delta, or of
the function in its call (`name`, `arguments`).
"""


def _halves(count: int) -> tuple[list[str], list[str]]:
    """Return `count` tokens in two halves, for a thought and for an answer.

    Neither begins or ends with a newline, because a proxy may drop one there.
    """
    tokens = [token for token, _ in zip(cycle(TOKENS), range(count), strict=False)]
    thought, answer = tokens[: count // 2], tokens[count // 2 :]
    return [" I", *thought[1:-1], " so"], [" We", *answer[1:-1], " end"]


def _pieces_with_tags(count: int) -> Iterator[Piece]:
    """Yield the tokens of a reply, `count` in all: a thought between tags, and an answer."""
    thought, answer = _halves(count - 2)
    yield from (("content", token) for token in ("<think>", *thought, "</think>", *answer))


def _pieces_with_field(count: int) -> Iterator[Piece]:
    """Yield the tokens of a reply, `count` in all: a thought in `reasoning_content`, and an answer
    in `content`.
    """
    thought, answer = _halves(count)
    yield from (("reasoning_content", token) for token in thought)
    yield from (("content", token) for token in answer)


def _pieces_without_thought(count: int) -> Iterator[Piece]:
    """Yield the tokens of a reply, `count` in all: an answer without a thought."""
    yield from (("content", token) for half in _halves(count) for token in half)


def _pieces_with_call_in_text(count: int) -> Iterator[Piece]:
    """Yield the tokens of a reply, about `count` in all, with a call between `<tool_call>` marks.

    A thought between tags comes first, with about half of the tokens; then a short text; then the
    call.
    """
    thought, _ = _halves(max(6, count // 2))
    yield from (("content", token) for token in ("<think>", *thought, "</think>", " Look", "."))
    begin = ("\n", "<tool_call>", '\n{"name":', ' "write",', ' "arguments":', ' {"text":', ' "')
    repeated = islice(cycle((" one", " two", ",")), max(1, count - len(thought) - 13))
    yield from (("content", token) for token in (*begin, *repeated, '"}}', "\n", "</tool_call>"))


def _pieces_with_server_call(count: int) -> Iterator[Piece]:
    """Yield the tokens of a reply, about `count` in all, as a server with parsers sends it: a
    thought in `reasoning_content`, and a call in `tool_calls`.
    """
    thought, _ = _halves(max(6, count // 2))
    yield from (("reasoning_content", token) for token in thought)
    tokens = islice(cycle((" one", " two", ",")), max(1, count - len(thought) - 3))
    yield from (("name", "write"), ("arguments", '{"text": "'))
    yield from (("arguments", token) for token in (*tokens, '"}'))


CALLED = "called"
"""The kind of a reply whose call the server itself has parsed, and sends in `tool_calls`."""
KINDS: dict[str, Callable[[int], Iterator[Piece]]] = {
    "tags": _pieces_with_tags,
    "native": _pieces_with_field,
    "plain": _pieces_without_thought,
    "call": _pieces_with_call_in_text,
    CALLED: _pieces_with_server_call,
}
"""Kind of a streamed reply -> the function that takes the number of tokens, and yields them."""
WHOLE = "whole"
"""The kind of a reply that is not streamed. Its content is that of the kind `tags`."""
MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
"""All marks that these replies contain."""


def expected_message(name: ReplyName) -> Message:
    """Return the content that a client must find in a reply, with thinking apart from the text.

    The tokens of a paced reply, except marks, are ` @` and the time of their sending. The reader of
    the reply removes the time, so that ` @` is left.
    """
    pieces = list(KINDS["tags" if name.kind == WHOLE else name.kind](name.tokens))
    if name.pace:
        pieces = [(field, text if text in MARKS else " @") for field, text in pieces]
    if name.kind in ("native", CALLED):
        called = _join_field(pieces, "name")
        calls = ((called, _join_field(pieces, "arguments")),) if called else ()
        return Message(
            _join_field(pieces, "reasoning_content"), _join_field(pieces, "content"), calls
        )
    content = _join_field(pieces, "content")
    before, mark, after = content.partition("</think>")
    thinking, text = (before.removeprefix("<think>"), after) if mark else ("", content)
    text, _, written = text.partition("\n<tool_call>\n")
    if not written:
        return Message(thinking, text)
    call = json.loads(written.removesuffix("\n</tool_call>"))
    return Message(thinking, text, ((call["name"], json.dumps(call["arguments"])),))


def _join_field(pieces: Iterable[Piece], field: str) -> str:
    """Return the joined texts of all tokens whose field is `field`."""
    return "".join(text for name, text in pieces if name == field)


def _frame_bytes(name: ReplyName, choices: object, **more: object) -> bytes:
    """Return a frame of a chat completions stream. It has the fields of vLLM's, in the same order.

    `more`: fields after `choices`, such as `usage`.
    """
    head = {
        "id": "chatcmpl-5f0e1d2c3b4a59687786950a1b2c3d4e",
        "object": "chat.completion.chunk",
        "created": 1763800000,
    }
    body = {**head, "model": str(name), "choices": choices, **more}
    return (
        b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )


def _frame(name: ReplyName, delta: object, finish: str | None = None) -> bytes:
    """Return a frame with one delta. `finish`: its finish reason, None before the end."""
    return _frame_bytes(
        name,
        [
            {
                "index": 0,
                "delta": delta,
                "logprobs": None,
                "finish_reason": finish,
                "token_ids": None,
            }
        ],
    )


def _http_chunk(frame: bytes) -> bytes:
    """Return a frame as one chunk of HTTP's chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(frame), frame)


def _usage(tokens: int) -> dict[str, int]:
    """Return the field `usage` of a reply of `tokens` tokens, as if its prompt had 20 tokens."""
    return {"prompt_tokens": 20, "total_tokens": 20 + tokens, "completion_tokens": tokens}


@dataclass(frozen=True)
class Stream:
    """The body of a streamed reply in HTTP's chunked encoding, in parts that are sent in turn."""

    begin: bytes
    """The HTTP chunk with the first frame, which has the role `assistant`."""
    tokens: tuple["TokenChunk", ...]
    """An HTTP chunk for each token."""
    end: bytes
    """The HTTP chunks with finish reason, usage and `[DONE]`, and the empty one that ends it."""


STAMP = b" @%017.6f"
"""The text of a token in a paced reply, with a place for the time of its sending."""
STAMP_LENGTH = len(STAMP % 0.0)
"""The number of bytes of `STAMP` with a time in it, which is the same for all times."""


@dataclass(frozen=True)
class TokenChunk:
    """The HTTP chunk with one token. In a paced reply the time of sending replaces the token's
    text, unless the token is a mark.
    """

    as_it_is: bytes
    """The chunk with the token's own text, for a reply without a pace."""
    before: bytes = b""
    """The bytes of a paced chunk before its text with the time; empty if the token is a mark."""
    after: bytes = b""
    """The bytes of a paced chunk after its text with the time; empty if the token is a mark."""

    def at(self, now: float) -> bytes:
        """Return the chunk of a paced reply, sent at `now` by `time.monotonic()`.

        If `now` is 12345.5, its text is ` @0000012345.500000`. A mark keeps its own text.
        """
        return self.before + STAMP % now + self.after if self.before else self.as_it_is


def _delta(field: str, text: str) -> object:
    """Return the delta that carries a token: a part of a tool call if `field` is `name` or
    `arguments`, else `{field: text}`.
    """
    if field == "name":
        function = {"name": text, "arguments": ""}
        call = {"index": 0, "id": "chatcmpl-tool-5f0e1d2c", "type": "function"}
        return {"tool_calls": [{**call, "function": function}]}
    if field == "arguments":
        return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
    return {field: text}


def _token_chunk(name: ReplyName, field: str, text: str) -> TokenChunk:
    """Return the HTTP chunk of one token, with `text` in the field `field`. `name`: the reply's."""
    as_it_is = _http_chunk(_frame(name, _delta(field, text)))
    if text in MARKS:
        return TokenChunk(as_it_is)
    before, _, after = _http_chunk(_frame(name, _delta(field, "#" * STAMP_LENGTH))).partition(
        b"#" * STAMP_LENGTH
    )
    return TokenChunk(as_it_is, before, after)


@lru_cache
def stream_of(name: ReplyName) -> Stream:
    """Return the body of a streamed reply. It is built once for each name."""
    begin = _http_chunk(_frame(name, {"role": "assistant", "content": ""}))
    tokens = tuple(_token_chunk(name, field, text) for field, text in KINDS[name.kind](name.tokens))
    last = [
        _frame(name, {}, "tool_calls" if name.kind == CALLED else "stop"),
        _frame_bytes(name, [], usage=_usage(name.tokens)),
        b"data: [DONE]\n\n",
    ]
    return Stream(begin, tokens, b"".join(_http_chunk(frame) for frame in last) + b"0\r\n\r\n")


@lru_cache
def bytes_at_once(name: ReplyName) -> bytes:
    """Return the whole body of a streamed reply without a pace. It is built once for each name."""
    stream = stream_of(name)
    return b"".join([stream.begin, *(token.as_it_is for token in stream.tokens), stream.end])


@lru_cache
def whole_body(name: ReplyName) -> bytes:
    """Return the JSON body of a reply of the kind `whole`. It is built once for each name."""
    content = "".join(text for _, text in KINDS["tags"](name.tokens))
    message: object = {"role": "assistant", "content": content, "refusal": None, "tool_calls": []}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": "stop",
        "stop_reason": None,
    }
    head = {
        "id": "chatcmpl-5f0e1d2c3b4a59687786950a1b2c3d4e",
        "object": "chat.completion",
        "created": 1763800000,
    }
    body = {**head, "model": str(name), "choices": [choice], "usage": _usage(name.tokens)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
