"""Strategies of hypothesis: texts full of tags, half tags and lookalikes, cuts, and a server's
replies.

`LAW_EXAMPLES=5000 pytest tests/laws` looks further, elsewhere each time; without it the
examples are always the same.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.rows import rows_of

ROWS = rows_of(__file__)

_MORE = int(os.environ.get("LAW_EXAMPLES", "0"))
_SHARE = int(os.environ.get("LAW_SHARE", "1"))
"""Of so many rows one is taken: `make test` takes a fifth, `make test-fast` a tenth, CI all."""
_DRAWN = max(5, _SHARE)
"""Of so many examples one is drawn; `LAW_EXAMPLES` draws more, as `make nightly` does."""


def share_of(examples: int) -> int:
    """Return the number of examples to draw."""
    return max(1, examples // _DRAWN)


def every_so_many[Row](rows: Sequence[Row]) -> Sequence[Row]:
    """Return the places to try, or rows of which one takes long: each, or a share. A test's other rows
    are for `drawn_rows`.
    """
    return rows[::_SHARE]


def drawn_rows[Row](rows: Sequence[Row], least: int, name: Callable[[Row], str]) -> Sequence[Row]:
    """Return the rows of a test to run: all, or a share, but `least` of them. Names draw them, the
    same ones each time, because every n-th of a product of two tables would be always the same row
    of one.
    """
    count = max(len(rows) // _SHARE, least)
    return sorted(rows, key=lambda row: sha256(name(row).encode()).digest())[:count]


def law(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many examples, none of them timed."""
    slow = [HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large]
    return settings(
        max_examples=_MORE or share_of(examples),
        deadline=None,
        derandomize=not _MORE,
        database=None,
        suppress_health_check=slow,
    )


TAGS = ROWS["tags"]
HALF_TAGS = ROWS["half tags"]
SPECIAL = [
    "<|channel|>analysis<|message|>",
    "<|end|>",
    "<|start|>assistant",
    "<|channel|>final<|message|>",
    "<|return|>",
    "<|end",
]
SUFFIXED = ["<think:a>", "</think:a>", "<think:b>", "</think:b>", "<think:", "</think:"]
LOOKALIKES = ROWS["lookalikes"]
CODE = ROWS["code"]
BLANKS = ["\n", "\n\n", "\r\n", "\r", " ", "\t", "\u2028", "\u00a0", " \n"]
PIECES = ["a", "word", "你好", "🙂", "e\u0301", "\x00", "x = 1", "\ufeff", "data: [DONE]"]
ATTRIBUTE_FORMS = ROWS["attribute forms"]
THOUGHTS = [
    "<think>a</think>",
    "[THINK]b\n[/THINK]",
    "<think>\nc</think>\n\n",
    "<thinking>d</thinking>",
]
HALF_FORMS = [
    "<thinking ",
    '<thinking thought="',
    " thought='",
    '"',
    "'",
    ' confidence="0.9"',
    " /",
    "<thinking\tx",
    "=",
]

_FRAGMENTS = st.one_of(
    *map(
        st.sampled_from,
        [
            TAGS,
            SPECIAL,
            SUFFIXED,
            THOUGHTS,
            HALF_TAGS,
            LOOKALIKES,
            CODE,
            BLANKS,
            PIECES,
            ATTRIBUTE_FORMS,
            HALF_FORMS,
        ],
    )
)
TEXTS = st.lists(_FRAGMENTS, max_size=14).map("".join)
PLAIN = st.lists(
    st.sampled_from(["a", "你好", "🙂", " ", "\n", "thinking", "(", "]", "data:", "\u2028"]),
    max_size=5,
).map("".join)


@st.composite
def cut[T: (str, bytes)](draw: st.DrawFn, value: T) -> list[T]:
    """The value in pieces, none of them empty."""
    offsets: list[int] = sorted(draw(st.sets(st.integers(1, max(1, len(value) - 1)), max_size=12)))
    pieces = [
        value[begin:end] for begin, end in zip([0, *offsets], [*offsets, len(value)], strict=True)
    ]
    return [piece for piece in pieces if piece]


@dataclass(frozen=True)
class Call:
    """A tool call, its arguments as the pieces in which they come."""

    id: str
    name: str
    arguments: list[str]


@dataclass(frozen=True)
class Choice:
    """The content of a choice, in pieces. `late`: texts between the pieces of its tool calls."""

    native: list[str]
    content: list[str]
    calls: list[Call]
    finish: str
    native_name: str
    late: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.content)

    def deltas(self) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{self.native_name: piece} for piece in self.native]
        deltas += [{"content": piece} for piece in self.content]
        for index, call in enumerate(self.calls):
            named = {
                "index": index,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            pieces = [
                {"index": index, "function": {"arguments": piece}} for piece in call.arguments
            ]
            deltas += [{"tool_calls": [entry]} for entry in [named, *pieces]]
        for offset, piece in enumerate(self.late):
            deltas.insert(len(deltas) - 1 - offset, {"content": piece})
        return deltas

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.native:
            message[self.native_name] = "".join(self.native)
        calls = [
            (call, {"name": call.name, "arguments": "".join(call.arguments)}) for call in self.calls
        ]
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": function}
                for call, function in calls
            ]
        return message


@dataclass(frozen=True)
class Reply:
    """A server's reply. `order`: the choice of each next delta; `extras`: vendor fields, by the
    number of the frame.
    """

    choices: list[Choice]
    order: list[int]
    extras: dict[int, str]
    usage: dict[str, Any] | None
    done: bool
    newline: bytes
    comments: list[int] = field(default_factory=list)

    def frames(self) -> list[dict[str, Any]]:
        waiting = [
            [*((delta, None) for delta in choice.deltas()), ({}, choice.finish)]
            for choice in self.choices
        ]
        order = [index for index in self.order if index < len(waiting)]
        order += [index for index, deltas in enumerate(waiting) for _ in deltas]
        ordered = [(index, *waiting[index].pop(0)) for index in order if waiting[index]]
        return [self._frame(number, *delta) for number, delta in enumerate(ordered)]

    def _frame(
        self, number: int, index: int, delta: dict[str, Any], finish: str | None
    ) -> dict[str, Any]:
        where, extra = self.extras.get(number, ""), {f"x_{number}": {"vendor": number}}
        inner = delta | extra if where == "delta" else delta
        choice = {"index": index, "delta": inner, "finish_reason": finish} | (
            extra if where == "choice" else {}
        )
        return (
            HEAD
            | {"object": "chat.completion.chunk", "choices": [choice]}
            | (extra if where == "frame" else {})
        )

    def stream(self) -> bytes:
        frames: list[bytes] = [_line(frame) for frame in self.frames()]
        for index in self.comments:
            frames.insert(index, b": ping")
        frames += (
            [_line(HEAD | {"object": "chat.completion.chunk", "choices": [], "usage": self.usage})]
            if self.usage
            else []
        )
        frames += [b"data: [DONE]"] if self.done else []
        return b"".join(frame + self.newline * 2 for frame in frames)

    def whole(self) -> bytes:
        choices = [
            {"index": index, "message": choice.message(), "finish_reason": choice.finish}
            for index, choice in enumerate(self.choices)
        ]
        usage = {"usage": self.usage} if self.usage else {}
        return json.dumps(HEAD | {"object": "chat.completion", "choices": choices} | usage).encode()


HEAD = {"id": "chatcmpl-1", "created": 1, "model": "small"}


def _line(frame: object) -> bytes:
    return b"data: " + json.dumps(frame, ensure_ascii=False).encode()


_TOKENS = st.integers(0, 99).map(
    lambda n: {"prompt_tokens": n, "completion_tokens": n + 1, "total_tokens": 2 * n + 1}
)
OBJECTS = st.sampled_from(
    ['{"city": "Oslo"}', "{}", '{"a": [1, true, {"b": null}], "c": "\\u00e9\\n"}']
)
_FINISH = st.sampled_from(["stop", "length", "tool_calls", "content_filter"])
_FEW = st.integers(0, 9)


@st.composite
def _calls(draw: st.DrawFn, number: int, arguments: st.SearchStrategy[str]) -> Call:
    return Call(f"call_{number}", f"tool_{number}", draw(arguments.flatmap(cut)))


@st.composite
def _choices(
    draw: st.DrawFn, texts: st.SearchStrategy[str], late: bool, arguments: st.SearchStrategy[str]
) -> Choice:
    native = draw(st.just([]) | texts.flatmap(cut))
    numbers = range(draw(st.sampled_from([0, 0, 1, 2])))
    calls = [draw(_calls(number, arguments)) for number in numbers]
    name = draw(st.sampled_from(["reasoning_content", "reasoning"]))
    content = draw(texts.flatmap(cut))
    return Choice(
        native,
        content,
        calls,
        draw(_FINISH if not calls else _FINISH.filter(lambda reason: reason != "stop")),
        name,
        draw(st.lists(_FRAGMENTS, max_size=3)) if late else [],
    )


def _with_ids(choice: Choice, number: int) -> Choice:
    """The same, its calls' ids unlike those of other choices."""
    calls = [replace(call, id=f"{call.id}_{number}") for call in choice.calls]
    return replace(choice, calls=calls)


@st.composite
def replies(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] = TEXTS,
    most: int = 2,
    late: bool = False,
    arguments: st.SearchStrategy[str] = OBJECTS,
) -> Reply:
    choices = draw(st.lists(_choices(texts, late, arguments), min_size=1, max_size=most))
    return Reply(
        choices=[_with_ids(choice, number) for number, choice in enumerate(choices)],
        order=draw(st.lists(st.integers(0, most - 1), max_size=20)),
        extras=draw(
            st.dictionaries(_FEW, st.sampled_from(["delta", "choice", "frame"]), max_size=4)
        ),
        usage=draw(st.none() | _TOKENS),
        done=draw(st.booleans()),
        newline=draw(st.sampled_from([b"\n", b"\r\n"])),
        comments=draw(st.lists(st.integers(0, 5), max_size=2)),
    )
