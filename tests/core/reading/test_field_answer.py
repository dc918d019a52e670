"""An answer that comes as thinking is an answer where a sign says so."""

from collections.abc import Sequence

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.request_facts import expected_of
from converter.core.dialects.table import (
    ANTHROPIC,
    DIALECTS,
    OLLAMA,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
)
from converter.core.model.events import (
    Event,
    Finish,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reading.beginning import Grammar
from converter.core.reading.field_answer import LONGEST, FieldAnswer
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedThoughts, ThoughtLimits
from converter.core.reply.reply_notes import NO_ANSWER
from laws.reply_parser import parse_reply
from tests.support import frames

STOP, CUT, CALL = Finish("stop"), Finish("length"), ToolCall(0, "1", "f", "{}")
A, B = Thinking("12 * 7 "), Thinking("is 84.")
OFF = Expected(no_thought_due=True)
CLOSERS = ("</think>", "<|close|>response<|sep|>")


def read(*events: Event, expected: Expected = OFF) -> list[list[Event]]:
    """Return the stage's output for each event, and at its end."""
    stage = FieldAnswer(expected, CLOSERS, Findings())
    return [[*stage.feed(event)] for event in events] + [[*stage.close()]]


@pytest.mark.parametrize(
    ("events", "out"),
    [
        ([A, B, STOP], [[], [], [Text("12 * 7 is 84."), STOP], []]),
        ([A, Text("\n"), STOP], [[], [], [Text("12 * 7 \n"), STOP], []]),
        ([A, ThinkingEnd(), STOP], [[], [], [Text("12 * 7 "), STOP], []]),
        ([A, Text("84"), B, STOP], [[], [A, Text("84")], [B], [STOP], []]),
        ([A, CALL, STOP], [[], [A, CALL], [STOP], []]),
        ([A, CUT], [[], [A, CUT], []]),
        ([A, B], [[], [], [A, B]]),
        ([Text("84"), A, STOP], [[Text("84")], [A], [STOP], []]),
        ([Text(""), STOP], [[Text("")], [STOP], []]),
        ([A, Usage(1, 1), STOP], [[], [Usage(1, 1)], [Text("12 * 7 "), STOP], []]),
        ([A, Text("No.", refusal=True)], [[], [A, Text("No.", refusal=True)], []]),
    ],
)
def test_only_a_stop_without_another_word_tells_an_answer(
    events: Sequence[Event], out: list[list[Event]]
) -> None:
    assert read(*events) == out


def test_what_waits_is_bounded() -> None:
    long = Thinking("x" * LONGEST)
    assert read(long, A, B, STOP) == [[], [long, A], [B], [STOP], []]


IN_JSON = Expected(grammar=Grammar.JSON)
CHOSEN = Expected(grammar=Grammar.OTHER, choices=("yes", "no"))
SIGNS = {
    "JSON": (IN_JSON, ['{"a"', ": 1}"], ("", '{"a": 1}')),
    "a word where JSON is wanted": (IN_JSON, ["I ", "think."], ("I think.", "")),
    "JSON that is none": (IN_JSON, ["[I think", "] so."], ("[I think] so.", "")),
    "a bracket, a closer and JSON": (IN_JSON, ["[So]</think>", '{"a": 1}'], ("[So]", '{"a": 1}')),
    "a choice": (CHOSEN, ["y", "es\n"], ("", "yes\n")),
    "no choice": (CHOSEN, ["yes", ", I think"], ("yes, I think", "")),
    "a closer": (Expected(), ["I think.</th", "ink>\n\nFour."], ("I think.", "\n\nFour.")),
    "a closer of K3's answer": (
        Expected(),
        ["I think.<|close|>response<|sep|>Four."],
        ("I think.", "Four."),
    ),
    "a closer at the end": (Expected(), ["I think.</think>", "\n"], ("I think.</think>\n", "")),
    "what may be a closer": (Expected(), ["I think.</th"], ("I think.</th", "")),
    "no sign": (Expected(), ["It is ", "Oslo."], ("It is Oslo.", "")),
}


@pytest.mark.parametrize(("expected", "pieces", "expected_texts"), SIGNS.values(), ids=SIGNS)
def test_a_sign_says_that_the_field_holds_the_answer(
    expected: Expected, pieces: list[str], expected_texts: tuple[str, str]
) -> None:
    own = [Own("openai", {"reasoning": piece}) for piece in pieces]
    thoughts = [Thinking(piece, own=each) for piece, each in zip(pieces, own, strict=True)]
    out = [event for events in read(*thoughts, STOP, expected=expected) for event in events]
    texts = [
        "".join(event.text for event in out if type(event) is kind) for kind in (Thinking, Text)
    ]
    assert (*texts,) == expected_texts
    assert all(
        event.own and event.own.fields == {"reasoning": event.text}
        for event in out[:1]
        if isinstance(event, Thinking)
    )


def test_text_behind_a_closer_is_a_thought_if_an_answer_follows() -> None:
    details = [{"type": "summary"}]
    whole = _own("I think.</think> So", details=details)
    out = [
        event
        for events in read(whole, Text("Four."), STOP, expected=Expected())
        for event in events
    ]
    parts = [_own("I think."), _own("</think> So", details=details)]
    assert out == [*parts, Text("Four."), STOP]


def _own(text: str, **more: object) -> Thinking:
    return Thinking(text, own=Own("openai", {"reasoning": text, **more}))


def test_a_thought_of_blanks_goes_nowhere() -> None:
    blank = Thinking("\n\n")
    assert read(blank, Text("Hi"), blank, STOP, expected=Expected()) == [
        [],
        [Text("Hi")],
        [],
        [STOP],
        [],
    ]
    assert read(blank, A, STOP, expected=Expected())[:2] == [[], [Thinking("\n\n12 * 7 ")]]


def test_text_is_plain_as_soon_as_nothing_waits() -> None:
    stage = FieldAnswer(OFF, CLOSERS, Findings())
    assert stage.plain(Thinking) is None
    stage.feed(Text("84"))
    assert (stage.plain(Thinking), stage.plain(Text)) == (None, (Text, ""))
    stage.feed(A)
    assert (stage.plain(Thinking), stage.plain(Text)) == ((Thinking, ""), None)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("client", DIALECTS, ids=lambda dialect: dialect.wire.framing.content_type)
@pytest.mark.parametrize("thinking_off", [True, False])
def test_each_client_gets_an_answer(client: Dialect, form: Form, thinking_off: bool) -> None:
    """As SGLang 0.5.23 with deepseek-r1 sends it."""
    expected = Expected(no_thought_due=thinking_off, off=thinking_off)
    through = rewriter_of(settings.read(), client, form, expected=expected)
    head = frames.delta(role="assistant", content="", reasoning_content=None)
    texts = [frames.delta(reasoning_content=piece) for piece in ("12 times", " 7", " is 84.")]
    streamed = b"".join([head, *texts, *frames.END])
    body = frames.whole("", reasoning_content="12 times 7 is 84.")
    out = through.whole(streamed if form is Form.STREAM else body)
    reply = parse_reply(b"".join(out), form, client).choice(0)
    pieces = [(piece.kind, piece.text) for piece in reply.pieces if piece.text]
    assert "".join(text for _, text in pieces) == "12 times 7 is 84."
    assert {kind for kind, _ in pieces} == {"text" if thinking_off else "thinking"}
    assert bool(through.findings.hints) == thinking_off
    assert (NO_ANSWER in through.notes) != thinking_off


def test_a_thought_is_shown_as_the_answer_where_the_user_wants_it() -> None:
    limits = ThoughtLimits(shows=True)
    expected = Expected(thoughts=ExpectedThoughts(limits=limits))
    body = frames.whole("", reasoning_content="It is Oslo.")
    for client in (ANTHROPIC, OPENAI_CHAT):
        through = rewriter_of(settings.read(), client, Form.WHOLE, expected=expected)
        reply = parse_reply(b"".join(through.whole(body)), Form.WHOLE, client).choice(0)
        assert (reply.joined("thinking"), reply.joined("text")) == ("It is Oslo.", "It is Oslo.")
        assert NO_ANSWER not in through.notes


def test_a_call_behind_a_closer_in_the_field_is_read() -> None:
    """As mlx-lm sends Kimi-K2.6's."""
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    reading = expected_of({"tools": [{"type": "function", "function": {"name": "f"}}]})
    for client in (RESPONSES, OLLAMA):
        through = rewriter_of(settings.read(), client, Form.WHOLE, expected=reading)
        through.whole(frames.whole("", reasoning=f"I look.</think>{call}"))
        assert (through.summary.finish, through.summary.calls) == ("tool_calls", 1)
