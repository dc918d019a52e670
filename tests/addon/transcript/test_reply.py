"""Replies of both dialects as a person reads them: real servers' quirks, recordings, drawn ones,
garbage.
"""

import json
import re
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.addon.transcript import reply, terminal, text
from converter.addon.transcript.reply import ReplyReader
from converter.addon.transcript.turns import FailurePart, Part, ShownTurn, Transcript
from converter.core.dialects.table import ANTHROPIC, Form
from converter.core.model.conversation import TextBlock, ThinkingBlock
from converter.core.reading.families import FAMILIES
from converter.core.reading.mark_search import pattern_of
from converter.core.reading.turn_end import TOKENS
from tests.support import recorded
from tests.support.frames import DONE, HEAD, data, delta, stream
from tests.support.frames_of import OPENAI, STREAM, WHOLE, passed, rewriter
from tests.support.native_streams import STREAMS
from tests.support.quirk_streams import QUIRKS, Quirk
from tests.support.rows import rows_of
from tests.support.strategies import Choice, Reply, cut, law, replies
from tests.support.transcript_samples import calls, parts, text_of, thought_and_answer

ROWS = rows_of(__file__)


def fed(pieces: list[bytes], *, complete: bool = False) -> ReplyReader:
    reader = ReplyReader(complete=complete)
    for piece in pieces:
        reader.feed(piece)
    reader.close()
    return reader


def expected_of(blocks: list[tuple[str, object]]) -> tuple[str, str, list[object]]:
    texts = {
        kind: "".join(str(value) for name, value in blocks if name == kind)
        for kind in ("thinking", "text")
    }
    return (
        texts["thinking"],
        texts["text"].strip(),
        [value for name, value in blocks if name == "tool_use"],
    )


def content_of(transcript: Transcript) -> tuple[str, str, list[object]]:
    thought, texts = thought_and_answer(transcript)
    return (
        thought.strip("\n"),
        texts.strip(),
        [json.loads(arguments or "{}") for _, arguments in calls(transcript)],
    )


@pytest.mark.parametrize("name", QUIRKS)
def test_quirks_of_chat_completions(name: str) -> None:
    quirk: Quirk = QUIRKS[name]
    assert content_of(fed(quirk.steps).transcript()) == expected_of(quirk.blocks)


@pytest.mark.parametrize("name", STREAMS)
def test_quirks_of_messages_servers(name: str) -> None:
    events, blocks = STREAMS[name]
    reader = fed([data(event) for event in events])
    texts = [(block["type"], block.get(block["type"], block.get("input"))) for block in blocks]
    assert content_of(reader.transcript()) == expected_of(texts)
    assert (reader.recogniser.dialect, reader.recogniser.form) == (ANTHROPIC, Form.STREAM)
    assert reader.transcript().facts["model"] == "small"
    assert reader.transcript().rest == ()


CLOSER_IN_TEXT = "llama-closer-first-thinking-off-whole"
"""With thinking off its closer is words; who reads the reply alone does not know that."""


@pytest.mark.parametrize("name", sorted(set(recorded.names()) - {CLOSER_IN_TEXT}))
def test_recordings_read_the_same_before_and_after_the_rewriter(name: str) -> None:
    recording = recorded.load(name)
    form = STREAM if recording.streamed else WHOLE
    seen = reply.read(recording.body)
    assert seen.rest == ()
    assert not recording.streamed or "tiny-think" in str(seen.facts["model"])
    for client in (OPENAI, ANTHROPIC):
        through = rewriter(client, form)
        got = reply.read(b"".join(passed(through, [recording.body])))
        if through.failure and form is WHOLE:  # in place of the words the client gets an error
            (failed,) = got.turns[0].parts
            assert isinstance(failed, FailurePart)
            assert failed.message == through.failure
        elif recording.status == 200:
            assert content_of(got)[1:] == content_of(seen)[1:]
            assert content_of(got)[0].replace("\n", "") == content_of(seen)[0].replace("\n", "")


def test_the_end_of_a_reply_is_shown() -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    body = b"".join(
        [
            *stream("<think>deep</think>", "Hi")[:-2],
            data({**HEAD, "choices": [], "usage": usage}),
            DONE,
        ]
    )
    assert reply.read(body).facts == {
        "model": "small",
        "finish": "stop",
        "thoughts": 1,
        "thinking": 4,
        "text": 2,
        "calls": 0,
        "input_tokens": 7,
        "output_tokens": 5,
        "thinking_tokens": 3,
        "cached_tokens": 4,
    }


def test_each_choice_is_a_turn() -> None:
    body = b"".join(
        [delta(0, content="<think>a</think>b"), delta(1, content="c"), delta(0, content="d")]
    )
    assert reply.read(body).turns == (
        ShownTurn("assistant", (ThinkingBlock("a"), TextBlock("bd"))),
        ShownTurn("assistant", (TextBlock("c"),), 1),
    )


def test_what_has_come_can_be_seen_while_more_comes() -> None:
    reader = ReplyReader()
    seen = []
    for piece in stream("<think>", "de", "ep", "</think>", "Hi")[:-3]:
        reader.feed(piece)
        seen.append(thought_and_answer(reader.transcript()))
    assert seen == [("", ""), ("", ""), ("de", ""), ("deep", ""), ("deep", ""), ("deep", "Hi")]


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ({"error": {"message": "too long", "type": "invalid"}}, FailurePart("too long", "invalid")),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            FailurePart("busy", "overloaded_error"),
        ),
        ({"error": "words"}, FailurePart("words", "api_error")),
    ],
)
def test_errors_are_shown(body: dict[str, Any], failure: FailurePart) -> None:
    for raw in (json.dumps(body).encode(), data(body)):
        assert parts(reply.read(raw)) == [failure]


def test_an_error_within_a_stream_comes_behind_the_text_so_far() -> None:
    body = b"".join([*stream("<think>deep")[:2], data({"error": {"message": "gone"}})])
    assert parts(reply.read(body)) == [ThinkingBlock("deep"), FailurePart("gone", "api_error")]


def test_odd_frames_stand_whole_in_the_rest() -> None:
    odd = data({"choice": "none"}).decode()
    seen = reply.read(b"".join([delta(content="Hi"), odd.encode(), b"data: \xff\n\n", DONE]))
    assert parts(seen) == [TextBlock("Hi")]
    assert seen.rest == (odd, "data: \\xff\n\n")


@pytest.mark.parametrize(
    "content",
    [
        "words",
        {"text": "words"},
        [{"type": "text", "text": ["words"]}],
        ["words"],
        [{"type": "new", "a": "words"}],
    ],
)
def test_a_message_of_odd_content_loses_nothing(content: object) -> None:
    body = {"type": "message", "model": "m", "content": content, "usage": {}}
    assert "words" in text_of(reply.read(json.dumps(body).encode()))


@law(200)
@given(replies(late=True), st.data())
def test_cut_anywhere_it_reads_the_same(drawn: Reply, draw: st.DataObject) -> None:
    body = drawn.stream()
    assert fed(draw.draw(cut(body))).transcript() == fed([body]).transcript()


@law(200)
@given(replies(late=True))
def test_live_news_add_up_to_the_final_transcript(drawn: Reply) -> None:
    reader = ReplyReader()
    texts = [
        new for frame in drawn.stream().split(b"\n\n") for new in reader.feed(frame + b"\n\n")
    ] + reader.close()
    grown: dict[int, list[Part]] = defaultdict(list)
    for new in texts:
        before = grown[new.choice]
        if new.fresh:
            before.append(new.part)
        else:
            assert isinstance(new.part, TextBlock | ThinkingBlock)
            before[-1] = type(new.part)(text_of(_turn(before[-1:])) + new.part.text)
    grown_texts = [str(part) for kept in grown.values() for part in kept]
    assert sorted(grown_texts) == sorted(
        str(_without_note(part)) for part in parts(reader.transcript())
    )


def _turn(kept: list[Part]) -> Transcript:
    return Transcript((ShownTurn("", tuple(kept)),))


def _without_note(part: Part) -> Part:
    """A thought's kind may come with its end, when its text has been emitted."""
    return ThinkingBlock(part.text) if isinstance(part, ThinkingBlock) else part


_CLOSER = re.compile("|".join(pattern_of(each) for family in FAMILIES for each in family.closes))
_HEAD = re.compile(rf"(?:\s|{_CLOSER.pattern})*")
"""An answer's head. Closers alone go from it, because the thought, in its own field, has ended."""


def _is_thought(choice: Choice) -> bool:
    """Return True if the field of the thought holds a thought alone: not only blanks, and no closer
    in place of an answer.
    """
    native = "".join(choice.native)
    return bool(native.strip()) and bool(choice.text.strip() or not _CLOSER.search(native))


_TURN_ENDS = re.compile(rf"(?:(?:{'|'.join(map(re.escape, TOKENS))})\s*)+\Z")


@law(200)
@given(replies())
def test_nothing_of_a_reply_is_lost(drawn: Reply) -> None:
    for body in (drawn.stream(), drawn.whole()):
        seen = reply.read(body)
        shown = text_of(seen)
        assert seen.rest == ()
        for choice in drawn.choices:
            assert all("".join(call.arguments).strip() in shown for call in choice.calls)
        if all(map(_is_thought, drawn.choices)):
            for index, choice in enumerate(drawn.choices):
                thought, texts = thought_and_answer(seen, index)
                assert thought == "".join(choice.native)
                text = _HEAD.sub(lambda head: _CLOSER.sub("", head[0]), choice.text, 1)
                assert texts == _TURN_ENDS.sub("", text)
        for number in drawn.extras if body == drawn.stream() else []:
            assert f"x_{number}" in shown or number >= len(drawn.frames())


_OF_BOTH = ROWS["of both"]
_OF_ONE = ["tool_calls", "function", "id", "input", "content_block", "stop_reason"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*_OF_BOTH, *_OF_ONE]), inner, max_size=4)
    ),
    max_leaves=12,
)
_TYPES = st.sampled_from(
    [
        "message",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "ping",
        "error",
    ]
)
_EVENTS = (
    st.builds(
        lambda kind, fields: {**(fields if isinstance(fields, dict) else {}), "type": kind},
        _TYPES,
        _JSON,
    )
    | _JSON
)


@law(400)
@given(st.lists(_EVENTS | st.binary(max_size=8), max_size=6), st.booleans())
def test_nothing_raises(texts: list[object], streamed: bool) -> None:
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in texts]
    body = b"".join(b"data: " + line + b"\n\n" for line in lines) if streamed else b"".join(lines)
    seen = reply.read(body)
    for render in (text.write, terminal.write):
        assert isinstance(render(seen), str)


@law(200)
@given(st.binary(max_size=60))
def test_garbage_is_kept_whole(body: bytes) -> None:
    assume(body.strip() != b"[DONE]" and not body.lstrip().startswith(b":"))
    seen = reply.read(body)
    kept = "".join(seen.rest).encode()
    assert (
        seen.turns
        or kept.strip() == body.decode(errors="backslashreplace").encode().strip()
        or not body.strip()
    )
