"""A rewriter reports on its reply behind each of its calls: at a glance, in notes, in thoughts."""

from converter.core.model.events import Text, Thinking
from tests.support.frames import ROLE, stream, text, whole
from tests.support.frames_of import OPENAI, WHOLE, rewriter

_TEXTS = (Thinking, Text)


def test_times_are_those_of_the_chunks() -> None:
    through = rewriter(OPENAI)
    for at, piece in enumerate(["<think>", "a", "</think>", "b"], 1):
        through.feed(b"".join(text(piece)), float(at))
    through.abort("gone")
    summary = through.summary
    assert (summary.first_byte, summary.first_thought, summary.first_text) == (1.0, 2.0, 4.0)
    assert (summary.thinking_time, summary.end, summary.failure) == (1.0, 4.0, "gone")


def test_each_event_counts_once() -> None:
    through = rewriter(OPENAI)
    through.feed(b"".join(stream("<think>ab</think>cde")))
    through.ping()
    through.close()
    assert (through.summary.thinking, through.summary.text) == (2, 3)


def test_a_reply_that_breaks_off_behind_its_finish_counts_once() -> None:
    through = rewriter(OPENAI)
    through.feed(b"".join(stream("abc")))
    through.abort("gone")
    assert (through.summary.text, through.summary.finish, through.failure) == (3, "stop", "")


def test_a_whole_reply_tells_its_events_and_counts() -> None:
    through = rewriter(OPENAI, WHOLE)
    through.whole(whole("<think>a</think>b"), 2.0)
    assert [type(event) for event in through.events if isinstance(event, _TEXTS)] == [*_TEXTS]
    assert (through.summary.first_text, through.summary.text) == (2.0, 1)


def test_a_stream_that_is_all_there_tells_the_events_of_both_calls() -> None:
    """The beginning of a tag waits in the first, and is text in the second."""
    through, apart = rewriter(OPENAI), rewriter(OPENAI)
    body = b"".join([ROLE, *text("<think>a</think>b", "<thi")])
    through.whole(body, 2.0)
    apart.feed(body, 2.0)
    fed = apart.events
    apart.close()
    assert [event for event in fed if isinstance(event, _TEXTS)] == [Thinking("a"), Text("b")]
    assert [event for event in apart.events if isinstance(event, _TEXTS)] == [Text("<thi")]
    assert through.events == [*fed, *apart.events]
    assert (through.summary.first_text, through.summary.text) == (2.0, 5)
