"""An answer that comes as thinking, where the request turns thinking off, is an answer."""

from collections.abc import Sequence

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import DIALECTS, Dialect, Form
from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall, Usage
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected
from converter.core.reading.unasked_thought import LONGEST, UnaskedThought
from converter.core.reply.reply_notes import NO_ANSWER
from laws.server_words import listen
from tests.support import frames

STOP, CUT, CALL = Finish("stop"), Finish("length"), ToolCall(0, "1", "f", "{}")
A, B = Thinking("12 * 7 "), Thinking("is 84.")


def read(*said: Event) -> list[list[Event]]:
    """What comes out of the stage for each event, and at its end."""
    stage = UnaskedThought(Findings())
    return [[*stage.feed(event)] for event in said] + [[*stage.close()]]


@pytest.mark.parametrize(
    ("said", "out"),
    [
        ([A, B, STOP], [[], [], [Text("12 * 7 "), Text("is 84."), STOP], []]),
        ([A, Text("\n"), STOP], [[], [], [Text("12 * 7 "), Text("\n"), STOP], []]),
        ([A, ThinkingEnd(), STOP], [[], [], [Text("12 * 7 "), STOP], []]),
        ([A, Text("84"), B, STOP], [[], [A, Text("84")], [B], [STOP], []]),
        ([A, CALL, STOP], [[], [A, CALL], [STOP], []]),
        ([A, CUT], [[], [A, CUT], []]),
        ([A, B], [[], [], [A, B]]),
        ([Text("84"), A, STOP], [[Text("84")], [A], [STOP], []]),
        ([Text(""), STOP], [[Text("")], [STOP], []]),
        ([A, Usage(1, 1), STOP], [[], [A, Usage(1, 1)], [STOP], []]),
        ([A, Text("No.", refusal=True)], [[], [A, Text("No.", refusal=True)], []]),
    ],
)
def test_only_a_stop_without_another_word_tells_an_answer(
    said: Sequence[Event], out: list[list[Event]]
) -> None:
    assert read(*said) == out


def test_what_waits_is_bounded() -> None:
    long = Thinking("x" * LONGEST)
    assert read(long, A, B, STOP) == [[], [], [long, A, B], [STOP], []]


def test_words_are_plain_as_soon_as_nothing_waits() -> None:
    stage = UnaskedThought(Findings())
    assert stage.plain(Thinking) is None
    stage.feed(Text("84"))
    assert (stage.plain(Thinking), stage.plain(Text)) == ((Thinking, ""), (Text, ""))


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("client", DIALECTS, ids=lambda dialect: dialect.wire.framing.content_type)
@pytest.mark.parametrize("told_off", [True, False])
def test_each_client_gets_an_answer(client: Dialect, form: Form, told_off: bool) -> None:
    """As SGLang 0.5.23 with deepseek-r1 sends it."""
    expected = Expected(told_off=told_off, off=told_off)
    through = rewriter_of(settings.read(), client, form, expected=expected)
    head = frames.delta(role="assistant", content="", reasoning_content=None)
    words = [frames.delta(reasoning_content=piece) for piece in ("12 times", " 7", " is 84.")]
    streamed = b"".join([head, *words, *frames.END])
    body = frames.whole("", reasoning_content="12 times 7 is 84.")
    out = through.whole(streamed if form is Form.STREAM else body)
    said = listen(b"".join(out), form, client).choice(0)
    pieces = [(piece.kind, piece.text) for piece in said.pieces if piece.text]
    assert "".join(text for _, text in pieces) == "12 times 7 is 84."
    assert {kind for kind, _ in pieces} == {"text" if told_off else "thinking"}
    assert bool(through.findings.hints) == told_off
    assert (NO_ANSWER in through.notes) != told_off
