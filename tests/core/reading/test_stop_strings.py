"""Stop strings cut the answer, and nothing else."""

from collections.abc import Sequence

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import Event, Finish, Text, Thinking, ToolCall
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected
from converter.core.reading.stop_strings import StopStrings
from laws.reply_parser import parse_reply
from tests.support.frames import DONE, ROLE, USAGE, chat_whole, delta, finish

STRINGS = ("Q:", "\n\n")
CALL = ToolCall(0, "a", "f", '{"a": "Q:"}')
STOP = Finish("stop")


def read(*events: Event, included: bool = False) -> list[Event]:
    stage = StopStrings(STRINGS, included, Findings())
    return [out for event in events for out in stage.feed(event)] + [*stage.close()]


def answer_of(events: Sequence[Event]) -> tuple[str, str | None]:
    """The answer, and the string that ended it."""
    text = "".join(event.text for event in events if isinstance(event, Text))
    ends = [event.stop_sequence for event in events if isinstance(event, Finish)]
    return text, ends[0] if ends else None


ANSWERS = {
    "one frame": (["Four. Q: next"], ("Four. ", "Q:")),
    "over two": (["Four. Q", ": next"], ("Four. ", "Q:")),
    "none": (["Four. Q", "E", "D"], ("Four. QED", None)),
    "one that may begin": (["Four. Q"], ("Four. Q", None)),
    "blanks at the head": (["\n\n", "Four.\n", "\nSo"], ("\n\nFour.", "\n\n")),
    "behind blanks": (["\n\nQ: next"], ("\n\n", "Q:")),
}


@pytest.mark.parametrize(("pieces", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_the_answer_ends_at_the_first_string(
    pieces: list[str], expected: tuple[str, str | None]
) -> None:
    texts = [Text(piece) for piece in pieces]
    behind: list[Event] = [STOP] if expected[1] is None else [Text("more"), CALL, STOP]
    assert answer_of(read(*texts, *behind)) == expected
    letters = [Text(letter) for letter in "".join(pieces)]
    assert answer_of(read(*letters, *behind)) == expected


def test_the_string_is_sent_where_the_request_wants_it() -> None:
    assert answer_of(read(Text("Four. Q: next"), included=True)) == ("Four. Q:", "Q:")


def test_thoughts_and_calls_are_not_looked_at() -> None:
    events: list[Event] = [Thinking("I restate Q: two?"), CALL, Text("Q"), Thinking(": so"), STOP]
    assert read(*events) == events


@pytest.mark.parametrize("client", [OPENAI_CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize("form", Form)
def test_a_reply_ends_there_and_its_server_is_left(client: Dialect, form: Form) -> None:
    expected = Expected(cuts=("Q:",))
    context = ReplyContext(prompt_tokens=lambda: 11)
    through = rewriter_of(settings.read(), client, form, expected=expected, context=context)
    stream = [
        ROLE,
        delta(reasoning_content="Q: two?"),
        delta(content="Four. Q: n"),
        delta(content="o"),
    ]
    more = [finish("length"), USAGE, DONE]
    whole = chat_whole({"content": "Four. Q: no", "reasoning_content": "Q: two?"}, "length")
    out = b"".join(through.whole(b"".join([*stream, *more]) if form is Form.STREAM else whole))
    received = parse_reply(out, form, client).choice(0)
    assert (received.joined("thinking"), received.joined("text")) == ("Q: two?", "Four. ")
    assert (through.summary.finish, through.failure) == ("stop", "")
    assert through.continuation.stopped == (form is Form.STREAM)
    assert through.summary.usage
    assert (b'"Q:"' in out) == (client is not RESPONSES)


def test_a_call_before_the_string_is_run() -> None:
    tools = {"f": {"type": "object", "properties": {"a": {"type": "string"}}}}
    assert tools
    through = rewriter_of(
        settings.read(), OPENAI_CHAT, Form.STREAM, expected=Expected(cuts=("Q:",))
    )
    call = delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])
    through.whole(b"".join([ROLE, call, delta(content="Q: x"), finish("stop"), DONE]))
    assert through.summary.finish == "tool_calls"
