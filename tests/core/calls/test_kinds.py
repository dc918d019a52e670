"""Calls in text by the kinds of trouble that models make: a client, of each dialect by turns, gets
the calls, thinking and text, streamed and whole, from a server that streams or does not.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from converter.core.dialects.table import Dialect, Form
from laws.reply_parser import parse_reply
from tests.support.frames import chat_stream, chat_whole
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.turns import in_turns

type Json = dict[str, Any]
type Called = tuple[str, Json]

STRING: Json = {"type": "string"}
PROPERTIES: dict[str, Json] = {
    "remove": {"path": STRING, "dry_run": {"type": "boolean"}},
    "look": {"path": STRING},
    "write": {"path": STRING, "content": STRING},
    "search": {"city": STRING, "queries": {"type": "array"}, "options": {"type": "object"}},
    "now": {},
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}},
    }
    for name, properties in PROPERTIES.items()
]
LOOK: Called = ("look", {"path": "/"})
REMOVE: Called = ("remove", {"path": "/tmp/x"})
DRAFT = '<tool_call>{"name": "remove", "arguments": {"path": "/"}}</tool_call>'
HERMES = '<tool_call>{"name": "look", "arguments": {"path": "/"}}</tool_call>'
KIMI = (
    '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"path": "/"}<|tool_call_end|>'
)
M3 = "]<]minimax[>["


@dataclass(frozen=True)
class Kind:
    """A reply of a model, and the content that its client is to get. `thought`: the server's
    thinking in its own field; `fails`: the reply ends in an error; `request`: further fields of the
    request.
    """

    sent: str
    calls: tuple[Called, ...] = ()
    thinking: str = ""
    text: str = ""
    thought: str = ""
    fails: bool = False
    request: Json = field(default_factory=dict)


def _hermes(inner: str) -> str:
    return f"<tool_call>\n{inner}\n</tool_call>"


def _function(name: str, inner: str) -> str:
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def _gemma(inner: str) -> str:
    return f"<|tool_call>call:search{inner}<tool_call|>"


def _written(path: str, content: str) -> tuple[Called, ...]:
    return (("write", {"path": path, "content": content}),)


ARGUMENTS_ELSEWHERE = {
    f"arguments elsewhere: {inner}": Kind(_hermes(inner), calls)
    for inner, calls in (
        (
            '{"name": "remove", "path": "/tmp/x", "dry_run": true}',
            (("remove", {"path": "/tmp/x", "dry_run": True}),),
        ),
        *(
            (f'{{"name": "remove", "{key}": {{"path": "/tmp/x"}}}}', (REMOVE,))
            for key in ("input", "params", "parameters", "args", "kwargs")
        ),
        ('{"name": "remove", "arguments": {}}, "path": "/tmp/x"}', (REMOVE,)),
        ('{"name": "remove"}, {"path": "/tmp/x"}', (REMOVE,)),
    )
}
WORD_BEHIND = _hermes('{"name": "remove"}, {"tool": "x"}')
UNKNOWN = _hermes('{"name": "remove", "other": "/tmp/x"}')
VALUES = {
    "a tag within a value that is closed": Kind(
        _function(
            "write",
            "<parameter=path>\na\n</parameter>\n"
            "<parameter=content>\nx <parameter=content> y\n</parameter>\n",
        ),
        _written("a", "x <parameter=content> y"),
    ),
    "a closing mark that is said twice": Kind(
        _function(
            "write",
            "<parameter=path>\na\n</parameter>\n</parameter>\n"
            "<parameter=content>\nb\n</parameter>\n",
        ),
        _written("a", "b"),
    ),
    "words behind a closing mark": Kind(
        _function("write", "<parameter=path>\na\n</parameter> and so\n"), fails=True
    ),
    "words between a closing mark and another parameter": Kind(
        _function(
            "write", "<parameter=path>\na\n</parameter> oops <parameter=content>\nb\n</parameter>\n"
        ),
        fails=True,
    ),
    "a pair of marks within a value": Kind(
        _function(
            "write",
            "<parameter=path>\na\n</parameter>\n"
            "<parameter=content>\nx <parameter>y</parameter> z\n</parameter>\n",
        ),
        _written("a", "x <parameter>y</parameter> z"),
    ),
    "a closing mark of a pair that is left out": Kind(
        "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>a\n<arg_key>content</arg_key>\n"
        "<arg_value>b</arg_value>\n</tool_call>",
        _written("a", "b"),
    ),
    "another call behind a value without its mark": Kind(
        "<tool_call>\n<function=look>\n<parameter=path>\n/\n</tool_call>\n"
        "<tool_call>\n<function=now>\n</function>\n</tool_call>",
        (LOOK, ("now", {})),
    ),
    "another call of the section behind a value without its mark": Kind(
        '<function_calls>\n<invoke name="look">\n<parameter name="path">/</invoke>\n'
        '<invoke name="now">\n</invoke>\n</function_calls>',
        (LOOK, ("now", {})),
    ),
    "another call behind one without its end": Kind(
        "<tool_call>\n<function=look>\n<parameter=path>\n/\n</parameter>\n"
        "<function=now>\n</function>\n</tool_call>",
        (LOOK, ("now", {})),
    ),
    "a pair behind a call that was closed too early": Kind(
        "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>\n"
        "<arg_key>content</arg_key>\n<arg_value>b</arg_value>\n</tool_call>",
        _written("a", "b"),
    ),
    "a key's closing mark that is said twice": Kind(
        "<tool_call>look<arg_key>path</arg_key></arg_key><arg_value>/</arg_value></tool_call>",
        (LOOK,),
    ),
    "a closing mark within a bullet's value": Kind(
        "● <function=write><parameter=path>a</parameter>"
        "<parameter=content>see </parameter> there</parameter>",
        _written("a", "see </parameter> there"),
    ),
    "a line end in Python's quotes": Kind(
        '<|tool_call_start|>[write(path="a", content="x\ny")]<|tool_call_end|>',
        _written("a", "x\ny"),
    ),
    "an unknown argument that is JSON": Kind(
        '<tool_call>look\n<arg_key>other</arg_key>\n<arg_value>{"a": 1}</arg_value>\n</tool_call>',
        (("look", {"other": {"a": 1}}),),
    ),
    "Gemma: JSON": Kind(_gemma('{"city": "Oslo"}'), (("search", {"city": "Oslo"}),)),
    "Gemma: single quotes": Kind(
        _gemma("{city: 'Oslo, Norway: centre'}"), (("search", {"city": "Oslo, Norway: centre"}),)
    ),
    "Gemma: lists and objects": Kind(
        _gemma('{queries:["a, b",\'c\'],options:{"mode": "fast"}}'),
        (("search", {"queries": ["a, b", "c"], "options": {"mode": "fast"}}),),
    ),
    "Gemma: a brace and a comma within a string": Kind(
        _gemma('{city:"a } b, c"}'), (("search", {"city": "a } b, c"}),)
    ),
}
NO = "No, that is dangerous."
DRAFTS = {
    "a draft": Kind(
        f"<think>A draft:\n\n{DRAFT}\n\n{NO}</think>I will not remove it.",
        thinking=f"A draft:\n\n{DRAFT}\n\n{NO}",
        text="I will not remove it.",
    ),
    "a draft in a field": Kind(
        "I will not remove it.",
        thinking=f"A draft:\n\n{DRAFT}\n\n{NO}",
        text="I will not remove it.",
        thought=f"A draft:\n\n{DRAFT}\n\n{NO}",
    ),
    "a draft of special tokens": Kind(
        f"<think>A draft: {KIMI} {NO}</think>I do not look.",
        thinking=f"A draft: {KIMI} {NO}",
        text="I do not look.",
    ),
    "a draft and a call in the answer": Kind(
        f"<think>A draft:\n\n{DRAFT}\n\n{NO}</think>So: {HERMES}",
        (LOOK,),
        f"A draft:\n\n{DRAFT}\n\n{NO}",
        "So:",
    ),
    "a call that ends a thought": Kind(f"<think>I look.\n{HERMES}", (LOOK,), "I look."),
    "a call before the closer": Kind(f"<think>I look.\n{HERMES}\n</think>\n\n", (LOOK,), "I look."),
    "two calls before the closer": Kind(
        f"<think>I look.\n{HERMES}\n{KIMI}</think>", (LOOK, LOOK), "I look."
    ),
}
MARKS = {
    "special tokens in mid-sentence": Kind(
        f"I look with {KIMI} now.", (LOOK,), "", "I look with now."
    ),
    "special tokens twice": Kind(f"I do {KIMI} and {KIMI} now.", (LOOK, LOOK), "", "I do and now."),
    "special tokens in a fence left open": Kind(f"```\ncode\n{KIMI}", (LOOK,), "", "```\ncode"),
    "a whole call in mid-sentence": Kind(f"I do {HERMES} now.", (LOOK,), "", "I do now."),
    "a call in code": Kind(f"`{HERMES}` is one.", text=f"`{HERMES}` is one."),
    "a tool that is not offered": Kind(
        _hermes('{"name": "other", "arguments": {}}'),
        text=_hermes('{"name": "other", "arguments": {}}'),
    ),
    "gpt-oss: the header's end": Kind(
        ' to=functions.look<|channel|>commentary json<|message|>{"path": "/"}<|call|>', (LOOK,)
    ),
    "gpt-oss: another channel's name": Kind("<|channel|>answer<|message|>Hello.", text="Hello."),
    "gpt-oss: no special tokens": Kind(
        'assistantcommentary to=functions.look json{"path": "/"}', (LOOK,)
    ),
    "Gemma: parentheses": Kind('<|tool_call>call:look(path=<|"|>/<|"|>)<tool_call|>', (LOOK,)),
    "Gemma: no word before the name": Kind(
        '<|tool_call>:look{path:<|"|>/<|"|>}<tool_call|>', (LOOK,)
    ),
    "Gemma: no marks": Kind('call:look{path:"/"}', (LOOK,)),
    "Gemma: the turn's end": Kind(
        "<|channel>thought\nA.<channel|>Hello.<turn|>", thinking="A.", text="Hello."
    ),
    "MiniMax-M3: the first opener left out": Kind(
        f'{M3}<invoke name="look">{M3}<path>/{M3}</path>{M3}</invoke>{M3}</tool_call>', (LOOK,)
    ),
    "MiniMax-M3: an opener's bracket left out": Kind(
        f'{M3}<tool_call>\n{M3}invoke name="look">{M3}<path>/{M3}</path>{M3}</invoke>\n'
        f"{M3}</tool_call>",
        (LOOK,),
    ),
    "DeepSeek V4: doubled bars": Kind(
        '<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name="look">\n'
        '<｜｜DSML｜｜parameter name="path" string="true">/</｜｜DSML｜｜parameter>\n'
        "</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>",
        (LOOK,),
    ),
    "MedGemma's thought": Kind(
        "<unused94>thought\nA.<unused95>Hello.", thinking="A.", text="Hello."
    ),
    "a closing mark of nothing": Kind(f"{HERMES}</function_invocation>", (LOOK,)),
    "a closer behind a field's thought": Kind(
        "</think>\n\nHello.", thinking="A.", text="Hello.", thought="A."
    ),
}
AN_OBJECT = '{"name": "look", "arguments": {"path": "/"}}'
BY_GRAMMAR: Json = {"response_format": {"type": "json_object"}}
CITY = (("search", {"city": "Oslo"}),)
LOST_MARKS = {
    **{
        f"GLM, {where}": Kind(f"<tool_call>{content}</tool_call>", CITY)
        for where, content in {
            "no opener of a key": "searchcity</arg_key><arg_value>Oslo</arg_value>",
            "no opener, a blank": "search city</arg_key><arg_value>Oslo</arg_value>",
            "no opener, a line": "search\ncity</arg_key>\n<arg_value>Oslo</arg_value>\n",
            "no opener of a value": "search<arg_key>city</arg_key>Oslo</arg_value>",
            "a closer too many": "search</arg_value><arg_key>city</arg_key><arg_value>Oslo</arg_value>",
        }.items()
    },
    "GLM, a closer behind the name": Kind("<tool_call>now</arg_value></tool_call>", (("now", {}),)),
    "GLM, no other end": Kind("<tool_call>now</arg_value>", (("now", {}),)),
    "Hunyuan, no other end": Kind(
        "<tool_call:opensource>now</arg_value:opensource>", (("now", {}),)
    ),
    "GLM, words behind such an end": Kind(
        "<tool_call>now</arg_value> and so", text="<tool_call>now</arg_value> and so"
    ),
    "GLM, a key that nobody knows": Kind(
        "<tool_call>searchtown</arg_key><arg_value>Oslo</arg_value></tool_call>",
        text="<tool_call>searchtown</arg_key><arg_value>Oslo</arg_value></tool_call>",
    ),
    "Gemma, no opener of a string": Kind(
        _gemma('{city:Oslo in May<|"|>}'), (("search", {"city": "Oslo in May"}),)
    ),
    "Gemma, no opener, a comma": Kind(
        _gemma('{city:Oslo, Norway<|"|>,queries:[1,<|"|>a<|"|>]}'),
        (("search", {"city": "Oslo, Norway", "queries": [1, "a"]}),),
    ),
    "Gemma, quotation marks in a string": Kind(
        _gemma('{city:<|"|>print(<|"|><|"|><|"|>a<|"|><|"|><|"|>)<|"|>,queries:[]}'),
        (("search", {"city": 'print("""a""")', "queries": []}),),
    ),
    "gpt-oss, on another channel": Kind(
        '<|channel|>comment to=functions.search <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
        CITY,
    ),
    "an argument in the call's tag": Kind(
        '<tool_call>\n<function=search city="Oslo">\n</function>\n</tool_call>', CITY
    ),
    "a number of the call in its tag": Kind(
        '<tool_call>\n<function=search id="7">\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>',
        CITY,
    ),
    "a call as Python writes an object": Kind(
        _hermes("{'name': 'look', 'arguments': {'path': '/'}}"), (LOOK,)
    ),
    "an id without its quotes": Kind(
        _hermes('{"id": call_1, "name": "look", "arguments": {"path": "/"}}'), (LOOK,)
    ),
    "a call as JavaScript writes one": Kind(
        _hermes('{name: "look", arguments: {path: "/"}}'), (LOOK,)
    ),
    "what nobody knows in the call's tag": Kind(
        '<tool_call>\n<function=search town="Oslo">\n</function>\n</tool_call>',
        text='<tool_call>\n<function=search town="Oslo">\n</function>\n</tool_call>',
    ),
}
GRAMMARS = {
    "JSON that was asked for is no call": Kind(AN_OBJECT, text=AN_OBJECT, request=BY_GRAMMAR),
    "JSON that was not asked for": Kind(AN_OBJECT, (LOOK,)),
    "tags in a string of such an answer": Kind(
        '{"a": "<think>x</think>"}', text='{"a": "<think>x</think>"}', request=BY_GRAMMAR
    ),
    "an answer by a grammar of a model that begins with thinking": Kind(
        '{"a": 1}', text='{"a": 1}', request={**BY_GRAMMAR, "model": "QwQ-32B"}
    ),
    "a choice by a grammar of such a model": Kind(
        "yes", text="yes", request={"guided_choice": ["yes", "no"], "model": "QwQ-32B"}
    ),
    "a forced call of such a model": Kind(
        AN_OBJECT, (LOOK,), request={"tool_choice": "required", "model": "QwQ-32B"}
    ),
}
KINDS = {
    **ARGUMENTS_ELSEWHERE,
    "an argument that nobody knows": Kind(UNKNOWN, text=UNKNOWN),
    "an object behind a call that names no tool": Kind(WORD_BEHIND, text=WORD_BEHIND),
    **VALUES,
    **DRAFTS,
    **MARKS,
    **LOST_MARKS,
    **GRAMMARS,
}


def _streamed(kind: Kind, length: int) -> bytes:
    """The reply in frames of so many characters."""
    parts = (("reasoning_content", kind.thought), ("content", kind.sent))
    deltas = [
        {name: text[at : at + length]} for name, text in parts for at in range(0, len(text), length)
    ]
    return chat_stream(deltas)


def _whole(kind: Kind) -> bytes:
    thought = {"reasoning_content": kind.thought} if kind.thought else {}
    return chat_whole({"role": "assistant", **thought, "content": kind.sent})


def _read(body: bytes, kind: Kind, client: Dialect, form: Form) -> Kind:
    """Return the content that a client gets. Blanks in the text do not count, because only some
    dialects have one field for separate texts.
    """
    label = JSON if body.startswith(b"{") else STREAM
    recorded = recording(body, label, **{"tools": TOOLS, **kind.request})
    rewriter = recorded.rewriter(client, form)
    out = b"".join([*rewriter.feed(body), *rewriter.close()])
    received = parse_reply(out, form, client)
    if received.error or rewriter.failure:
        return Kind(kind.sent, fails=True)
    choice = received.choice()
    calls = tuple(
        (each["name"], json.loads(each["arguments"] or "{}")) for each in choice.calls.values()
    )
    return Kind(kind.sent, calls, choice.joined("thinking"), "".join(choice.joined("text").split()))


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("name", "client"), in_turns(KINDS))
def test_a_client_gets_what_the_model_did(name: str, form: Form, client: Dialect) -> None:
    kind = KINDS[name]
    text = "".join(kind.text.split())
    wanted = Kind(kind.sent, kind.calls, kind.thinking, text, fails=kind.fails)
    for body in (_streamed(kind, 1), _streamed(kind, len(kind.sent)), _whole(kind)):
        assert _read(body, kind, client, form) == wanted
