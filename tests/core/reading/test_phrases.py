"""Thoughts marked by words alone: a text, and the message that it is, however it is cut."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall, joined
from converter.core.model.initial_state import InitialState
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.families import HEURISTIC
from converter.core.reading.family_choice import choose
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedCalls, Reading
from converter.core.reading.rows import LINE, SENTENCE
from converter.core.reading.tool_calls.calls_read import Tools
from converter.core.wire.bounds import BLANKS_LIMIT
from laws.oracle_blocks import Block
from tests.support.read_back import blocks_of
from tests.support.strategies import cut, law

OPENING = [mark[1:] for mark in HEURISTIC.opens]
CLOSING = [mark[1:] for mark in HEURISTIC.closes if mark[0] == SENTENCE]
STRUCTURE = [mark[1:] for mark in HEURISTIC.closes if mark[0] == LINE]
LONGEST = max(map(len, (*OPENING, *CLOSING, *STRUCTURE)))


def text(content: str) -> Block:
    return Block("text", content)


def thinking(content: str) -> Block:
    return Block("thinking", content)


@dataclass(frozen=True)
class Row:
    """A text, and the message that it is."""

    rule: str
    text: str
    message: Sequence[Block]


def plain(rule: str, content: str) -> Row:
    return Row(rule, content, [text(content)])


ROWS = [
    Row("nothing is nothing", "", []),
    plain("text without phrases", " \n Hello \r\n\t "),
    Row(
        "a thought and its answer",
        "Let me think.\n2 + 2.\n\nNow I'll say it: 4",
        [thinking("Let me think.\n2 + 2."), text("Now I'll say it: 4")],
    ),
    Row(
        "a thought of paragraphs",
        "Let me think.\n\nA.\n\nB.\n\nLet me proceed: C",
        [thinking("Let me think.\n\nA.\n\nB."), text("Let me proceed: C")],
    ),
    Row(
        "each case",
        "LET ME THINK\nnOW i WILL go",
        [thinking("LET ME THINK"), text("nOW i WILL go")],
    ),
    Row(
        "a typographic apostrophe",
        "Let me think.\nNow I’ll go",
        [thinking("Let me think."), text("Now I’ll go")],
    ),
    Row(
        "behind blanks at the start", " \n\tLet me think", [text(" \n\t"), thinking("Let me think")]
    ),
    Row("behind a blank line", "Hi.\n\nLet me think", [text("Hi.\n\n"), thinking("Let me think")]),
    Row(
        "behind a line of blanks",
        "Hi.\r\n \t\r\n  Let me think",
        [text("Hi.\r\n \t\r\n  "), thinking("Let me think")],
    ),
    plain("not behind one line break", "Hi.\nLet me think"),
    plain("not within a line", "Hi. Let me think"),
    plain("not in quotes", '"Let me think", he said'),
    plain("not behind a mark of Markdown", "**Thinking:** a"),
    plain("a longer word is none", "Let me thinking\n\nLet me think_a"),
    plain("a word before is none", "outlet me think"),
    plain("two blanks are none", "Let me  think"),
    plain("half a phrase at the end", "Let me thin"),
    Row("a phrase at the end is one", "Let me think", [thinking("Let me think")]),
    Row("punctuation ends the word", "My reasoning, so far", [thinking("My reasoning, so far")]),
    Row("a colon ends itself", "Thinking:x", [thinking("Thinking:x")]),
    plain("closing phrases without a thought", "Now I'll go. Let me proceed."),
    Row(
        "a closing phrase at a sentence's beginning",
        "Let me think. Now I will go",
        [thinking("Let me think. "), text("Now I will go")],
    ),
    Row(
        "behind a quotation's end",
        'I need to think "so." Let me proceed',
        [thinking('I need to think "so." '), text("Let me proceed")],
    ),
    Row(
        "behind an indentation",
        "Let me think\n  Now I'll go",
        [thinking("Let me think\n  "), text("Now I'll go")],
    ),
    Row(
        "behind a word that leads in",
        "Let me think. Okay, now I'll go",
        [thinking("Let me think. "), text("Okay, now I'll go")],
    ),
    Row(
        "not within a sentence",
        "Let me think if now I'll go",
        [thinking("Let me think if now I'll go")],
    ),
    Row(
        "not behind a full stop without a blank",
        "Let me think a.now I'll go",
        [thinking("Let me think a.now I'll go")],
    ),
    Row(
        "a closing phrase in a longer word is none",
        "Let me think. Now I'llx",
        [thinking("Let me think. Now I'llx")],
    ),
    Row("half a closing phrase", "Let me think. Now I", [thinking("Let me think. Now I")]),
    Row(
        "an opening phrase within a thought",
        "Let me think\n\nThinking: a",
        [thinking("Let me think\n\nThinking: a")],
    ),
    Row(
        "two thoughts",
        "Let me think. Now I'll a\n\nThinking: b\nNow I'll c",
        [
            thinking("Let me think. "),
            text("Now I'll a\n\n"),
            thinking("Thinking: b"),
            text("Now I'll c"),
        ],
    ),
    Row("cut off", "Let me think\na\n", [thinking("Let me think\na")]),
    Row(
        "a heading is the answer's",
        "Let me think.\n\n## Answer\n4",
        [thinking("Let me think."), text("## Answer\n4")],
    ),
    Row("a number sign is none", "Let me think.\n#1 is it", [thinking("Let me think.\n#1 is it")]),
    Row(
        "seven number signs are none",
        "Let me think.\n####### a",
        [thinking("Let me think.\n####### a")],
    ),
    Row(
        "a fence is the answer's",
        "Let me think.\n```\nx\n```\n\nb",
        [thinking("Let me think."), text("```\nx\n```\n\nb")],
    ),
    Row(
        "a fence within a line is none",
        "Let me think ```x``` a",
        [thinking("Let me think ```x``` a")],
    ),
    Row("two backticks are none", "Let me think\n``a``", [thinking("Let me think\n``a``")]),
    plain("an opening phrase in a fence", "```\n\nLet me think\n```"),
    plain("an opening phrase in a fence of tildes", "~~~x\n\nThinking: a\n~~~"),
    Row(
        "an opening phrase behind a fence",
        "```\na\n```\n\nLet me think",
        [text("```\na\n```\n\n"), thinking("Let me think")],
    ),
    Row(
        "several in a span",
        "Thinking: `a. Now I'll b. Now I'll c` d",
        [thinking("Thinking: `a. Now I'll b. Now I'll c` d")],
    ),
    plain("several in a fence", "```\n\nLet me think\n\nLet me think\n```\n"),
    plain("an opening phrase in a span", "`Let me think`"),
    Row(
        "a closing phrase in a span",
        "Let me think `a. Now I'll b` c",
        [thinking("Let me think `a. Now I'll b` c")],
    ),
    Row(
        "a fence that ended a thought is one",
        "Thinking: a\n```\n\nLet me think\n```",
        [thinking("Thinking: a"), text("```\n\nLet me think\n```")],
    ),
    Row(
        "CR LF at a thought's end",
        "Let me think\r\n\r\nNow I'll go",
        [thinking("Let me think"), text("Now I'll go")],
    ),
]


def stage(choice: int = 0, findings: Findings | None = None) -> ReadingStage:
    return ReadingStage(Reading((), phrases=True), choice, findings or Findings(), "call_")


def parse(pieces: Sequence[str]) -> list[Block]:
    parser = stage()
    events = [*(event for piece in pieces for event in parser.feed(Text(piece))), *parser.close()]
    return blocks_of([it for it in events if isinstance(it, Text | Thinking | ThinkingEnd)])


def joined_text(events: Sequence[Event]) -> str:
    return "".join(getattr(event, "text", "") for event in events)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_rule_holds_wherever_the_text_is_cut(row: Row) -> None:
    assert parse([row.text]) == row.message
    assert parse(row.text) == row.message
    for offset in range(len(row.text)):
        assert parse([row.text[:offset], row.text[offset:]]) == row.message


@pytest.mark.parametrize("opening", OPENING)
@pytest.mark.parametrize("closing", CLOSING)
def test_every_row_is_read(opening: str, closing: str) -> None:
    content = f"a\n\n{opening} b.\n{closing} c"
    for offset in range(len(content)):
        pieces = [content[:offset], content[offset:]]
        assert parse(pieces) == [text("a\n\n"), thinking(f"{opening} b."), text(f"{closing} c")]


@pytest.mark.parametrize("opening", OPENING)
def test_a_heading_of_every_level_ends_a_thought_and_so_do_fences(opening: str) -> None:
    for structure in STRUCTURE:
        assert parse(f"{opening} b\n{structure}c") == [
            thinking(f"{opening} b"),
            text(f"{structure}c"),
        ]


# What is held, and no more.


@pytest.mark.parametrize(
    ("content", "held"),
    [
        ("Hello ", ""),
        ("Let ", "Let "),
        ("Let me think", "Let me think"),
        ("Let me think ", ""),
        ("Let me thinking", ""),
        ("Thinking:", ""),
        ("\n\n  ", ""),
        ("a let me", ""),
        ("Let me think. ", ""),
        ("Let me think. No", "No"),
        ("Let me think. Not", ""),
        ("Let me think. So, now i", "So, now i"),
        ("Let me think\n\n", "\n\n"),
        ("Let me think\n\nNow I'll", "\n\nNow I'll"),
        ("Let me think\n##", "\n##"),
        ("Let me think a #", ""),
    ],
)
def test_what_is_held_is_what_is_undecided(content: str, held: str) -> None:
    parser = stage()
    assert joined_text(parser.feed(Text(content))) == content.removesuffix(held)


def test_text_that_nobody_touched_comes_out_as_it_went_in() -> None:
    for content in (
        "Hello.\n\nHow are you?\n\n```\n\nLet me think\n```\n",
        "`\nThinking: `",
        "\n",
        " ",
    ):
        assert stage().feed(Text(content)) == [Text(content)]


def test_what_follows_a_flush_begins_anew() -> None:
    parser = stage(2)
    first = [*parser.feed(Text("Let me think: `a", 2)), *parser.close()]
    assert first == [Thinking("Let me think: `a", 2), ThinkingEnd(2)]
    assert [*parser.feed(Text("Let me think", 2)), *parser.close()] == [
        Thinking("Let me think", 2),
        ThinkingEnd(2),
    ]
    assert parser.feed(Text("b", 2)) == [Text("b", 2)]
    assert parser.close() == []


@pytest.mark.parametrize(
    ("content", "unclosed"),
    [
        ("a", False),
        ("Let me think", True),
        ("Let me think. Now I'll", False),
        ("Let me think\n# a", False),
        ("Thinking: a\n", True),
        ("Let me think\n\n<think>b</think>c", False),
    ],
)
def test_a_thought_that_nothing_closed_is_reported(content: str, unclosed: bool) -> None:
    findings = Findings()
    parser = ReadingStage(Reading(choose(["auto"]), phrases=True), 0, findings, "call_")
    parser.feed(Text(content))
    assert not findings.unclosed
    parser.close()
    parser.close()
    assert bool(findings.unclosed) is unclosed


def test_a_later_thought_that_was_closed_takes_it_back() -> None:
    findings = Findings()
    parser = stage(findings=findings)
    for content in ("Let me think", "Let me think. Now I'll go"):
        parser.feed(Text(content))
        parser.close()
    assert not findings.unclosed


PHRASES = [
    *OPENING,
    *CLOSING,
    *(phrase.title() for phrase in (*OPENING, *CLOSING)),
    "Now I’ll",
    "so, now i will",
    *STRUCTURE,
]
PARTS = [
    "let ",
    "me ",
    "thin",
    "thinking",
    "now ",
    "i",
    "'ll",
    "I will",
    "my ",
    "reasoning",
    ":",
    "x",
    "okay, ",
    "so",
]
CODE = ["`", "``", "```", "~~~\n"]
BETWEEN = [
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    ". ",
    ".",
    "! ",
    ".) ",
    "…",
    "\t",
    "\u00a0",
    "\u2028",
    "- ",
    "* ",
    "#",
    "🙂",
]


def texts(*sorts: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(*map(st.sampled_from, sorts)), max_size=16).map("".join)


TEXTS = texts(PHRASES, PARTS, BETWEEN, CODE)


@law(1000)
@given(st.data(), TEXTS)
def test_cut_anywhere_it_is_the_same_message(data: st.DataObject, content: str) -> None:
    assert parse(data.draw(cut(content))) == parse([content])
    assert parse(content) == parse([content])


def without_breaks(content: str) -> str:
    return content.translate({ord("\r"): None, ord("\n"): None})


@law(500)
@given(TEXTS)
def test_nothing_is_lost_but_line_breaks_around_thoughts(content: str) -> None:
    blocks = parse(content)
    assert without_breaks("".join(block.text for block in blocks)) == without_breaks(content)
    if not any(block.kind == "thinking" for block in blocks):
        assert blocks == ([text(content)] if content else [])


@law(500)
@given(TEXTS)
def test_no_more_is_held_than_a_phrase_and_blanks(content: str) -> None:
    parser, came = stage(), ""
    for number, character in enumerate(content, 1):
        came += joined_text(parser.feed(Text(character)))
        lost = sum(content[:number].count(blank) - came.count(blank) for blank in "\r\n")
        assert number - len(came) <= LONGEST + lost


# The rules once more, as two slow and obvious expressions over a text without code.

_ENDS = r"(?:(?<=:)|(?!\w))"
_OPENS = re.compile(
    rf"(?:\A|^[^\S\n]*\n)\s*(?P<phrase>(?:let me think|i need to think|thinking:|my reasoning){_ENDS})",
    re.I | re.M,
)
_CLOSES = re.compile(
    rf"""(?: ^[^\S\n]* | [.!?…][.!?…"'”’)\]*_]*[^\S\n]+ )
         (?P<phrase> (?:(?:(?:ok|okay|alright|so),[ ] | so[ ])? (?:now[ ]i['’]ll|now[ ]i[ ]will|let[ ]me[ ]proceed)) {_ENDS})
       | ^[^\S\n]*(?P<heading>[#]{{1,6}}[ ])""",
    re.I | re.M | re.X,
)


def oracle(content: str) -> list[Block]:
    blocks, begin, thought = [], 0, False
    while match := (_CLOSES if thought else _OPENS).search(content, begin + thought):
        offset = max(match.start(name) for name in match.groupdict())
        blocks.append((thought, content[begin:offset]))
        begin, thought = offset, not thought
    blocks.append((thought, content[begin:]))
    return [
        thinking(part.rstrip("\r\n")) if thought else text(part) for thought, part in blocks if part
    ]


@law(2000)
@given(
    texts(PHRASES, PHRASES, PARTS, BETWEEN, BETWEEN).filter(
        lambda content: "```" not in content and "~~~" not in content
    )
)
def test_the_parser_and_the_oracle_agree(content: str) -> None:
    assert parse([content]) == oracle(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        "let me think " * 40_000,
        "let me think\n\n" * 40_000,
        "let me think. now i'll\n\n" * 20_000,
        "now i'" * 100_000,
        ". so " * 100_000,
        "thinking:" + ". no" * 100_000,
        "\n" * 500_000,
        "thinking:" + "\n" * 500_000,
        "thinking:" + "`\n#" * 100_000,
        "x" * 1_000_000,
        "#" * 500_000,
    ],
    ids=lambda content: f"{content[:16]!r} and so on",
)
def test_a_stream_holds_little_whatever_comes(content: str) -> None:
    parser = stage()
    for offset in range(0, len(content), 1000):
        parser.feed(Text(content[offset : offset + 1000]))
        assert len(parser._engine._source.rest) <= LONGEST
        assert len(parser._engine.thought._held) <= BLANKS_LIMIT
    stage().feed(Text(content))


# Beside other marks.

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
BESIDE = {
    "a tag's thought turns phrases off": (
        "<think>a</think>\n\nLet me think. b",
        [(">", "a"), ("", "\n\nLet me think. b")],
    ),
    "a tag's thought without words does not": (
        "<think>\n</think>\n\nLet me think. b",
        [("", "\n\n"), (">", "Let me think. b")],
    ),
    "a tag ends a phrase's thought": (
        "Let me think.\n<think>a</think>Let me think. b",
        [(">", "Let me think."), (">", "a"), ("", "Let me think. b")],
    ),
    "so does a tag with attributes": (
        'Let me think.\n<thinking thought="a"/>Let me think. b',
        [(">", "Let me think."), (">", "a"), ("", "Let me think. b")],
    ),
    "a closer tells that it was a thought": (
        "Let me think.\n</think>\nb\n\nThinking: c",
        [(">", "Let me think."), ("", "\nb\n\nThinking: c")],
    ),
    "a closer in code tells nothing": (
        "Let me think of `</think>` here.\nNow I'll go",
        [(">", "Let me think of `</think>` here."), ("", "Now I'll go")],
    ),
    "a special token without a meaning goes": (
        "Let me think.<|end|>\nNow I'll go",
        [(">", "Let me think."), ("", "Now I'll go")],
    ),
    "a call ends it, and a paragraph begins behind": (
        f"Let me think.\n{NOW}\nThinking: a\nNow I'll go",
        [(">", "Let me think."), ("call", "now"), (">", "Thinking: a"), ("", "Now I'll go")],
    ),
    "a call that is shown does not": (
        "Let me think of `<tool_call>` and how I use the <tool_call> tag. Now I'll go",
        [
            (">", "Let me think of `<tool_call>` and how I use the <tool_call> tag. "),
            ("", "Now I'll go"),
        ],
    ),
    "a bracket does not hide its end": (
        "Let me think: [a.\nNow I'll go",
        [(">", "Let me think: [a."), ("", "Now I'll go")],
    ),
    "no phrase begins in a call's text": (
        "<function=x></function>\n\nLet me think.</function>",
        [("", "<function=x></function>\n\n"), (">", "Let me think.</function>")],
    ),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("content", "message"), BESIDE.values(), ids=BESIDE)
def test_rule_holds_beside_other_marks(
    content: str, message: list[tuple[str, str]], whole: bool
) -> None:
    calls = ExpectedCalls(True, read=Tools({"now": {}}))
    for offset in range(len(content)):
        expected = Expected(calls=calls, wants_json="[" in content)
        reading = Reading(choose(["auto"]), phrases=True, whole=whole, expected=expected)
        parser = ReadingStage(reading, 0, Findings(), "call_")
        pieces = filter(None, (content[:offset], content[offset:]))
        events: list[Event] = [*map(Text, pieces), Finish("stop")]
        parts = joined([emitted for event in events for emitted in parser.feed(event)])
        assert [shown(it) for it in parts if isinstance(it, Text | Thinking | ToolCall)] == message


def shown(event: Text | Thinking | ToolCall) -> tuple[str, str]:
    if isinstance(event, ToolCall):
        return "call", event.name
    return ">" if isinstance(event, Thinking) else "", event.text


def test_a_closer_in_the_thought_of_a_phrase_teaches_where_replies_begin() -> None:
    findings = Findings()
    parser = ReadingStage(Reading(choose(["auto"]), phrases=True), 0, findings, "call_")
    parser.feed(Text("Let me think.\n</think>\nb"))
    parser.feed(Finish("stop"))
    assert findings.beginning.correction is InitialState.THINKING
    assert findings.beginning.closer_apart
    assert not findings.unclosed


def test_plain_text_is_checked_until_a_tag_has_stood_around_a_thought() -> None:
    parser = ReadingStage(Reading(choose(["auto"]), phrases=True), 0, Findings(), "call_")
    parser.feed(Text("so it"))
    assert parser.plain(Text) is None
    parser.feed(Text("<think>a</think>so it"))
    assert parser.plain(Text) is not None


def test_a_model_that_tags_its_thoughts_is_not_searched_for_phrases() -> None:
    parser, event = stage(), Text("Let me think about it.\n")
    parser.feed(Thinking("why"))
    assert [*parser.feed(event), *parser.close()] == [event]
