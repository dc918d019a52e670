"""The reading rules, one by one: a text, and the message that it is, however it is cut."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from converter.core.model.events import LateCloser
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.engine.engine import STOP, Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import choose
from converter.core.reading.rows import Counts
from converter.core.reading.thought import UNREADABLE_CONFIDENCE
from converter.core.reading.thought_row import Lone, ThoughtRow
from converter.core.reading.tool_calls.head import Expectations
from laws.oracle_blocks import Block
from tests.support.read_back import blocks_of

ALL = mark_table(choose(["auto"]))


def text(body: str) -> Block:
    return Block("text", body)


def thinking(body: str, thought_type: str | None = None, confidence: float | None = None) -> Block:
    return Block("thinking", body, thought_type, confidence)


@dataclass(frozen=True)
class Row:
    """A text, and the message that it is."""

    rule: str
    text: str
    message: Sequence[Block]
    start: Mode = Mode.ANSWERING
    tools_offered: bool = False
    finish: str = STOP
    grammar: Grammar = Grammar.NONE


CALL = '<tool_call>{"name": "run"}</tool_call>'
JSON, OTHER = Grammar.JSON, Grammar.OTHER
KIMI = "<|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
HALF = UNREADABLE_CONFIDENCE
BEGUN, WHOLE, CLOSED = Mode.THINKING, Mode.UNDECIDED, Mode.CLOSED
ROWS = [
    Row("1 text passes unchanged", " \n Hello \r\n\t ", [text(" \n Hello \r\n\t ")]),
    Row("1 nothing is nothing", "", []),
    Row("1 blanks between thoughts are text", "<think>a</think> \n<think>b</think>", [thinking("a"), text(" \n"), thinking("b")]),
    Row("1 blanks before the answer are text", "<think>a</think>\n\nb", [thinking("a"), text("\n\nb")]),
    Row("2 CR and LF go at both ends", "<think>\r\n\na\n\r</think>b", [thinking("a"), text("b")]),
    Row("2 other blanks stay", "<think>\n \ta \n</think>", [thinking(" \ta ")]),
    Row("2 CR and LF within stay", "<think>\na\n\n\r\nb\n</think>", [thinking("a\n\n\r\nb")]),
    Row("2 U+2028 is no line break here", "<think>\u2028a\u2028</think>", [thinking("\u2028a\u2028")]),
    Row("2 a lone CR goes as well", "<think>\ra\r</think>", [thinking("a")]),
    Row("3 an empty thought makes no block", "<think></think>a", [text("a")]),
    Row("3 a blank thought makes no block", "a<think> \n\t\u00a0\n</think>b", [text("ab")]),
    Row("3 a blank thought between thoughts", "<think>a</think><think> </think><think>b</think>", [thinking("a"), thinking("b")]),
    Row("4 thoughts anywhere, in order", "a<think>b</think>c<think>d", [text("a"), thinking("b"), text("c"), thinking("d")]),
    Row("4 two thoughts in a row are two blocks", "<think>a</think><think>b</think>", [thinking("a"), thinking("b")]),
    Row("4 two families in one reply", "<think>a</think>[THINK]b[/THINK]c", [thinking("a"), thinking("b"), text("c")]),
    Row("4 an opener in mid-word", "un<think>a</think>do", [text("un"), thinking("a"), text("do")]),
    Row("5 the first closer ends it", "<think>a</think>b</think>c", [thinking("a"), text("b</think>c")]),
    Row("5 only its own closer", "<think>a</thinking>b[/THINK]c</think>d", [thinking("a</thinking>b[/THINK]c"), text("d")]),
    Row("5 no nesting", "<think>a<think>b</think>c</think>d", [thinking("a<think>b"), text("c</think>d")]),
    Row("5 another opener inside is thinking", "<thinking>a<think>b</thinking>c", [thinking("a<think>b"), text("c")]),
    Row("5 an opener doubled at once is one", "<think><think>a</think>b", [thinking("a"), text("b")]),
    Row("5 said three times, blanks between", "<think>\n<think> <think>a</think>b", [thinking(" a"), text("b")]),
    Row("5 another family's opener is not said again", "<think><thinking>a</think>b", [thinking("<thinking>a"), text("b")]),
    Row("5 doubled where the template opened", "<think><think>a</think>b", [thinking("a"), text("b")], BEGUN),
    Row("5 a suffix doubled", "<think:a><think:a>b</think:a>c", [thinking("b"), text("c")]),
    Row("5 another suffix is none", "<think:a><think:b>c</think:a>d", [thinking("<think:b>c"), text("d")]),
    Row("5 a closer in code closes", "<think>`</think>`a", [thinking("`"), text("`a")]),
    Row("5 a closer without an opener is text", "a</think>b", [text("a</think>b")]),
    Row("6 half an opener at the end", "a<thin", [text("a<thin")]),
    Row("6 half a closer at the end", "<think>a</thin", [thinking("a</thin")]),
    Row("6 half an opener, then one", "<thi<think>a</think>", [text("<thi"), thinking("a")]),
    Row("6 half a closer, then one", "<think>a</thi</think>b", [thinking("a</thi"), text("b")]),
    Row("6 many half openers", "<<<<think>a</think>", [text("<<<"), thinking("a")]),
    Row("6 half a closer and CR LF behind it", "<think>a</think\n\n", [thinking("a</think")]),
    Row("7 cut off inside a thought", "<think>\na\nb\n", [thinking("a\nb")]),
    Row("7 cut off behind the opener", "a<think>", [text("a")]),
    Row("7 cut off in a blank thought", "<think>\n ", []),
    Row("8 a longer name", "<thinker>a</thinker>", [text("<thinker>a</thinker>")]),
    Row("8 a blank inside", "< think>a</ think>", [text("< think>a</ think>")]),
    Row("8 another case", "<THINK>a</THINK>[think]b[/think]", [text("<THINK>a</THINK>[think]b[/think]")]),
    Row("8 attributes on a tag that has none", '<think a="b">c', [text('<think a="b">c')]),
    Row("8 words of prose", "<reason>a</reason><thought>b</thought>", [text("<reason>a</reason><thought>b</thought>")]),
    Row("10 in an inline span", "`<think>`a", [text("`<think>`a")]),
    Row("10 in a fence", "```\n<think>\n```\n<think>a</think>", [text("```\n<think>\n```\n"), thinking("a")]),
    Row("10 in a fence of tildes", "~~~x\n<think>\n~~~\n<think>a</think>", [text("~~~x\n<think>\n~~~\n"), thinking("a")]),
    Row("10 behind a span", "`a` <think>b</think>", [text("`a` "), thinking("b")]),
    Row("10 a span ends with its paragraph", "`a\n\n<think>b</think>", [text("`a\n\n"), thinking("b")]),
    Row("10 code begins anew after a thought", "<think>`</think><think>a</think>", [thinking("`"), thinking("a")]),
    Row("10 a thought's end begins a line", "a<think>b</think>~~~\n<think>", [text("a"), thinking("b"), text("~~~\n<think>")]),
    Row("10 an attribute form in code", '`<thinking thought="a"/>`', [text('`<thinking thought="a"/>`')]),
    Row("10 an escaped backtick is none", "\\`<think>a</think>", [text("\\`"), thinking("a")]),
    Row("10 an escaped backslash before one", "\\\\`<think>a", [text("\\\\`<think>a")]),
    Row("11 everything up to the closer", "\na\n</think>b", [thinking("a"), text("b")], BEGUN),
    Row("11 an opener repeated at the start goes", "<think>\na</think>b", [thinking("a"), text("b")], BEGUN),
    Row("11 also behind blanks", "\n<think>a</think>b", [thinking("a"), text("b")], BEGUN),
    Row("11 an opener further on stays", "a<think>b</think>c", [thinking("a<think>b"), text("c")], BEGUN),
    Row("11 a repeated opener has its own closer", "<thinking>a</think>b</thinking>c", [thinking("a</think>b"), text("c")], BEGUN),
    Row("11 closed at once", "</think>a", [text("a")], BEGUN),
    Row("11 cut off", "a", [thinking("a")], BEGUN),
    Row("11 then as ever", "a</think>b<think>c</think>", [thinking("a"), text("b"), thinking("c")], BEGUN),
    Row("11 half an opener repeated", "<thi</think>a", [thinking("<thi"), text("a")], BEGUN),
    Row("11 undecided: a lone closer tells", "a\n</think>b", [thinking("a"), text("b")], WHOLE),
    Row("11 undecided: an opener tells", "a<think>b</think>c", [text("a"), thinking("b"), text("c")], WHOLE),
    Row("11 undecided: no mark at all", "a\n<b>", [text("a\n<b>")], WHOLE),
    Row("11 undecided: a second closer is text", "a</think>b</think>c", [thinking("a"), text("b</think>c")], WHOLE),
    Row("11 undecided: a closer in code tells nothing", "`</think>` <think>a", [text("`</think>` "), thinking("a")], WHOLE),
    Row("11 undecided: nothing before the closer", "</think>a", [text("a")], WHOLE),
    Row("12 a thought in a tag", '<thinking thought="a"></thinking>b', [thinking("a", None, HALF), text("b")]),
    Row("12 a tag that ends itself", "<thinking thought='a'/>b", [thinking("a", None, HALF), text("b")]),
    Row("12 with a blank before its end", '<thinking thought="a" />b', [thinking("a", None, HALF), text("b")]),
    Row(
        "12 metadata",
        'a<thinking thought="b" thought_type="plan" confidence="0.7" thought_id="9"/>',
        [text("a"), thinking("b", "plan", 0.7)],
    ),
    Row("12 no readable confidence", '<thinking confidence="high" thought="a"/>', [thinking("a", None, HALF)]),
    Row("12 a confidence that is no number", '<thinking confidence="nan" thought="a"/>', [thinking("a", None, HALF)]),
    Row("12 a tag within quotes", "<thinking thought='> </thinking> <think>'/>", [thinking("> </thinking> <think>", None, HALF)]),
    Row("12 the other quotes within quotes", """<thinking thought='a "b"'/>""", [thinking('a "b"', None, HALF)]),
    Row("12 line breaks in the tag", '<thinking\n  thought="\na\n"\n>\n</thinking>b', [thinking("a", None, HALF), text("b")]),
    Row("12 words in the tag and behind it", '<thinking thought="a">\nb\n</thinking>', [thinking("a\n\n\nb", None, HALF)]),
    Row("12 no thought in the tag", '<thinking confidence="1">a</thinking>b', [thinking("a", None, 1.0), text("b")]),
    Row("12 a blank thought makes no block", '<thinking thought=" "/>a', [text("a")]),
    Row("12 prose is no tag", '<thinking about it> "a"', [text('<thinking about it> "a"')]),
    Row("12 an unquoted value is no tag", "<thinking a=1>b", [text("<thinking a=1>b")]),
    Row("12 cut off in the tag", '<thinking thought="a', [text('<thinking thought="a')]),
    Row("12 cut off before the tag's end", '<thinking thought="a" /', [text('<thinking thought="a" /')]),
    Row("12 a thought within prose that is no tag", "<thinking <think>a</think>", [text("<thinking "), thinking("a")]),
    Row("14 a call ends a thought", f"<think>a\n\n{CALL}", [thinking("a"), text(CALL)]),
    Row("14 and one that the template opened", f"a\n{CALL}", [thinking("a"), text(CALL)], BEGUN),
    Row("14 at its very head", f"<think>{CALL}", [text(CALL)]),
    Row("14 at the head, opened by the template", f"\n{CALL}", [text(CALL)], BEGUN),
    Row("14 within a line", f"<think>Need lookup{CALL}", [thinking("Need lookup"), text(CALL)]),
    Row("14 behind a sentence", f"<think>I will. {CALL}", [thinking("I will. "), text(CALL)]),
    Row("14 a name behind the mark", "<think>a<tool_call>get\n<arg_key>b</tool_call>", [thinking("a"), text("<tool_call>get\n<arg_key>b</tool_call>")]),
    Row("14 a tag behind it", "<think>a\n<tool_call>\n<function=b>", [thinking("a"), text("<tool_call>\n<function=b>")]),
    Row("14 a list of calls", "<think>a\n<tool_calls>[{}]</tool_calls>", [thinking("a"), text("<tool_calls>[{}]</tool_calls>")]),
    Row("14 cut off behind the mark", "<think>a\n<tool_call>", [thinking("a"), text("<tool_call>")]),
    Row("14 a special token without a call stays", "<think>a <|tool_calls_section_begin|> b", [thinking("a <|tool_calls_section_begin|> b")]),
    Row("14 nor does code hide them", "<think>```\na<|tool_call_begin|>b", [thinking("```\na"), text("<|tool_call_begin|>b")]),
    Row("14 marks in a call are the call's", '<think>a<tool_call>{"b": "<think></think>"}</tool_call>', [thinking("a"), text('<tool_call>{"b": "<think></think>"}</tool_call>')]),
    Row("14 a call of no tool before the closer is a draft", f"<think>a{CALL}\n</think>b", [thinking(f"a{CALL}"), text("b")]),
    Row("14 behind a draft a thought goes on", f"<think>a\n{CALL}\nb\n</think>\nc", [thinking(f"a\n{CALL}\nb"), text("\nc")]),
    Row("14 marked by special tokens, too", f"<think>a {KIMI} no</think>b", [thinking(f"a {KIMI} no"), text("b")]),
    Row("14 a closer in a draft closes nothing", "<think>a<tool_call>{'</think>'}</tool_call> b</think>c", [thinking("a<tool_call>{'</think>'}</tool_call> b"), text("c")]),
    Row("14 a draft, and a call", f"<think>a{CALL}b</think>{CALL}", [thinking(f"a{CALL}b"), text(CALL)]),
    Row("14 two calls of no tool before the closer", f"<think>a{CALL}\n{CALL}\n</think>b", [thinking(f"a{CALL}\n{CALL}"), text("b")]),
    Row("14 in one that the template opened, too", f"a{CALL} b</think>c", [thinking(f"a{CALL} b"), text("c")], BEGUN),
    Row("14 in one that was guessed, too", f"a{CALL} b</think>c", [thinking(f"a{CALL} b"), text("c")], Mode.GUESSED),
    Row("14 without a closer that was the answer", f"<think>a{CALL}\nb<think>c", [thinking("a"), text(f"{CALL}\nb"), thinking("c")]),
    Row("14 cut off, nobody knows: thinking", f"<think>a{CALL}\nb", [thinking("a"), text(CALL + "\n"), thinking("b")], finish="length"),
    Row("14 two drafts", f"<think>a{CALL}b{CALL}c</think>d", [thinking(f"a{CALL}b{CALL}c"), text("d")]),
    Row("14 up to the next call it is a thought", f"<think>a{CALL}b{CALL}", [thinking("a"), text(CALL), thinking("b"), text(CALL)]),
    Row("14 a draft's closer said again", f"<think>a{CALL}\n</tool_call>\nb</think>c", [thinking(f"a{CALL}\n</tool_call>\nb"), text("c")]),
    Row("14 many words behind it show a draft", f"<think>a{CALL}{'b ' * 300}\n\nc", [thinking(f"a{CALL}{'b ' * 300}\n\nc")]),
    Row("14 and the next call counts", f"<think>a{CALL}{'b ' * 300}\n{CALL}", [thinking(f"a{CALL}{'b ' * 300}"), text(CALL)]),
    Row("14 of a guessed one the end is the answer", f"a{CALL}{'b ' * 300}\n\nc", [thinking(f"a{CALL}{'b ' * 300}"), text("c")], Mode.GUESSED),
    Row("14 behind a call in the answer words are text", f"{CALL}b</think>c", [text(f"{CALL}b</think>c")], tools_offered=True),
    Row("14 thoughts between calls", f"<think>a{CALL}<think>b{CALL}", [thinking("a"), text(CALL), thinking("b"), text(CALL)]),
    Row("14 a call behind a call", f"<think>a{CALL}\n<tool_call><think>b</tool_call>c", [thinking("a"), text(f"{CALL}\n<tool_call><think>b</tool_call>c")]),
    Row("14 half a mark", "<think>a<tool_ca</think>b", [thinking("a<tool_ca"), text("b")]),
    Row("14 half a mark at the end", "<think>a<tool_ca", [thinking("a<tool_ca")]),
    Row("14 a mark in a sentence", "<think>I use the <tool_call> mark.</think>b", [thinking("I use the <tool_call> mark."), text("b")]),
    Row("14 its plural", "<think>two <tool_call>s then.</think>b", [thinking("two <tool_call>s then."), text("b")]),
    Row("14 a mark and its end", "<think>in <tool_call></tool_call> tags</think>b", [thinking("in <tool_call></tool_call> tags"), text("b")]),
    Row("14 a sentence that ends with the mark", "<think>it begins with <tool_call>", [thinking("it begins with <tool_call>")]),
    Row("14 a mark with a full stop", "<think>I end\n<tool_call>. No.</think>b", [thinking("I end\n<tool_call>. No."), text("b")]),
    Row("14 a mark in quotes", '<think>"<tool_call>{" it is</think>b', [thinking('"<tool_call>{" it is'), text("b")]),
    Row("14 a mark in inline code", "<think>`<tool_call>{}` it is</think>b", [thinking("`<tool_call>{}` it is"), text("b")]),
    Row("14 a call in a fence", f"<think>so:\n```\n{CALL}\n```\nyes</think>b", [thinking(f"so:\n```\n{CALL}\n```\nyes"), text("b")]),
    Row("14 a lone backtick hides none", f"<think>the ` sign\n{CALL}", [thinking("the ` sign"), text(CALL)]),
    Row("14 Mistral's mark in a closed thought stays", '[THINK]a[TOOL_CALLS]b[ARGS]{}[/THINK]c', [thinking("a[TOOL_CALLS]b[ARGS]{}"), text("c")], tools_offered=True),
    Row("14 words of other frameworks need tools", "<think>a\n<TOOLCALL>[{}]</think>b", [thinking("a\n<TOOLCALL>[{}]"), text("b")]),
    Row("14 and count with them", "<think>a\n<TOOLCALL>[{}]</TOOLCALL>", [thinking("a"), text("<TOOLCALL>[{}]</TOOLCALL>")], tools_offered=True),
    Row("14 with tools a call in the text holds no thought", '<tool_call>{"a": "<think>"}</tool_call><think>b', [text('<tool_call>{"a": "<think>"}</tool_call>'), thinking("b")], tools_offered=True),
    Row("14 without tools it is text like any other", '<tool_call>{"a": "<think>b', [text('<tool_call>{"a": "'), thinking("b")]),
    Row("14 with tools a mark in code is text", "`<tool_call>{` <think>a", [text("`<tool_call>{` "), thinking("a")], tools_offered=True),
    Row("10 a backtick in JSON at the head begins no code", '{`}<|end|>a<think>b', [text("{`}a"), thinking("b")], tools_offered=True),
    Row("10 behind it in its line stands no fence, but a span", '{}```\n<think>a', [text("{}```\n<think>a")], tools_offered=True),
    Row("15 a closer at the head goes", "</think>a", [text("a")]),
    Row("15 blanks before it are text", " \n</think>\na", [text(" \n\na")]),
    Row("15 several of them", "</think></thinking>\n</think>a", [text("\na")]),
    Row("15 nothing but one", "</think>", []),
    Row("15 one further on is text", "a</think>b", [text("a</think>b")]),
    Row("15 one said again behind a thought goes", "<think>a</think></think>b", [thinking("a"), text("b")]),
    Row("15 several, blanks between", "<think>a</think>\n</think></think> b", [thinking("a"), text("\n b")]),
    Row("15 behind words it is text", "<think>a</think>b</think>", [thinking("a"), text("b</think>")]),
    Row("15 then as ever", "[/THINK]a<think>b</think>c", [text("a"), thinking("b"), text("c")]),
    Row("15 half of one", "</thin", [text("</thin")]),
    Row("15 in code", "`</think>`", [text("`</think>`")]),
    Row("15 undecided: the same", "\n</think>a</think>b", [text("\na</think>b")], WHOLE),
    Row("15 with thinking off it is words", "</think>a", [text("</think>a")], CLOSED),
    Row("15 with thinking off, behind blanks", " \n</think>\na", [text(" \n</think>\na")], CLOSED),
    Row("15 with thinking off an opener counts", "<think>a</think>b", [thinking("a"), text("b")], CLOSED),
    Row("15 with thinking off, behind words", "a</think>b", [text("a</think>b")], CLOSED),
    Row("15 with thinking off a special token goes", "<channel|>a", [text("a")], CLOSED),
    *(row for start in (BEGUN, Mode.GUESSED) for row in (
        Row("18 JSON is the answer", '\n{"a": "<think>"}', [text('\n{"a": "<think>"}')], start, grammar=JSON),
        Row("18 a list, cut off", "[1, 2", [text("[1, 2")], start, finish="length", grammar=JSON),
        Row("18 a word is a thought's", "Hm.</think>{}", [thinking("Hm."), text("{}")], start, grammar=JSON),
        Row("18 an opener", "\n<think>Hm.</think>{}", [thinking("Hm."), text("{}")], start, grammar=JSON),
        Row("18 a closer at the head goes", "\n</think>{}", [text("{}")], start, grammar=JSON),
        Row("18 another grammar: text", "yes", [text("yes")], start, grammar=OTHER),
        Row("18 cut off, too", "yes", [text("yes")], start, finish="length", grammar=OTHER),
        Row("18 unless a closer comes", "Hm.</think>yes", [thinking("Hm."), text("yes")], start, grammar=OTHER),
        Row("18 a long one does not wait for it", "a" * 5000 + "</think>", [text("a" * 5000 + "</think>")], start, grammar=OTHER),
    )),
    Row("18 in the text all is as ever", "Hm.</think>{}", [text("Hm.</think>{}")], grammar=JSON),
    Row("15 undecided: behind a mark that is no text", "a<|end|></think>b", [thinking("a"), text("b")], WHOLE),
]  # fmt: skip


def parse(
    pieces: Sequence[str],
    start: Mode = Mode.ANSWERING,
    tags: Sequence[ThoughtRow] | None = None,
    attributes: bool = True,
    tools_offered: bool = False,
    finish: str = STOP,
    *,
    grammar: Grammar = Grammar.NONE,
) -> list[Block]:
    families = choose(["auto"]) if tags is None else tuple(tags)
    marks = mark_table(families, attributes, tools_offered)
    parser = Engine(marks, start, json_answer=grammar is JSON, grammar=grammar)
    emitted = [event for piece in pieces for event in parser.feed(piece)]
    return blocks_of(emitted + parser.flush(finish))


def read_row(row: Row, pieces: Sequence[str]) -> list[Block]:
    options = {"tools_offered": row.tools_offered, "finish": row.finish, "grammar": row.grammar}
    return parse(pieces, row.start, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_rule(row: Row) -> None:
    assert read_row(row, [row.text]) == row.message


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_rule_holds_wherever_the_text_is_cut(row: Row) -> None:
    assert read_row(row, row.text) == row.message
    for offset in range(0, len(row.text), max(1, len(row.text) // 1000)):
        assert read_row(row, [row.text[:offset], row.text[offset:]]) == row.message


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_is_read_wherever_it_is_cut(family: ThoughtRow) -> None:
    before = "" if family.counts is Counts.AT_START else "a"
    content = f"{before}{family.open}\nb\n{family.close}c"
    first = [text("a")] if before else []
    for offset in range(len(content)):
        assert parse([content[:offset], content[offset:]], tags=[family]) == [
            *first,
            thinking("b"),
            text("c"),
        ]
    half = content[: content.index(family.close) + len(family.close) - 1]
    rest = "" if family.close.startswith(family.torn) else "\n" + family.close[:-1]
    assert parse(half, tags=[family]) == [*first, thinking("b" + rest)]


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_a_family_that_was_not_chosen_is_text(family: ThoughtRow) -> None:
    content = f"{family.open}a{family.close}"
    marks = {*family.opens, *family.closes}
    others = [
        other
        for other in TABLE
        if not marks & {*other.opens, *other.ignored}
        and (other.lone is not Lone.NOTHING or not marks & {*other.closes})
    ]
    assert parse([content], tags=others) == [text(content)]


def test_with_tags_off_everything_is_text() -> None:
    content = "".join(f"{family.open}a{family.close}" for family in TABLE)
    for start in (Mode.ANSWERING, Mode.UNDECIDED):
        assert parse(content, start, tags=[]) == [text(content)]


def test_a_literal_pair_is_read_like_a_family() -> None:
    pair = choose(["BEGIN| |END"])
    assert parse("xBEGIN|\ny\n|END<think>z", tags=pair) == [
        text("x"),
        thinking("y"),
        text("<think>z"),
    ]


def test_with_attributes_off_their_forms_are_text() -> None:
    content = '<thinking thought="a"/>'
    assert parse([content], tags=choose(["thinking"]), attributes=False) == [text(content)]
    assert parse(["<thinking>a</thinking>b"], tags=choose(["thinking"]), attributes=False) == [
        thinking("a"),
        text("b"),
    ]


# What is held, and no more.


@dataclass(frozen=True)
class Held:
    """All of `text` but `held` is emitted when `text` has been fed."""

    why: str
    text: str
    held: str
    mode: Mode = Mode.ANSWERING


HELD = [
    Held("nothing of plain text", "Hello ", ""),
    Held("an opener's beginning", "Hello <thi", "<thi"),
    Held("the one opener that may still come", "<<think", "<think"),
    Held("nothing of what cannot become one", "<thi ", ""),
    Held("nothing of a lookalike", "<thinker", ""),
    Held("nothing of an opener in code but its beginning", "`<think>", ""),
    Held("a closer's beginning", "so</thin", "</thin", BEGUN),
    Held("nothing of another family's closer", "so[/THIN", "[/THIN", BEGUN),
    Held("line breaks in a thought", "so\n\r\n", "\n\r\n", BEGUN),
    Held("line breaks and a closer's beginning", "so\n</", "\n</", BEGUN),
    Held("not the blanks between words", "so  ", "", BEGUN),
    Held("blanks of a thought that has said nothing", "  ", "  ", BEGUN),
    Held("an attribute form that may still end", 'a<thinking thought="x > y', '<thinking thought="x > y'),
    Held("a name that may be an attribute's", "a<thinking about", "<thinking about"),
    Held("nothing of one that turned into prose", "a<thinking about it", ""),
    Held("nothing of text's own line breaks", "a\n\n", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", HELD, ids=lambda row: row.why)
def test_rule_6_what_is_held_is_what_is_undecided(row: Held) -> None:
    parser = Engine(ALL, row.mode)
    came = "".join(getattr(event, "text", "") for event in parser.feed(row.text))
    assert came == row.text.removesuffix(row.held)


def test_a_held_beginning_comes_out_with_the_text_that_decides_it() -> None:
    parser = Engine(ALL)
    assert parser.feed("<thin") == []
    assert blocks_of(parser.feed("g>")) == [text("<thing>")]


def test_after_a_flush_what_follows_is_a_new_block() -> None:
    parser = Engine(ALL)
    events = [
        *parser.feed("<think>a\n"),
        *parser.flush(),
        *parser.feed("\nb</think>c"),
        *parser.flush(),
    ]
    assert blocks_of(events) == [thinking("a"), thinking("b"), text("c")]


def test_a_closer_behind_the_call_that_ended_its_thought_is_emitted_where_it_is_wanted() -> None:
    text = '<think>why\n<tool_call>{"name": "f"}</tool_call></think>so</think>'
    for wanted, expected in ((True, [LateCloser()]), (False, [])):
        expectations = Expectations({"f": {}})
        parser = Engine(mark_table(choose(["auto"]), reads_calls=wanted), expectations=expectations)
        events = [*parser.feed(text), *parser.flush()]
        assert [event for event in events if isinstance(event, LateCloser)] == expected
