"""Real replies of models, kind by kind: each reply whole, streamed and cut anywhere is one message,
and the oracle reads the same.

The kinds that a request decides stand elsewhere: an unfinished call in `test_tool_calls_in_text.py`,
a request's fields in `test_server_fields.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import STOP, Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import AUTO, choose, for_model, joined
from converter.core.reading.thought_row import ThoughtRow
from laws import oracle
from laws.oracle_blocks import Block
from tests.support.read_back import blocks_of
from tests.support.strategies import every_so_many

STARTS = {
    Mode.ANSWERING: "text",
    Mode.CLOSED: "closed",
    Mode.THINKING: "thinking",
    Mode.GUESSED: "guessed",
    Mode.UNDECIDED: "undecided",
}
HEADED = '<|channel|>commentary to=functions.run<|message|>{"a": "<|end|>"}'
TEXT = (Mode.ANSWERING, Mode.UNDECIDED)
"""A streamed reply that begins in its text, and the same one whole."""
INSIDE = (Mode.THINKING, Mode.GUESSED)
"""A reply that begins inside a thought, and one that is guessed to."""


@dataclass(frozen=True)
class Reply:
    """A model's output, and its thinking (`>`) and text in order."""

    content: str
    message: Sequence[tuple[str, str]]
    starts: Sequence[Mode] = TEXT
    model: str = ""


WHY, SO = (">", "I look."), ("", "It is 4.")
CALL = '<tool_call>\n{"name": "run", "arguments": {}}\n</tool_call>'
K2 = "<|tool_calls_section_begin|><|tool_call_begin|>run:0<|tool_call_end|><|tool_calls_section_end|>"
DSML = '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="run"></｜DSML｜invoke>\n</｜DSML｜tool_calls>'
KINDS: dict[str, list[Reply]] = {
    "1 a tool call's opener ends an unclosed thought": [
        Reply(f"<think>I look.\n\n{CALL}", [WHY, ("", CALL)]),
        Reply(f"I look.\n{CALL}", [WHY, ("", CALL)], INSIDE),
        Reply(f"I look.{K2}", [WHY, ("", K2)], INSIDE),
        Reply(f"<think>I look.\n{DSML}", [WHY, ("", DSML)]),
        Reply("<think>I begin with <tool_call> and a name.</think>It is 4.", [(">", "I begin with <tool_call> and a name."), SO]),
        Reply("<think>`<tool_call>` begins it.</think>It is 4.", [(">", "`<tool_call>` begins it."), SO]),
        Reply("[THINK]I look.[TOOL_CALLS]run[/THINK]It is 4.", [(">", "I look.[TOOL_CALLS]run"), SO]),
    ],
    "2 a closer behind code closes, whole as streamed": [
        Reply("Use the ` sign</think>It is 4.", [(">", "Use the ` sign"), SO], INSIDE),
        Reply("```python\nprint(4)\n```</think>It is 4.", [(">", "```python\nprint(4)\n```"), SO], INSIDE),
        Reply("I look.</think>It is `4`.", [WHY, ("", "It is `4`.")], INSIDE),
    ],
    "3 a wrong guess leaves an answer": [
        Reply("It is 4.", [SO], (Mode.GUESSED,)),
        Reply("It is 4.\n\nTwo and two.", [("", "It is 4.\n\nTwo and two.")], (Mode.GUESSED,)),
        Reply("It is 4.", [(">", "It is 4.")], (Mode.THINKING,)),
    ],
    "4 a closer at the head goes, unless thinking is off": [
        Reply("</mm:think>It is 4.", [SO]),
        Reply("[/THINK]It is 4.", [SO]),
        Reply("</think></think>It is 4.", [SO]),
        Reply("</think>\nIt is 4.", [("", "\nIt is 4.")], (*TEXT, *INSIDE)),
        Reply("</think>It is 4.", [("", "</think>It is 4.")], (Mode.CLOSED,)),
        Reply("It is 4.</think>", [("", "It is 4.</think>")], (Mode.ANSWERING, Mode.CLOSED)),
    ],
    "5 Gemma 4's channels": [
        Reply("<|channel>thought<channel|>It is 4.", [SO]),
        Reply("<|channel>thought\nI look.<channel|>It is 4.<channel|>", [WHY, SO], (Mode.ANSWERING,)),
        Reply("<|channel><|channel>thought\nI look.<channel|>It is 4.", [WHY, SO]),
        Reply("<|channel>plan<channel|>It is 4.", [(">", "plan"), SO]),
        Reply("<|channel>thought\nI look.\n<|channel>response\nIt is 4.", [WHY, SO]),
        Reply("<|channel>thought\n<|channel>response\nIt is 4.", [SO]),
        Reply("I look.\n<|channel>response\nIt is 4.", [WHY, SO], INSIDE),
        Reply("<|channel>response\nIt is 4.", [SO], (*TEXT, Mode.CLOSED)),
        Reply("<|channel>response.<channel|>It is 4.", [(">", "response."), SO]),
        Reply("thought\nI look.<channel|>It is 4.", [WHY, SO], model="google/gemma-4-E4B-it"),
    ],
    "6 Cohere's answer ends the thought": [
        Reply("<|START_THINKING|>I look.<|START_TEXT|>It is 4.<|END_TEXT|>", [WHY, SO]),
        Reply("I look.<|START_RESPONSE|>It is 4.<|END_RESPONSE|>", [WHY, SO], INSIDE),
        Reply("<|START_TEXT|>It is 4.<|END_TEXT|>", [SO]),
    ],
    "9 Kimi-K3's marks of several tokens": [
        Reply("I look.<|close|>think<|open|>response<|sep|>It is 4.<|close|>response<|sep|>", [WHY, SO], INSIDE),
        Reply("I look.<|close|>thi", [WHY], (Mode.THINKING,)),
        Reply("<|open|>response<|sep|>It is 4.<|close|>resp", [SO]),
    ],
    "10 gpt-oss: no header in the text": [
        Reply("<|channel|>commentary to=assistant<|channel|>analysis<|message|>I look.<|end|>It is 4.", [WHY, SO]),
        Reply("<|start|><|channel|>analysis<|message|>I look.<|end|><|start|>It is 4.<|return|>", [WHY, SO]),
        Reply("It is 4.<|call|>", [SO]),
        Reply("<|channel|>final <|constrain|>json<|message|>It is 4.<|return|>", [SO]),
        Reply("<|channel|>final <|constrain|>response format<|message|>It is 4.", [SO]),
        Reply("<|channel|>analysis\n<|message|>I look.<|end|><|channel|>commentary json<|message|>It is 4.", [WHY, SO]),
        Reply("<|channel|>analysis code<|message|>I look.<|channel|>final\n <|constrain|>json<|message|>It is 4.", [WHY, SO]),
        Reply("I look.<|channel|>final\n<|message|>It is 4.", [WHY, SO], (Mode.THINKING,)),
        Reply("I look.<|end|><|channel|>final <|constrain|>js", [WHY], (Mode.THINKING,)),
        Reply("It is 4.<|channel|>final <|constr", [SO]),
        Reply("<|channel|>final to=run<|message|>{}", [("", "<|channel|>final to=run<|message|>{}")]),
        Reply(f"{HEADED}<|channel|>final<|message|>It is 4.", [("", f"{HEADED}It is 4.")]),
        Reply(f"<|channel|>analysis<|message|>I look.{HEADED}<|end|><|start|>assistant<|channel|>final<|message|>It is 4.", [WHY, ("", f"{HEADED}It is 4.")]),
        Reply(f"{HEADED}<|call|><|channel|>final<|message|>It is 4.", [("", f"{HEADED}<|call|>It is 4.")]),
        Reply("<|channel|>final It is 4", [("", "<|channel|>final It is 4")]),
    ],
    "11 a closer in a call is the call's": [
        Reply('<think>I look.\n<tool_call>\n</think>\n{"name": "run"}</tool_call>It is 4.', [WHY, ("", '<tool_call>\n</think>\n{"name": "run"}</tool_call>It is 4.')]),
        Reply("<think>I look.\n<tool_call>\n<function=run>\n</think></tool_call>It is 4.", [WHY, ("", "<tool_call>\n<function=run>\n</think></tool_call>It is 4.")]),
        Reply("<think>I look.\n<tool_call>\n</think>It is 4.", [(">", "I look.\n<tool_call>"), SO]),
    ],
    "11 an opener doubled is one": [
        Reply("<think><think>I look.</think>It is 4.", [WHY, SO]),
        Reply("<think>I look.</think>It is 4.", [WHY, SO], INSIDE),
    ],
}  # fmt: skip
ROWS = [
    pytest.param(reply, start, id=f"{kind}: {reply.content[:30]!r} {start.name}")
    for kind, replies in KINDS.items()
    for reply in replies
    for start in reply.starts
]


def _families(model: str) -> tuple[ThoughtRow, ...]:
    return joined(choose([AUTO]), for_model(model))


def _read(pieces: Sequence[str], start: Mode, model: str) -> list[Block]:
    parser = Engine(mark_table(_families(model), offered=True), start)
    emitted = [event for piece in pieces for event in parser.feed(piece)]
    return blocks_of(emitted + parser.flush(STOP))


@pytest.mark.parametrize(("reply", "start"), ROWS)
def test_it_is_read_alike_whole_streamed_and_cut_anywhere(reply: Reply, start: Mode) -> None:
    message = [Block("thinking" if kind else "text", text) for kind, text in reply.message]
    assert _read([reply.content], start, reply.model) == message
    assert _read(reply.content, start, reply.model) == message
    for offset in every_so_many(range(1, len(reply.content))):
        pieces = [reply.content[:offset], reply.content[offset:]]
        assert _read(pieces, start, reply.model) == message


@pytest.mark.parametrize(("reply", "start"), ROWS)
def test_the_oracle_reads_the_same(reply: Reply, start: Mode) -> None:
    families = _families(reply.model)
    blocks = oracle.read(reply.content, families, STARTS[start], tools_offered=True, stopped=True)
    assert [(block.kind, block.text) for block in blocks] == [
        ("thinking" if kind else "text", text) for kind, text in reply.message
    ]
