"""Words around a call that was read from the text, as clients of all four dialects get them."""

import pytest

from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.dialects.words_apart import TextApart
from converter.core.model.events import Event, Text, Thinking, ToolCall
from laws.client_view import read_message
from laws.reply_parser import parse_reply
from laws.variants import Variant
from tests.support.frames import END, ROLE, delta, text
from tests.support.recordings_of import of_whole, recording

LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}
CALL = '<tool_call>{"name": "look", "arguments": {"at": "sky"}}</tool_call>'
READ = ToolCall(0, "a", "look", "{}", read_from="text (hermes)")
OWN = ToolCall(0, "a", "look", "{}")

REPLIES = {
    "a plan around a call": (f"# Plan\n\n{CALL}\n\n- first", ["# Plan", "- first"]),
    "words without a blank": (f"So.{CALL}Then.", ["So.", "Then."]),
    "a thought behind the call": (f"So.\n{CALL}\n<think>hm</think>Then.", ["So.", "Then."]),
    "two calls": (f"So.\n{CALL}\n{CALL}\nThen.", ["So.", "Then."]),
    "words between calls": (f"{CALL}\nSo.\n{CALL}\nThen.", ["So.", "Then."]),
    "words before it alone": (f"So.\n\n{CALL}\n", ["So."]),
    "words behind it alone": (f"{CALL}\n\nSo.", ["So."]),
    "no call": ("So.\n\nThen.", ["So.\n\nThen."]),
}


def _out(content: str, client: Dialect, form: Form, size: int) -> bytes:
    pieces = [content[offset : offset + size] for offset in range(0, len(content), size)]
    streamed = recording(b"".join([ROLE, *text(*pieces), *END]), tools=[LOOK])
    reply = of_whole(content, tools=[LOOK]) if form is Form.WHOLE else streamed
    rewriter = reply.rewriter(client, form)
    return b"".join([*rewriter.feed(reply.body), *rewriter.close()])


@pytest.mark.parametrize("size", [1, 7, 999])
@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("client", [OPENAI_CHAT, OLLAMA], ids=lambda it: it.name)
@pytest.mark.parametrize("kind", REPLIES)
def test_text_around_a_call_is_in_paragraphs_in_one_field(
    kind: str, client: Dialect, form: Form, size: int
) -> None:
    content, expected = REPLIES[kind]
    received = parse_reply(_out(content, client, form, size), form, client).choice()
    assert received.joined("text") == "\n\n".join(expected)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("client", [ANTHROPIC, RESPONSES], ids=lambda it: it.name)
@pytest.mark.parametrize("kind", REPLIES)
def test_where_text_comes_in_blocks_nothing_is_put_between(
    kind: str, client: Dialect, form: Form
) -> None:
    content, expected = REPLIES[kind]
    message = read_message(_out(content, client, form, 7), Variant(client, form))
    assert [block["text"] for block in message["content"] if block["type"] == "text"] == expected


def test_text_goes_on_behind_the_first_one() -> None:
    out = _out(f"So.\n{CALL}\nThen ends it all.", OPENAI_CHAT, Form.STREAM, 4)
    assert out.count(b"\\n\\n") == 1


@pytest.mark.parametrize(
    ("events", "last"),
    [
        ([Text("a"), READ, Text("b")], "\n\nb"),
        ([Text("a"), READ, Text(""), Text("b")], "\n\nb"),
        ([Text("a"), READ, Text("b"), Text("c")], "c"),
        ([Text("a"), READ, Thinking("t"), Text("b")], "\n\nb"),
        ([Text("a"), OWN, Text("b")], "b"),
        ([Text(" \n"), READ, Text("b")], "b"),
        ([Text("a", choice=1), READ, Text("b")], "b"),
        ([Text("a"), READ, Text("no", refusal=True)], "no"),
    ],
)
def test_which_text_begins_a_paragraph(events: list[Event], last: str) -> None:
    apart = TextApart()
    events_out = [apart.feed(event) for event in events][-1]
    assert isinstance(events_out, Text)
    assert events_out.text == last


def test_it_waits_for_text_and_reads_that_which_was_written_by_itself() -> None:
    apart = TextApart()
    apart.record_unparsed_text(Thinking, "t")
    apart.feed(READ)
    assert not apart.separates_next_text
    apart.record_unparsed_text(Text, "a")
    apart.feed(READ)
    assert apart.separates_next_text
    assert apart.feed(Text("b")) == Text("\n\nb")
    assert not apart.separates_next_text


def test_a_servers_own_frames_stay_as_they_came() -> None:
    call = {"index": 0, "id": "a", "type": "function"}
    call |= {"function": {"name": "look", "arguments": "{}"}}
    body = b"".join([ROLE, *text("So."), delta(tool_calls=[call]), *text("Then."), *END])
    rewriter = recording(body, tools=[LOOK]).rewriter(OPENAI_CHAT, Form.STREAM)
    out = b"".join([*rewriter.feed(body), *rewriter.close()])
    assert parse_reply(out, Form.STREAM, OPENAI_CHAT).choice().joined("text") == "So.Then."
