"""The server's replies, each with a name such as `tags.2000.50`: kind, number of tokens, tokens per
second (0: at once).

The request has the name as its model, because every proxy passes the model on.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice

# A hundred tokens as models write them: most need no escape, hold no mark's first character and no newline; some do.
TEXT = (
    " The| answer| depends| on| how| many| streams| are| open|,| so| I| first| count| them|.| Then| I| look| at| what"
    "| each| one| has| brought|:| some| have| ended|,| others| still| wait|.\n|If| n| <| 8|,| a| single| read| is"
    "| enough|;| otherwise| the| loop| runs| again|.| In| code|:| `|for| stream| in| streams|:| read|(|stream|)|`|.|\n\n"
    '|Caf|é| is| a| word| with| an| accent|,| and| "|quoted|"| words| need| an| escape|.| That| is| all| there| is|,'
    "| I| think|.| Next| comes| the| part| about| time|:| it| passes|"
)
TOKENS = TEXT.split("|")


@dataclass(frozen=True)
class Message:
    """The content that a client must read in a reply."""

    thinking: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Name:
    """The parts of a reply's name."""

    kind: str
    tokens: int
    pace: int = 0

    def __str__(self) -> str:
        return f"{self.kind}.{self.tokens}.{self.pace}"


type Piece = tuple[str, str]
"""The field of a delta, and its text."""


def _halves(count: int) -> tuple[list[str], list[str]]:
    """Return the tokens of a thought and of an answer; neither begins or ends with a newline."""
    tokens = [token for token, _ in zip(cycle(TOKENS), range(count), strict=False)]
    thought, answer = tokens[: count // 2], tokens[count // 2 :]
    return [" I", *thought[1:-1], " so"], [" We", *answer[1:-1], " end"]


def _tags(count: int) -> Iterator[Piece]:
    thought, answer = _halves(count - 2)
    yield from (("content", token) for token in ("<think>", *thought, "</think>", *answer))


def _native(count: int) -> Iterator[Piece]:
    thought, answer = _halves(count)
    yield from (("reasoning_content", token) for token in thought)
    yield from (("content", token) for token in answer)


def _plain(count: int) -> Iterator[Piece]:
    yield from (("content", token) for half in _halves(count) for token in half)


def _call_in_text(count: int) -> Iterator[Piece]:
    """Yield a thought, a short text, and a call as models write it, of the other tokens."""
    thought, _ = _halves(max(6, count // 2))
    yield from (("content", token) for token in ("<think>", *thought, "</think>", " Look", "."))
    yield from (
        ("content", token)
        for token in (
            "\n",
            "<tool_call>",
            '\n{"name":',
            ' "write",',
            ' "arguments":',
            ' {"text":',
            ' "',
        )
    )
    yield from (
        ("content", token)
        for token in islice(cycle((" one", " two", ",")), max(1, count - len(thought) - 13))
    )
    yield from (("content", token) for token in ('"}}', "\n", "</tool_call>"))


def _called(count: int) -> Iterator[Piece]:
    """Yield a thought in its field, and the call of `_call_in_text` as the server's own."""
    thought, _ = _halves(max(6, count // 2))
    yield from (("reasoning_content", token) for token in thought)
    tokens = islice(cycle((" one", " two", ",")), max(1, count - len(thought) - 3))
    yield from (("name", "write"), ("arguments", '{"text": "'))
    yield from (("arguments", token) for token in (*tokens, '"}'))


CALLED = "called"
KINDS: dict[str, Callable[[int], Iterator[Piece]]] = {
    "tags": _tags,
    "native": _native,
    "plain": _plain,
    "call": _call_in_text,
    CALLED: _called,
}
WHOLE = "whole"
MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>")


def expected(name: Name) -> Message:
    """Return the content of a reply; a paced reply has ` @` for each token but a mark."""
    pieces = list(KINDS["tags" if name.kind == WHOLE else name.kind](name.tokens))
    if name.pace:
        pieces = [(field, text if text in MARKS else " @") for field, text in pieces]
    if name.kind in ("native", CALLED):
        called = _joined(pieces, "name")
        calls = ((called, _joined(pieces, "arguments")),) if called else ()
        return Message(_joined(pieces, "reasoning_content"), _joined(pieces, "content"), calls)
    content = _joined(pieces, "content")
    before, mark, after = content.partition("</think>")
    thinking, text = (before.removeprefix("<think>"), after) if mark else ("", content)
    text, _, written = text.partition("\n<tool_call>\n")
    if not written:
        return Message(thinking, text)
    call = json.loads(written.removesuffix("\n</tool_call>"))
    return Message(thinking, text, ((call["name"], json.dumps(call["arguments"])),))


def _joined(pieces: Iterable[Piece], field: str) -> str:
    return "".join(text for name, text in pieces if name == field)


def _data(name: Name, choices: object, **more: object) -> bytes:
    """Write a frame as vLLM does, with its names and their order."""
    head = {
        "id": "chatcmpl-5f0e1d2c3b4a59687786950a1b2c3d4e",
        "object": "chat.completion.chunk",
        "created": 1763800000,
    }
    body = {**head, "model": str(name), "choices": choices, **more}
    return (
        b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )


def _frame(name: Name, delta: object, finish: str | None = None) -> bytes:
    return _data(
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
    return b"%x\r\n%b\r\n" % (len(frame), frame)


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 20, "total_tokens": 20 + tokens, "completion_tokens": tokens}


@dataclass(frozen=True)
class Stream:
    """A streamed body as HTTP chunks, one for each token: `begin`, then the tokens, then `end`."""

    begin: bytes
    tokens: tuple["Token", ...]
    end: bytes

    @property
    def at_once(self) -> bytes:
        """The whole body, with each token's text in place of its time."""
        return b"".join([self.begin, *(token.as_it_is for token in self.tokens), self.end])


STAMP = b" @%017.6f"
STAMP_LENGTH = len(STAMP % 0.0)


@dataclass(frozen=True)
class Token:
    """One token's HTTP chunk; in a paced reply its text, unless a mark, is the time of sending."""

    as_it_is: bytes
    before: bytes = b""
    after: bytes = b""

    def at(self, now: float) -> bytes:
        """Return the chunk with `now` as the time of its sending."""
        return self.before + STAMP % now + self.after if self.before else self.as_it_is


def _delta(field: str, text: str) -> object:
    if field == "name":
        function = {"name": text, "arguments": ""}
        call = {"index": 0, "id": "chatcmpl-tool-5f0e1d2c", "type": "function"}
        return {"tool_calls": [{**call, "function": function}]}
    if field == "arguments":
        return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
    return {field: text}


def _token(name: Name, field: str, text: str) -> Token:
    as_it_is = _http_chunk(_frame(name, _delta(field, text)))
    if text in MARKS:
        return Token(as_it_is)
    before, _, after = _http_chunk(_frame(name, _delta(field, "#" * STAMP_LENGTH))).partition(
        b"#" * STAMP_LENGTH
    )
    return Token(as_it_is, before, after)


@lru_cache
def stream(name: Name) -> Stream:
    """Return the streamed body of a reply, built once for each name."""
    begin = _http_chunk(_frame(name, {"role": "assistant", "content": ""}))
    tokens = tuple(_token(name, field, text) for field, text in KINDS[name.kind](name.tokens))
    last = [
        _frame(name, {}, "tool_calls" if name.kind == CALLED else "stop"),
        _data(name, [], usage=_usage(name.tokens)),
        b"data: [DONE]\n\n",
    ]
    return Stream(begin, tokens, b"".join(_http_chunk(frame) for frame in last) + b"0\r\n\r\n")


@lru_cache
def at_once(name: Name) -> bytes:
    """Return a streamed body as one piece of bytes."""
    return stream(name).at_once


@lru_cache
def whole(name: Name) -> bytes:
    """Return the body of a reply that is not streamed."""
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
