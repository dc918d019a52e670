"""The parser of tool calls: look-alikes, places in a text, and the laws over drawn text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Text, ToolCall, joined
from converter.core.reading.engine.candidate import begins_prose
from converter.core.reading.engine.context import Context
from converter.core.reading.engine.engine import PIECE, RESCAN_LIMIT
from converter.core.reading.engine.source import Source
from converter.core.reading.tool_calls.forms import OPENERS, SECTIONS, WHOLE
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT, PYTHON_LIMIT
from tests.support.call_engine import call_engine
from tests.support.call_look_alikes import CALL, LOOK_ALIKES, ONE_LINE
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN, Calls

NOW: tuple[str, dict[str, object]] = ("now", {})
OSLO = ("get_weather", {"city": "Oslo"})


def read(
    *pieces: str, expectations: Expectations | None = None, whole_forms: bool = True
) -> list[Event]:
    parser = call_engine(expectations or Expectations(TOOLS), whole_forms)
    out = [event for piece in pieces for event in parser.feed(piece)]
    return joined([*out, *parser.flush()])


def parts_of(*pieces: str) -> list[object]:
    return [
        (event.name, json.loads(event.arguments)) if isinstance(event, ToolCall) else event.text
        for event in read(*pieces)
        if isinstance(event, Text | ToolCall)
    ]


def test_there_are_enough_look_alikes() -> None:
    assert len(set(LOOK_ALIKES)) == len(LOOK_ALIKES) >= 60


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_call_passes_unchanged(text: str) -> None:
    for around in (text, f"Look.\n{text}", f"{text}\n"):
        assert read(around) == read(*around) == [Text(around)]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_a_call_behind_a_look_alike_is_read(text: str) -> None:
    """But for those that are cut off, or leave a code block open: what follows is theirs."""
    behind = f"{text}\n\n{ONE_LINE}"
    parts = parts_of(behind)
    assert parts == parts_of(*behind)
    assert parts[-1] == NOW or "".join(map(str, parts)) == behind or text.startswith("```")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"Let me see.{ONE_LINE}", ["Let me see.", NOW]),
        (f"Let me see. {ONE_LINE}", ["Let me see. ", NOW]),
        (f"now: {ONE_LINE} and more", ["now: ", NOW, "and more"]),
        (f"I look now {ONE_LINE}\nSo.", ["I look now ", NOW, "So."]),
        (f"I look now {ONE_LINE} {ONE_LINE}", ["I look now ", NOW, NOW]),
        (f"Look: {ONE_LINE} and {ONE_LINE} done.", ["Look: ", NOW, "and ", NOW, "done."]),
        (f"I look {ONE_LINE} and {ONE_LINE} so.", ["I look ", NOW, "and ", NOW, "so."]),
        (f"I look {ONE_LINE[:-12]} and so.", None),
        ("<tool_calls>now, or never</tool_calls>", None),
        (f"1. {ONE_LINE}", ["1. ", NOW]),
        (f"a `tick\n{ONE_LINE}", ["a `tick", NOW]),
        (f"`<tool_call>` is it:\n{ONE_LINE}", ["`<tool_call>` is it:", NOW]),
        (f"```\ncode\n```\n{ONE_LINE}", ["```\ncode\n```", NOW]),
        (f"```json\n[1]\n```\n{CALL}", ["```json\n[1]\n```", OSLO]),
        (f"[1]\n{CALL}", ["[1]", OSLO]),
        (f'{{"a": 1}}\n{CALL}', ['{"a": 1}', OSLO]),
        (f"<tool_call>\n{CALL}", ["<tool_call>", OSLO]),
        (f"{ONE_LINE}{ONE_LINE}", [NOW, NOW]),
        (f"{ONE_LINE}\n</tool_call></function>\nSo.", [NOW, "So."]),
        ('[TOOL_CALLS][{"name": "now"}][/TOOL_CALLS]So.', [NOW, "So."]),
        (f"{ONE_LINE}<｜tool▁calls▁end｜><|eom_id|>", [NOW]),
        (f"{ONE_LINE} So </tool_call>", [NOW, "So </tool_call>"]),
        (f"{ONE_LINE}\n\nand\n\n{ONE_LINE}\n", [NOW, "and", NOW]),
        (f"{ONE_LINE[:-12]}\nThat was it.", [NOW, "That was it."]),
        (
            '<tool_call>[{"name": "now"}, {"name": "x"}, {"name": "now"}]</tool_call>.',
            [NOW, '{"name": "x"}, ', NOW, "."],
        ),
        ('{"name": "now", "arguments": {}}; {"name": "x", "arguments": {}}', None),
    ],
)
def test_calls_and_text_keep_their_order(text: str, wanted: list[object] | None) -> None:
    assert parts_of(text) == parts_of(*text) == (wanted or [text])


def test_a_call_whose_arguments_have_no_meaning_is_broken() -> None:
    parser = call_engine(Expectations(TOOLS))
    text = '<tool_call>{"name": "now", "arguments": {"at": 15:30}}</tool_call> done'
    assert parser.feed(f"Well.\n{text}") == [Text("Well.")]
    assert parser.calls.broken_name == "now"


def test_ids_are_counted_and_choices_kept() -> None:
    events = read(f"a\n{ONE_LINE}\n{CALL}", expectations=Expectations(TOOLS, "call_x_", 2))
    assert [
        (event.id, event.index, event.choice) for event in events if isinstance(event, ToolCall)
    ]
    assert events == [
        Text("a", 2),
        ToolCall(0, "call_x_0", "now", "{}", 2),
        ToolCall(1, "call_x_1", "get_weather", '{"city": "Oslo"}', 2),
    ]


def test_a_refused_call_takes_no_number() -> None:
    none, two = '{"name": "none", "arguments": {}}', '{"name": "now", "arguments": {}}'
    events = read(f"<tool_call>\n{two}\n{none}\n{two}\n</tool_call>")
    assert [event.index for event in events if isinstance(event, ToolCall)] == [0, 1]


def test_calls_beyond_the_number_requested_are_text() -> None:
    first, rest = read(f"{ONE_LINE}\n{CALL}", expectations=Expectations(TOOLS, most=1))
    assert isinstance(first, ToolCall)
    assert rest == Text(CALL)


def test_where_the_user_requested_json_an_object_is_an_answer() -> None:
    text = '{"name": "now", "arguments": {}}'
    assert read(text, whole_forms=False) == [Text(text)]


def test_close_without_text_before_it_changes_nothing() -> None:
    parser = call_engine(Expectations(TOOLS))
    assert parser.flush() == []
    assert parser.feed('{"name": "now", "arguments": {}}') == []
    assert [type(event) for event in parser.flush()] == [ToolCall]


def test_text_behind_a_close_is_read_anew() -> None:
    parser = call_engine(Expectations(TOOLS))
    assert parser.feed("a `b\n") + parser.flush() == [Text("a `b"), Text("\n")]
    assert [type(event) for event in parser.feed(ONE_LINE) + parser.flush()] == [ToolCall]
    assert [event.id for event in parser.feed(ONE_LINE) if isinstance(event, ToolCall)] == [
        "call_1"
    ]


# What is held, and what it costs.


def test_ordinary_text_is_not_held() -> None:
    parser = call_engine(Expectations(TOOLS))
    for word in ["It", " is", " 7", ".", " <b>", " [1] b", "\n\nNext", " `x`", " {", "}"]:
        assert "".join(event.text for event in parser.feed(word) if isinstance(event, Text)) == word


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ('<tool_call>{"x": "' + "a" * (HELD_LIMIT + 10), HELD_LIMIT),
        ('{"arguments": {"x": "' + "a" * (HELD_LIMIT + 10), HELD_LIMIT),
        ("<|tool_call_start|>[now(x='" + "a" * (PYTHON_LIMIT + 10), PYTHON_LIMIT),
        ("[TOOL_CALLS]" + "a" * 2000, 1000),
        ("<tool_call>" + "a" * 2000, 1000),
        ("<function=" + "a" * 2000, 1000),
        ("a" + "\n" * (2 * BLANKS_LIMIT), BLANKS_LIMIT),
        ("\n" * (2 * BLANKS_LIMIT), BLANKS_LIMIT),
        (f"now {ONE_LINE}" + " " * (2 * BLANKS_LIMIT), BLANKS_LIMIT + 100),
        ("<tool_call>" + "\n" * (2 * BLANKS_LIMIT), BLANKS_LIMIT + 100),
    ],
)
def test_what_is_held_is_bounded(text: str, limit: int) -> None:
    parser = call_engine(Expectations(TOOLS))
    emitted = 0
    for at in range(0, len(text), 64):
        events = parser.feed(text[at : at + 64])
        emitted += sum(len(event.text) for event in events if isinstance(event, Text))
        called = bool(parser.calls.read)
        assert called or at + 64 - emitted <= limit + 200
    rest = parser.flush()
    assert called or emitted + sum(len(e.text) for e in rest if isinstance(e, Text)) == len(text)


HOSTILE = {
    "openers": "<tool_call>" * 20_000,
    "openers with a brace": '<tool_call>{"' * 20_000,
    "openers in strings": "<|tool_call_start|>[now(x=" + "'<|tool_call_start|>[now(x=\"" * 8_000,
    "half openers": "<tool_cal" * 25_000,
    "backticks": "`<tool_call>` " * 15_000,
    "braces": "<tool_call>" + '{"name":' * 25_000,
    "one long string": '<tool_call>{"name": "write_file", "arguments": {"content": "'
    + "a" * 200_000,
    "one long value": "<function=write_file><parameter=content>" + "</parameter> " * 15_000,
    "nested lists": "<|tool_call>call:write_file{tags:" + "[" * 100_000,
    "python brackets": "<|tool_call_start|>[write_file(tags=" + "[" * 60_000,
    "blanks": "<tool_call>" + " \n" * 100_000,
    "quotes": "[" * 1000 + "\"'" * 100_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_text_reads_the_same_in_any_pieces(name: str) -> None:
    """Its cost is measured by `make bench BENCH=lengths`: level, whatever is repeated."""
    text = HOSTILE[name]
    short, long = (
        read(*[text[at : at + size] for at in range(0, len(text), size)]) for size in (5, 4096)
    )
    assert short == long


# The laws.

_MARKS = sorted({*OPENERS, *SECTIONS, *WHOLE})
_SAMPLES: list[Calls] = [[OSLO], [NOW], [("other", {"a": 1})], [OSLO, NOW]]
_CALLS = [written.write(calls) for written in WRITTEN.values() for calls in _SAMPLES]
_PIECES = st.one_of(
    st.sampled_from(_MARKS),
    st.sampled_from(_CALLS),
    st.sampled_from(_CALLS).flatmap(
        lambda text: st.integers(1, len(text)).map(lambda end: text[:end])
    ),
    st.sampled_from(_CALLS).flatmap(
        lambda text: st.integers(0, len(text) - 1).map(lambda begin: text[begin:])
    ),
    st.sampled_from(
        ["\n", "\n\n", " ", "a", "word. ", "`", "```", "\n```\n", '"', "{", "}", "[", "]"]
    ),
    st.sampled_from(["+", "\n> ", ",", "\\", "now", "get_weather", "</tool_call>", "</parameter>"]),
)
_TEXTS = st.lists(_PIECES, max_size=6).map("".join)


@law(400)
@given(st.data())
def test_cut_anywhere_the_same_message(data: st.DataObject) -> None:
    text = data.draw(_TEXTS)
    assert read(*data.draw(cut(text))) == read(text) == read(*text)


_SECTION = re.compile("|".join(map(re.escape, SECTIONS)))


def _is_itself(output: str, text: str) -> bool:
    """Return True if the output is the text, but for marks of sections before other text."""
    begins = any(begins_prose(text[match.end() :], True) for match in _SECTION.finditer(text))
    return output == text or (begins and _SECTION.sub("", output) == _SECTION.sub("", text))


@law(300)
@given(_TEXTS)
def test_without_a_tool_every_text_is_itself(text: str) -> None:
    events = read(text, expectations=Expectations({}))
    assert _is_itself("".join(e.text for e in events if isinstance(e, Text)), text)
    assert not [event for event in events if isinstance(event, ToolCall)]


@law(300)
@given(_TEXTS)
def test_text_that_holds_no_call_is_itself_and_calls_are_whole_or_open(text: str) -> None:
    parser = call_engine(Expectations(TOOLS))
    events = joined([*parser.feed(text), *parser.flush()])
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert len(calls) == len(parser.calls.read)
    if not calls:
        assert len(events) <= 1
        assert _is_itself("".join(e.text for e in events if isinstance(e, Text)), text)
    for call, parsed in zip(calls, parser.calls.read, strict=True):
        assert call.name == parsed.name
        if parsed.whole:
            assert isinstance(json.loads(call.arguments), dict)
        else:
            with pytest.raises(json.JSONDecodeError):
                json.loads(call.arguments)


def test_a_step_copies_no_more_than_a_piece_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    take = Source.take

    def taken(source: Source, length: int) -> str:
        copied.append(len(source.rest))
        return take(source, length)

    monkeypatch.setattr(Source, "take", taken)
    text = "● <function=" * 2000
    assert read(text) == [Text(text)]
    assert max(copied) < 2 * PIECE + RESCAN_LIMIT


def test_a_refused_call_that_is_long_is_not_searched_again() -> None:
    inner = f"\n{ONE_LINE}\n" + "a" * RESCAN_LIMIT
    text = f"<|tool_call_start|>[now(x='''{inner}''' 1)]"
    assert read(text) == read(*text) == [Text(text)]


def test_a_fence_within_a_call_of_no_tool_ends_with_it() -> None:
    other = (
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>other\n```json\n{}\n```<｜tool▁call▁end｜>\n"
    )
    assert parts_of(f"{other}{ONE_LINE}") == [other.rstrip("\n"), ("now", {})]


def test_a_fence_within_a_call_that_is_none_ends_with_it() -> None:
    none = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n```<｜tool▁call▁end｜>"
    assert parts_of(f"{none}\n{ONE_LINE}") == [none, NOW]


@pytest.mark.parametrize("arguments", ["{oops}", "oops", "{no json}"])
def test_the_call_behind_one_whose_arguments_are_none_is_emitted(arguments: str) -> None:
    section = "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>So."
    write = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>\n"
    text = section.format(write.format(arguments) + write.format("{}"))
    none = text[: text.index("<｜tool▁call▁begin｜>", 30)]
    assert parts_of(text) == parts_of(*text) == [none.rstrip(), NOW, "So."]


UNFINISHED = [
    ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"', "</tool_call>"),
    ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo",\n', "</tool_call>"),
    ('<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"', "<｜tool▁call▁end｜>"),
    ('<｜tool▁call▁begin｜>get_weather\n```json\n{"city": "Oslo"\n', "```<｜tool▁call▁end｜>"),
]


@pytest.mark.parametrize(("written", "close"), UNFINISHED)
def test_a_closing_mark_behind_unfinished_arguments_ends_the_call(written: str, close: str) -> None:
    assert parts_of(written + close) == parts_of(*written, *close) == [OSLO]
    text = written + close + ONE_LINE
    assert parts_of(text) == parts_of(*text) == [OSLO, NOW]


def test_a_list_of_calls_may_follow_another_behind_a_mark_of_its_own() -> None:
    calls = '[TOOL_CALLS][{"name": "now", "arguments": {}}]'
    assert parts_of(f"{calls}\n{calls}") == [("now", {})] * 2


@pytest.mark.parametrize("blanks", ["\n" + " " * BLANKS_LIMIT, f"\n{' ' * BLANKS_LIMIT}\n  "])
def test_more_blanks_than_are_held_are_the_same_however_they_are_cut(blanks: str) -> None:
    text = f"Look.{blanks}{ONE_LINE}"
    kept = "Look." + blanks.removesuffix("\n  ")
    assert parts_of(text) == parts_of(*text) == parts_of(text[:9], text[9:]) == [kept, NOW]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n</think>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>',
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</think></tool_call>',
        '<tool_call>{"name": "get_weather",</think>"arguments": {"city": "Oslo"}}</tool_call>',
        "<tool_call><function=get_weather>\n</think><parameter=city>Oslo</parameter></function></tool_call>",
        "<tool_call><function=get_weather><parameter=city>Oslo</parameter>[/THINK]</function></tool_call>",
        "<tool_call>get_weather\n</think><arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
    ],
)
def test_a_closer_of_a_thought_between_the_parts_of_a_call_says_nothing(text: str) -> None:
    assert parts_of(text) == parts_of(*text) == [OSLO]


@pytest.mark.parametrize("half", ["</", "\n</tool_", "</func", "</tool_call"])
def test_half_a_closing_mark_behind_a_call_is_dropped_at_the_end(half: str) -> None:
    text = '<tool_call>{"name": "now", "arguments": {}}' + half
    assert parts_of(text) == parts_of(*text) == [NOW]
    assert parts_of(f"{text} x")[1:] != []


def test_a_closer_of_a_thought_behind_a_call_that_lacks_its_own_says_nothing() -> None:
    text = "<tool_call>\n<function=now>\n</function>\n</think>\nSo."
    assert parts_of(text) == parts_of(*text) == [NOW, "So."]


def test_a_closer_of_a_thought_in_an_argument_is_its_text() -> None:
    text = "<function=get_weather><parameter=city></think></parameter></function>"
    assert parts_of(text) == parts_of(*text) == [("get_weather", {"city": "</think>"})]


# What stands before a mark.


def around(text: str, size: int) -> Context:
    context = Context()
    for at in range(0, len(text), size):
        context.feed(text[at : at + size])
    return context


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "quoted", "in_sentence"),
    [
        ("", False, False),
        ("\n", False, False),
        ("a word ", False, True),
        ("a word", False, False),
        ("a word\n", False, False),
        ("a word\n  ", False, False),
        ("a word, ", False, True),
        ("a sentence. ", False, False),
        ("as follows: ", False, False),
        ("  ", False, False),
        ("a `", True, False),
        ("a `b` ", False, False),
        ("a `b\n", False, False),
        ("```\n", True, False),
        ("```\nx\n", True, False),
        ("```\nx\n```\n", False, False),
        ('a "', True, False),
        ('a "b" ', False, False),
        ("(", True, False),
        ("( ", False, False),
        ("+", True, False),
        ("+   ", True, False),
        ("-x ", True, True),
        ("> ", True, False),
        ("> x\n", False, False),
        ("● ", False, False),
    ],
)
def test_a_mark_may_be_quoted_or_in_a_sentence(
    text: str, quoted: bool, in_sentence: bool, size: int
) -> None:
    context = around(text, size)
    assert (context.shows_calls, context.in_sentence) == (quoted, in_sentence)


@pytest.mark.parametrize("first", ["", "assistant", "commentary", "assistantcommentary"])
def test_a_header_of_harmony_may_lack_its_first_token(first: str) -> None:
    text = f"{first} to=functions.now<|channel|>commentary json<|message|>{{}}<|call|>"
    assert parts_of(text) == parts_of(*text) == [NOW]
    assert parts_of(f"{text} and so") == [f"{text} and so"]
