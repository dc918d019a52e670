"""Calls of a server, drawn in every kind of disorder: ids and indexes or none, names in pieces,
repeated and with marks, arguments in every shape, one to three calls in up to two choices. The
oracle knows the calls that were meant: a client runs these, or nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import DIALECTS, OPENAI_CHAT, Dialect, Form
from laws.reply_parser import parse_reply
from tests.support.frames import DONE, chat_whole, delta, finish
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.strategies import cut, law

pytestmark = pytest.mark.slow

type Json = dict[str, Any]
NAMES = ("get", "get_weather", "look", "remove", "now")
TEXTS = "patch"
"""The tool whose calls hold a free text."""
PROPERTIES: Json = {"path": {}, "city": {}, "n": {}}
OFFERED: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {} if name == "now" else PROPERTIES},
        },
    }
    for name in NAMES
]
OFFERED.append({"type": "custom", "custom": {"name": TEXTS}})
_TEXTS = (
    *("Oslo", "", "</think>", "}", '{"a": 1}', "é\U0001f600", "\n", '"', "\\", "<tool_call>"),
    *("</tool_call>", "look", '"}', "{}", "', '", "\u2028", "[", '{"path": "x"}', "<|call|>"),
)
_VALUES: st.SearchStrategy[object] = st.sampled_from(
    [*_TEXTS, 7, -0.5, 1e30, True, None, [1, "x"], {"k": {}}, [], {}, {"city": "]"}]
)
_ARGUMENTS = st.dictionaries(st.sampled_from([*PROPERTIES]), _VALUES, max_size=3)
_DRESSES = st.sampled_from(
    [
        *("{}", "functions.{}", "{}<|channel|>commentary", "</think>{}", "{}\n", "{}:0"),
        *("default_api:{}", '"{}"', "{0}{0}", "<function={}>", "functions_{}_2"),
    ]
)
_KEYS = st.sampled_from(["parameters", "params", "args", "kwargs", "input"])
_WRITTEN: dict[str, Callable[[str], str]] = {
    "text": str,
    "twice": lambda text: text * 2,
    "marks": lambda text: f"{text}\n</tool_call>",
    "open": lambda text: text[:-1],
    "encoded": json.dumps,
    "wrapped": lambda text: f'{{"arguments": {text}}}' if text != "{}" else text,
}
SHAPES = (*_WRITTEN, "object", "key", "nothing", "empty first")
"""The forms in which the arguments of a call are written."""


@dataclass(frozen=True)
class Call:
    """A call that the model meant. `arguments`: an object, or a text for the tool of texts."""

    name: str
    arguments: Any


@dataclass(frozen=True)
class Numbering:
    """The way in which a server tells its calls apart. `index`: of each, in its first piece only,
    none, null, or 0 for all; `ids`: in its first piece, in each, none, or one for all.
    """

    index: str
    ids: str

    @property
    def each_piece(self) -> bool:
        """Return True if every piece names its call, so that the pieces of calls may alternate."""
        return self.index == "each" or self.ids == "every"

    def of(self, number: int, first: bool) -> Json:
        """The fields of a piece of a call."""
        fixed: dict[str, Json] = {"null": {"index": None}, "zero": {"index": 0}}
        fields = {**fixed.get(self.index, {})}
        if self.index == "each" or (self.index == "first" and first):
            fields = {"index": number}
        if self.ids == "every" or (first and self.ids != "none"):
            fields["id"] = "c" if self.ids == "same" else f"c{number}"
        return fields


CLEAR = [
    *(Numbering("each", ids) for ids in ("first", "every", "none", "same")),
    *(Numbering(index, ids) for index in ("none", "null", "zero") for ids in ("first", "every")),
    Numbering("first", "first"),
]
"""Ways in which every call has a mark of its own."""
UNCLEAR = [Numbering(index, "none") for index in ("none", "null", "zero", "first")]
"""Ways in which only the names tell calls apart."""


@st.composite
def _meant(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from([*NAMES, TEXTS]))
    if name == TEXTS:
        return Call(name, draw(st.lists(st.sampled_from(_TEXTS), max_size=3).map("".join)))
    return Call(name, {} if name == "now" else draw(_ARGUMENTS))


@st.composite
def _arguments(draw: st.DrawFn, call: Call, shape: str, whole: bool) -> list[Json]:
    """The arguments as fields of a function, in pieces; one piece if the call comes `whole`."""
    text = json.dumps(call.arguments, ensure_ascii=draw(st.booleans()))
    if shape == "object":
        return [{"arguments": call.arguments}]
    if shape == "key":
        return [{draw(_KEYS): draw(st.sampled_from([call.arguments, text]))}]
    if shape == "nothing" and not call.arguments:
        return [draw(st.sampled_from([{"arguments": ""}, {"arguments": None}, {}]))]
    is_whole = shape == "open" and not text.endswith(("]}", '"}', "}}"))  # a number may be cut
    text = text if is_whole else _WRITTEN.get(shape, str)(text)
    before = ["{}"] if shape == "empty first" and call.arguments else []
    pieces = ["".join([*before, text])] if whole else [*before, *draw(cut(text))]
    return [{"arguments": piece} for piece in pieces]


@st.composite
def _functions(draw: st.DrawFn, call: Call, whole: bool, has_id: bool) -> list[Json]:
    """The functions of a call's pieces: its name, as servers dress and cut it, its arguments."""
    if call.name == TEXTS:
        texts = [call.arguments] if whole else draw(cut(call.arguments)) or [""]
        return [
            {"input": piece} | ({"name": TEXTS} if not at else {}) for at, piece in enumerate(texts)
        ]
    shape = draw(st.sampled_from(SHAPES))
    arguments = draw(_arguments(call, shape, whole))
    name = draw(_DRESSES).format(call.name)
    if whole:
        return [{"name": name} | arguments[0]]
    if name == call.name and draw(st.booleans()):
        *parts, last = draw(cut(name))
        return [*({"name": part, "arguments": ""} for part in parts), {"name": last}, *arguments]
    # a name said again before another object, of a call without an id, may be another call
    if (has_id or shape not in ("twice", "empty first")) and draw(st.booleans()):
        return [{"name": name} | each for each in arguments]
    if draw(st.booleans()):
        return [{"name": name} | arguments[0], *arguments[1:]]
    return [{"name": name, "arguments": ""}, *arguments]


@st.composite
def _entries(
    draw: st.DrawFn, calls: Sequence[Call], numbering: Numbering, whole: bool = False
) -> list[list[Json]]:
    """The pieces of each call."""
    built: list[list[Json]] = []
    for number, call in enumerate(calls):
        key = "custom" if call.name == TEXTS else "function"
        functions = draw(_functions(call, whole, numbering.ids != "none"))
        pieces = [
            numbering.of(number, not at) | {key: function} for at, function in enumerate(functions)
        ]
        pieces[0]["type"] = key
        built.append(pieces)
    return built


@dataclass(frozen=True)
class Choice:
    """A choice: what was meant, and the entries that the server sends."""

    calls: list[Call]
    entries: list[Json]


@st.composite
def _choice(draw: st.DrawFn, numberings: Sequence[Numbering]) -> Choice:
    calls = draw(st.lists(_meant(), min_size=1, max_size=3))
    numbering = draw(st.sampled_from(numberings))
    pieces = draw(_entries(calls, numbering))
    in_turn = numbering.each_piece and numbering.ids != "same" and draw(st.booleans())
    if not in_turn:
        return Choice(calls, [entry for entries in pieces for entry in entries])
    order = draw(st.permutations([at for at, entries in enumerate(pieces) for _ in entries]))
    waiting = [iter(entries) for entries in pieces]
    begun = [calls[at] for at in dict.fromkeys(order)]
    return Choice(begun, [next(waiting[at]) for at in order])


def _stream(choices: Sequence[Choice], order: Sequence[int], reason: str) -> bytes:
    """The frames of the choices' entries, in the order of their choices."""
    waiting = [iter(choice.entries) for choice in choices]
    frames = [delta(index, tool_calls=[next(waiting[index])]) for index in order]
    frames += [finish(reason, index) for index in range(len(choices))]
    return b"".join([*frames, DONE])


type Ran = dict[int, list[Call]]


def _run(body: bytes, client: Dialect, form: Form, count: int = 1) -> Ran | None:
    """The calls that a client runs, by choice; None for an error. `count`: the wanted choices."""
    label = JSON if body.startswith(b"{") else STREAM
    recorded = recording(body, label, tools=OFFERED, n=count)
    rewriter = recorded.rewriter(client, form)
    out = b"".join([*rewriter.feed(recorded.body), *rewriter.close()])
    parsed = parse_reply(out, form, client)
    if parsed.error or rewriter.failure:
        return None
    runs: Ran = {}
    for index, reply in parsed.choices.items():
        ids = [call["id"] for call in reply.calls.values()]
        assert all(ids)
        assert len(ids) == len(set(ids))
        assert [*reply.calls] == [*range(len(reply.calls))]
        runs[index] = [
            _call(call["name"], call["arguments"], client) for call in reply.calls.values()
        ]
    return runs


def _call(name: str, arguments: str, client: Dialect) -> Call:
    if name == TEXTS:
        return Call(name, arguments if client is OPENAI_CHAT else json.loads(arguments)["input"])
    return Call(name, json.loads(arguments or "{}"))


def _choices_of(choices: Sequence[Choice], client: Dialect) -> list[Choice]:
    """The choices that a client can ask for."""
    return [*choices[: None if client is OPENAI_CHAT else 1]]


_CLIENTS = st.sampled_from(range(len(DIALECTS)))


@law(60)
@given(st.data(), st.lists(_choice(CLEAR), min_size=1, max_size=2), _CLIENTS)
def test_a_client_runs_what_was_meant(
    data: st.DataObject, choices: list[Choice], number: int
) -> None:
    client = DIALECTS[number]
    sent = _choices_of(choices, client)
    order = [index for index, choice in enumerate(sent) for _ in choice.entries]
    body = _stream(sent, data.draw(st.permutations(order)), "tool_calls")
    expected = {index: choice.calls for index, choice in enumerate(sent)}
    for form in Form:
        assert _run(body, client, form, len(sent)) == expected


@law(60)
@given(st.data(), st.lists(_meant(), min_size=1, max_size=3), _CLIENTS)
def test_a_client_runs_the_calls_of_a_whole_reply(
    data: st.DataObject, calls: list[Call], number: int
) -> None:
    numbering = data.draw(st.sampled_from([*CLEAR, *UNCLEAR]))
    entries = [pieces[0] for pieces in data.draw(_entries(calls, numbering, True))]
    message = {"role": "assistant", "content": None, "tool_calls": entries}
    reason = data.draw(st.sampled_from(["tool_calls", "stop"]))
    body = chat_whole(message, reason)
    for form in Form:
        ran = _run(body, DIALECTS[number], form)
        # a stop may have cut a call's end off
        assert ran == {0: calls} or (ran is None and reason == "stop")


@law(60)
@given(_choice(UNCLEAR), st.sampled_from(["tool_calls", "stop"]))
def test_names_alone_never_make_a_call_that_was_not_meant(choice: Choice, reason: str) -> None:
    body = _stream([choice], [0] * len(choice.entries), reason)
    ran = [_run(body, client, form) for client in DIALECTS for form in Form]
    assert all(each == ran[0] for each in ran)
    calls = ran[0][0] if ran[0] else []
    assert all(calls.count(call) <= choice.calls.count(call) for call in calls)


@law(60)
@given(st.data(), _choice(CLEAR), _CLIENTS)
def test_a_call_that_a_limit_cuts_is_none(data: st.DataObject, choice: Choice, number: int) -> None:
    client = DIALECTS[number]
    most = data.draw(st.integers(0, len(choice.entries)))
    cut_off = replace(choice, entries=choice.entries[:most])
    body = _stream([cut_off], [0] * most, "length")
    reply = recording(body, tools=OFFERED)
    rewriter = reply.rewriter(client, Form.STREAM)
    received = parse_reply(b"".join([*rewriter.feed(body), *rewriter.close()]), Form.STREAM, client)
    received_choice = received.choice()
    assert received.error or received_choice.finish not in ("tool_calls", "tool_use", "completed")
    for call in received_choice.calls.values():
        if call["name"] != TEXTS and call["arguments"].endswith("}"):
            assert any(_is_beginning(call, meant) for meant in choice.calls)


def _is_beginning(call: dict[str, str], meant: Call) -> bool:
    """Return True if the arguments are the call's, or an object within them that has no end yet."""
    try:
        return Call(call["name"], json.loads(call["arguments"])) == meant
    except ValueError:
        return True
