"""Calls as servers send them, in every kind of disorder, to clients of all four dialects, streamed
and whole.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from laws.parsed_reply import ParsedReply
from laws.reply_parser import parse_reply
from tests.support.frames import chat_stream, chat_whole
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.turns import in_turns

NAMES = ("remove", "look", "get", "get_weather", "now")
PROPERTIES: dict[str, object] = {"path": {}, "city": {}}


def _tool(name: str) -> dict[str, object]:
    properties = {} if name == "now" else PROPERTIES
    parameters: dict[str, object] = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [*map(_tool, NAMES)]
PATH = {"path": "/data"}
OSLO = {"city": "Oslo"}
WRITTEN = '{"city": "Oslo"}'
LOOK = '{"path": "/data"}'
EVERYONE = (OPENAI_CHAT, ANTHROPIC, RESPONSES, OLLAMA)
Json = dict[str, Any]


def piece(name: object = None, arguments: object = None, **more: object) -> Json:
    function = {"name": name, "arguments": arguments}
    named = {key: value for key, value in function.items() if value is not None}
    return {**more, "function": named}


def streamed(deltas: Sequence[Sequence[Json]], finish: str = "tool_calls") -> bytes:
    return chat_stream(({"tool_calls": [*entries]} for entries in deltas), finish)


def whole(entries: Sequence[Json], finish: str = "tool_calls") -> bytes:
    return chat_whole({"role": "assistant", "content": None, "tool_calls": [*entries]}, finish)


def reply_of(body: bytes, client: Dialect, form: Form) -> ParsedReply:
    """The words of a reply as a client gets it."""
    recorded = recording(body, JSON if body.startswith(b"{") else STREAM, tools=TOOLS)
    rewriter = recorded.rewriter(client, form)
    reply = parse_reply(b"".join([*rewriter.feed(recorded.body), *rewriter.close()]), form, client)
    reply.error = reply.error or bool(rewriter.failure)
    return reply


def calls(body: bytes, client: Dialect, form: Form) -> object:
    """The calls that a client gets, or that it gets an error."""
    reply = reply_of(body, client, form)
    if reply.error:
        return "an error"
    by_index = reply.choices[0].calls if reply.choices else {}
    ids = [call["id"] for call in by_index.values()]
    assert all(ids)
    assert len({*ids}) == len(ids)
    assert [*by_index] == [*range(len(by_index))]
    return [(call["name"], json.loads(call["arguments"] or "{}")) for call in by_index.values()]


REMOVE_AND_LOOK = [("remove", {}), ("look", PATH)]
WEATHER = [("get_weather", OSLO)]
INDEXES: tuple[tuple[str, Json], ...] = (("one index", {"index": 0}), ("no index", {}))
FIRSTS: tuple[object, ...] = ("", None, {}, "{}", "null")
STREAMS: dict[str, tuple[list[list[Json]], object]] = {
    **{
        f"two calls without ids, {where}, the first with {first!r}": (
            [[piece("remove", first, **index)], [piece("look", LOOK, **index)]],
            REMOVE_AND_LOOK,
        )
        for where, index in INDEXES
        for first in FIRSTS
    },
    "two without index in one frame": (
        [[piece("remove", ""), piece("look", LOOK)]],
        REMOVE_AND_LOOK,
    ),
    "two of one name in one frame": (
        [[piece("now", ""), piece("now", "")]],
        [("now", {}), ("now", {})],
    ),
    "ids, no index": (
        [
            [piece("look", '{"path"', id="a")],
            [piece(None, ': "/data"}')],
            [piece("now", "", id="b")],
        ],
        [("look", PATH), ("now", {})],
    ),
    "an index in the first piece only": (
        [[piece("look", '{"path"', id="a", index=0)], [piece(None, ': "/data"}')]],
        [("look", PATH)],
    ),
    "an index that is null": (
        [[piece("look", LOOK, id="a", index=None)], [piece("now", "{}", id="b", index=None)]],
        [("look", PATH), ("now", {})],
    ),
    "a new id at one index": (
        [[piece("look", LOOK, id="a", index=0)], [piece("now", "", id="b", index=0)]],
        [("look", PATH), ("now", {})],
    ),
    "one id for two calls": (
        [[piece("look", LOOK, id="a", index=0)], [piece("get", WRITTEN, id="a", index=1)]],
        [("look", PATH), ("get", OSLO)],
    ),
    "a name in pieces": (
        [
            [piece("get", "", id="a", index=0)],
            [piece("_weather", index=0)],
            [piece(None, WRITTEN, index=0)],
        ],
        WEATHER,
    ),
    "a name in pieces without ids": (
        [[piece("get_w")], [piece("eather")], [piece(None, WRITTEN)]],
        WEATHER,
    ),
    "a name that grows": (
        [
            [piece("get_w", index=0)],
            [piece("get_weather", index=0)],
            [piece(None, WRITTEN, index=0)],
        ],
        WEATHER,
    ),
    "a name in each frame": (
        [
            [piece("get_weather", '{"city"', id="a", index=0)],
            [piece("get_weather", ': "Oslo"}', id="a", index=0)],
        ],
        WEATHER,
    ),
    "a name in each frame, nothing else": (
        [[piece("get_weather", '{"city"')], [piece("get_weather", ': "Oslo"}')]],
        WEATHER,
    ),
    "a short name that is whole": (
        [[piece("get", "", id="a", index=0)], [piece(None, WRITTEN, index=0)]],
        [("get", OSLO)],
    ),
    "a short name before another": (
        [[piece("get", "", id="a", index=0)], [piece("look", LOOK, id="b", index=1)]],
        [("get", {}), ("look", PATH)],
    ),
    "an id, then the name": (
        [[piece(None, "", id="a", index=0)], [piece("look", LOOK, index=0)]],
        [("look", PATH)],
    ),
    "marks behind the name, in pieces": (
        [[piece("get_weather<|chan", index=0)], [piece("nel|>commentary", WRITTEN, index=0)]],
        WEATHER,
    ),
    "an empty object, then the object": (
        [[piece("look", "{}", id="a", index=0)], [piece(None, LOOK, index=0)]],
        [("look", PATH)],
    ),
    "the same object twice": (
        [[piece("look", LOOK, id="a", index=0)], [piece(None, LOOK, index=0)]],
        [("look", PATH)],
    ),
    "the same object in pieces twice": (
        [[piece("look", '{"pa', id="a", index=0)]]
        + [[piece(None, part, index=0)] for part in ('th": "/data"}', '{"path"', ':"/data"}')],
        [("look", PATH)],
    ),
    "the same object again, behind another call": (
        [
            [piece("look", LOOK, id="a", index=0)],
            [piece("get", WRITTEN, id="b", index=1)],
            [piece(None, LOOK, index=0)],
        ],
        [("look", PATH), ("get", OSLO)],
    ),
    "an empty object again, behind another call": (
        [
            [piece("look", "", id="a", index=0)],
            [piece("get", WRITTEN, id="b", index=1)],
            [piece(None, "{}{}", index=0)],
        ],
        [("look", {}), ("get", OSLO)],
    ),
    "empty objects first, then the objects": (
        [
            [piece("look", "{}", id="a", index=0)],
            [piece("get", "{}", id="b", index=1)],
            [piece(None, LOOK, index=0)],
            [piece(None, WRITTEN, index=1)],
        ],
        [("look", PATH), ("get", OSLO)],
    ),
    "two objects": (
        [[piece("look", LOOK, id="a", index=0)], [piece(None, '{"path": "/"}', index=0)]],
        "an error",
    ),
    "an object and half of it again": (
        [[piece("look", LOOK, id="a", index=0)], [piece(None, '{"path', index=0)]],
        "an error",
    ),
    "arguments as an object": ([[piece("look", PATH, id="a", index=0)]], [("look", PATH)]),
    "arguments under another key": (
        [[{"index": 0, "id": "a", "function": {"name": "look", "parameters": PATH}}]],
        [("look", PATH)],
    ),
    "calls that take turns": (
        [
            [piece("look", "", id="a", index=0), piece("get", "", id="b", index=1)],
            [piece(None, '{"path"', index=0)],
            [piece(None, '{"city"', index=1)],
            [piece(None, ': "/data"}', index=0)],
            [piece(None, ': "Oslo"}', index=1)],
        ],
        [("look", PATH), ("get", OSLO)],
    ),
    "a name in pieces with another call between them": (
        [
            [piece("get", "", id="a", index=0)],
            [piece("remove", "", id="b", index=1)],
            [piece("_weather", index=0)],
            [piece(None, WRITTEN, index=0)],
            [piece(None, LOOK, index=1)],
        ],
        [("get_weather", OSLO), ("remove", PATH)],
    ),
    "a name in pieces, told apart by ids": (
        [
            [piece("get", "", id="a")],
            [piece("remove", LOOK, id="b")],
            [piece("_weather", id="a")],
            [piece(None, WRITTEN, id="a")],
        ],
        [("get_weather", OSLO), ("remove", PATH)],
    ),
    **{
        f"a name in each frame, the id in the first: {case}": (
            [
                [piece("look", part, index=0) | ({} if at else {"id": "a"})]
                for at, part in enumerate(parts)
            ],
            [("look", PATH)],
        )
        for case, parts in {
            "an empty object first": ("{}", LOOK),
            "the object twice": (LOOK, LOOK),
            "pieces, then the object": (LOOK[:8], LOOK[8:], LOOK),
        }.items()
    },
    **{
        f"one tool twice without ids, {where}": (
            [[piece("look", LOOK, **index)], [piece("look", LOOK, **index)]],
            [("look", PATH)] * 2,
        )
        for where, index in INDEXES
    },
    "a name that grows, of another id": (
        [
            [piece("g", "", id="a")],
            [piece("get", "", id="b")],
            [piece("et", id="a")],
            [piece(None, "{}", id="a")],
            [piece(None, WRITTEN, id="b")],
        ],
        [("get", {}), ("get", OSLO)],
    ),
    "ids that are numbers": (
        [
            [piece("look", "", id=0, index=0), piece("get", "", id=7, index=0)],
            [piece(None, LOOK, id=0, index=0)],
            [piece(None, WRITTEN, id=7, index=0)],
        ],
        [("look", PATH), ("get", OSLO)],
    ),
    "an object wrapped once more": (
        [[piece("look", "", id="a", index=0)]]
        + [
            [piece(None, part, index=0)]
            for part in ('{"', "arguments", '": {"pa', 'th": "/data"}}')
        ],
        [("look", PATH)],
    ),
    "Gemma's quotes": (
        [[piece("look", "", id="a", index=0)]]
        + [
            [piece(None, part, index=0)] for part in ('{"path": "', "<|\\", '"|>/data<|', '\\"|>"}')
        ],
        [("look", PATH)],
    ),
    **{
        f"a call in the name, and {''.join(parts) or 'nothing'!r}": (
            [[piece('look path="/data"', "", id="a", index=0)]]
            + [[piece(None, part, index=0)] for part in parts],
            expected,
        )
        for parts, expected in {
            (): [("look", PATH)],
            ("{", "}"): [("look", PATH)],
            ('{"', "path", '": "/data"}'): [("look", PATH)],
            ('{"', "path", '": "/"}'): [('look path="/data"', {"path": "/"})],
        }.items()
    },
    "no name": ([[piece(None, LOOK, id="a", index=0)]], "an error"),
    "a tool that is not there": ([[piece("other", LOOK, id="a", index=0)]], [("other", PATH)]),
}
ONE = {
    "": [("look", {})],
    "null": [("look", {})],
    '{"path": "/data"': [("look", PATH)],
    '{"path": "/data"}\n</tool_call>': [("look", PATH)],
    json.dumps(LOOK): [("look", PATH)],
    LOOK + LOOK: [("look", PATH)],
    "{}" + LOOK: [("look", PATH)],
    LOOK + '{"path": "/"}': "an error",
    '{"path" "/data"}': "an error",
}
WHOLE: dict[str, tuple[list[Json], object]] = {
    **{
        f"arguments {sent_arguments!r}": ([piece("look", sent_arguments, id="a")], expected)
        for sent_arguments, expected in ONE.items()
    },
    "arguments null": (
        [{"id": "a", "function": {"name": "look", "arguments": None}}],
        [("look", {})],
    ),
    "arguments as an object": ([piece("look", PATH, id="a")], [("look", PATH)]),
    "an empty object": ([piece("look", {}, id="a")], [("look", {})]),
    "no ids": ([piece("look", LOOK), piece("look", LOOK)], [("look", PATH)] * 2),
    "one index for all that are in order": (
        [piece("now", "{}", index=0, id="a"), piece("look", LOOK, index=0, id="b")],
        [("now", {}), ("look", PATH)],
    ),
    "one index for all": (
        [piece("remove", "", index=0), piece("look", LOOK, index=0)],
        REMOVE_AND_LOOK,
    ),
    **{
        f"named {name!r}": ([piece(name, WRITTEN, id="a")], WEATHER)
        for name in (
            "get_weather<|channel|>commentary",
            "functions.get_weather",
            "</think>get_weather",
            "get_weather\n",
            "default_api:get_weather",
            "get_weatherget_weather",
        )
    },
    **{
        f"the call in the name {name!r}": ([piece(name, arguments, id="a")], WEATHER)
        for name in (
            f"get_weather{WRITTEN}",
            f"get_weather({WRITTEN})",
            f'{{"name": "get_weather", "arguments": {WRITTEN}}}',
            f'<tool_call>{{"name": "get_weather", "arguments": {WRITTEN}}}</tool_call>',
        )
        for arguments in ("", "{}")
    },
    **{
        f"the call in the name {name!r}": ([piece(name, "", id="a")], WEATHER)
        for name in (
            'get_weather city="Oslo"',
            "get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>",
            "functions_get_weather_2" + WRITTEN,
        )
    },
    "a name that Kimi has counted": ([piece("functions_now_2", "{}", id="a")], [("now", {})]),
    "an object wrapped once more": (
        [piece("get_weather", f'{{"arguments": {WRITTEN}}}', id="a")],
        WEATHER,
    ),
    "Gemma's quotes": ([piece("get_weather", '{"city": "<|\\"|>Oslo<|\\"|>"}', id="a")], WEATHER),
    "a name that is null": (
        [{"id": "a", "function": {"name": None, "arguments": LOOK}}],
        "an error",
    ),
}


def custom(name: object = None, text: object = None, **more: object) -> Json:
    inner = {"name": name, "input": text}
    named = {key: value for key, value in inner.items() if value is not None}
    return {**more, "type": "custom", "custom": named}


PATCH = [("get", 'x "y"\n')]
CUSTOM_STREAMS: dict[str, tuple[list[list[Json]], list[tuple[str, str]]]] = {
    "in pieces": (
        [[custom("get", "x ", id="a", index=0)], [custom(None, '"y"\n', index=0)]],
        PATCH,
    ),
    "a tool that is not there": ([[custom("patch", "x", id="a", index=0)]], [("patch", "x")]),
    "a name that waits": (
        [[custom("", "", id="a", index=0)], [custom("get", index=0)], [custom(None, "x", index=0)]],
        [("get", "x")],
    ),
    "a name in pieces": (
        [
            [custom("get", "", id="a", index=0)],
            [custom("_weather", "", index=0)],
            [custom(None, "x", index=0)],
        ],
        [("get_weather", "x")],
    ),
    "a name in each frame": (
        [[custom("get", part, id="a", index=0)] for part in ("x ", '"y"', "\n")],
        PATCH,
    ),
    "marks in the name": ([[custom("functions.get", "x", id="a", index=0)]], [("get", "x")]),
    "no index, no ids": (
        [[custom("get", "x")], [custom("look", "y")]],
        [("get", "x"), ("look", "y")],
    ),
    "an empty text": ([[custom("get", "", id="a", index=0)]], [("get", "")]),
    "they take turns": (
        [
            [custom("get", "x", id="a", index=0), custom("look", "y", id="b", index=1)],
            [custom(None, "X", index=0)],
            [custom(None, "Y", index=1)],
        ],
        [("get", "xX"), ("look", "yY")],
    ),
    "beside another": (
        [
            [custom("get", "x", id="a", index=0)],
            [piece("look", LOOK, id="b", index=1)],
            [custom(None, "X", index=0)],
        ],
        [("get", "xX"), ("look", LOOK)],
    ),
}
CUSTOM_WHOLE: dict[str, tuple[list[Json], list[tuple[str, str]]]] = {
    "one": ([custom("get", 'x "y"\n', id="a")], PATCH),
    "two without ids": (
        [custom("get", "x"), custom("functions.look", "{}")],
        [("get", "x"), ("look", "{}")],
    ),
}


def texts(body: bytes, client: Dialect, form: Form) -> list[tuple[str, str]]:
    """The free texts of calls as a client gets them, and the arguments of others."""
    reply = reply_of(body, client, form)
    calls_read = [(call["name"], call["arguments"]) for call in reply.choices[0].calls.values()]
    if client is OPENAI_CHAT:
        return calls_read
    inputs = [json.loads(arguments).get("input", arguments) for _, arguments in calls_read]
    return [(name, text) for (name, _), text in zip(calls_read, inputs, strict=True)]


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
@pytest.mark.parametrize(("kind", "client"), in_turns(CUSTOM_STREAMS))
def test_calls_with_a_free_text(kind: str, finish: str, form: Form, client: Dialect) -> None:
    deltas, expected = CUSTOM_STREAMS[kind]
    assert texts(streamed(deltas, finish), client, form) == expected


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("kind", "client"), in_turns(CUSTOM_WHOLE))
def test_whole_calls_with_a_free_text(kind: str, form: Form, client: Dialect) -> None:
    entries, expected = CUSTOM_WHOLE[kind]
    assert texts(whole(entries), client, form) == expected


def entries_sent(body: bytes, form: Form) -> list[Json]:
    """The entries of calls that a chat completions client gets, streamed ones in their pieces."""
    recorded = recording(body, tools=TOOLS)
    rewriter = recorded.rewriter(OPENAI_CHAT, form)
    out = b"".join([*rewriter.feed(recorded.body), *rewriter.close()])
    frames = out.split(b"\n\n") if form is Form.STREAM else [out]
    bodies = [json.loads(data) for each in frames if (data := each[each.find(b"{") :])[:1] == b"{"]
    return [
        entry
        for body in bodies
        for choice in body["choices"]
        for entry in choice.get("delta", choice.get("message")).get("tool_calls") or ()
    ]


@pytest.mark.parametrize("form", Form)
def test_a_chat_client_gets_a_free_text_as_it_came(form: Form) -> None:
    deltas, _ = CUSTOM_STREAMS["in pieces"]
    sent = [entry for delta in deltas for entry in delta]
    folded = [custom("get", 'x "y"\n', id="a")]
    assert entries_sent(streamed(deltas), form) == (sent if form is Form.STREAM else folded)


@pytest.mark.parametrize("client", EVERYONE, ids=lambda each: each.label.title)
def test_an_empty_object_that_a_limit_cut_has_no_end(client: Dialect) -> None:
    deltas = [[piece("look", "{}", id="a", index=0)]]
    reply = reply_of(streamed(deltas, "length"), client, Form.STREAM)
    emitted = [call["arguments"] for call in reply.choices[0].calls.values()]
    assert not any(arguments.endswith("}") for arguments in emitted)


@pytest.mark.parametrize("client", EVERYONE, ids=lambda each: each.label.title)
def test_an_empty_object_that_is_no_text_was_not_cut(client: Dialect) -> None:
    deltas = [[piece("look", {}, id="a", index=0)]]
    assert calls(streamed(deltas, "length"), client, Form.STREAM) == [("look", {})]


@pytest.mark.parametrize("client", EVERYONE, ids=lambda each: each.label.title)
def test_a_free_text_that_a_limit_cut_has_no_end(client: Dialect) -> None:
    deltas = [[custom("get", "x", id="a", index=0)]]
    reply = reply_of(streamed(deltas, "length"), client, Form.STREAM)
    emitted = [call["arguments"] for call in reply.choices[0].calls.values()]
    assert not any(arguments.endswith("}") for arguments in emitted)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("kind", "client"), in_turns(STREAMS))
def test_calls_in_pieces(kind: str, form: Form, client: Dialect) -> None:
    deltas, expected = STREAMS[kind]
    assert calls(streamed(deltas), client, form) == expected


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("kind", "client"), in_turns(WHOLE))
def test_calls_of_whole_replies(kind: str, form: Form, client: Dialect) -> None:
    entries, expected = WHOLE[kind]
    assert calls(whole(entries), client, form) == expected


OPENERS = ("<｜DSML｜function_calls", "<｜DSML｜tool_calls>", "<tool_call>", "<|tool_call>")
CALL = piece("look", LOOK, id="a", index=0)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("opener", "client"), in_turns([*OPENERS, "a <b", "```json"]))
def test_the_opener_of_a_call_that_the_server_has_read_is_no_text(
    opener: str, form: Form, client: Dialect
) -> None:
    text, left = f"I look.\n\n{opener}", "" if opener in OPENERS else opener
    deltas: list[Json] = [{"content": letter} for letter in text]
    message = {"role": "assistant", "content": text, "tool_calls": [CALL]}
    for body in (
        chat_stream([*deltas, {"tool_calls": [CALL]}], "tool_calls"),
        chat_stream([{"content": text}, {"tool_calls": [CALL]}], "tool_calls"),
        chat_whole(message, "tool_calls"),
    ):
        choice = reply_of(body, client, form).choices[0]
        assert "".join(choice.joined("text").split()) == "Ilook." + "".join(left.split())
        (call,) = choice.calls.values()
        assert (call["name"], json.loads(call["arguments"])) == ("look", PATH)
