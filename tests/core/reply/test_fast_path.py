"""Frames that are not parsed: the client gets the very bytes that the full way writes."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.exchange.settings import Settings
from converter.core.dialects.anthropic import threads
from converter.core.dialects.dialect import RequestContext
from converter.core.dialects.table import (
    ANTHROPIC,
    DIALECTS,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
    ReplyContext,
)
from converter.core.model.events import Text, Thinking, ToolCall
from converter.core.model.memory import Memory
from converter.core.reading.reading import Expected, ExpectedCalls, ExpectedThoughts, ThoughtLimits
from converter.core.reading.tool_calls.calls_read import Tools
from converter.core.reply.fast_path import template_of
from converter.core.reply.rewriter import Rewriter
from converter.core.wire.bounds import HELD_LIMIT, Bound
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import Recording
from tests.support.frames import data
from tests.support.recorded import FOLDER
from tests.support.strategies import law
from tests.support.tool_call_texts import TOOLS, WRITTEN, Written

LIBRARY = Library(FOLDER)
STREAMS = [
    recording
    for name in LIBRARY.names()
    if (recording := LIBRARY.load(name)).server_form is Form.STREAM
    and recording.server_dialect is OPENAI_CHAT
]
NO_CALLS = ExpectedCalls()
CLIENTS = pytest.mark.parametrize("client", DIALECTS, ids=repr)


def _rewriter(
    chosen: Settings,
    client: Dialect,
    fast: bool,
    calls: ExpectedCalls = NO_CALLS,
    budget: int | None = None,
) -> Rewriter:
    limits = ThoughtLimits(budget)
    expected = Expected(
        thoughts=ExpectedThoughts(limits, task="task", context="context"), calls=calls
    )
    return rewriter_of(
        replace(chosen, fast=fast), client, Form.STREAM, Form.STREAM, expected=expected
    )


def _both(
    chunks: Sequence[bytes],
    chosen: Settings,
    client: Dialect,
    calls: ExpectedCalls = NO_CALLS,
    budget: int | None = None,
) -> tuple[Rewriter, Rewriter]:
    """Rewrite the chunks both ways; what comes of each chunk must be the same bytes."""
    fast, slow = (_rewriter(chosen, client, is_fast, calls, budget) for is_fast in (True, False))
    for chunk in chunks:
        assert b"".join(fast.feed(chunk)) == b"".join(slow.feed(chunk))
        assert _texts(fast.events) == _texts(slow.events)
        assert fast.thoughts == slow.thoughts
    assert b"".join(fast.close()) == b"".join(slow.close())
    assert (fast.notes, fast.changed, fast.failure) == (slow.notes, slow.changed, slow.failure)
    assert fast.summary.values() == slow.summary.values()
    assert fast.findings == slow.findings
    return fast, slow


def _texts(events: Iterable[object]) -> list[tuple[str, str]]:
    """Return the texts of the events; texts of one kind, or of one call, in one piece."""
    texts: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, Text | Thinking):
            kind, text = type(event).__name__, event.text
        elif isinstance(event, ToolCall):
            named = texts and texts[-1][0].startswith(f"call {event.index}") and not event.name
            kind = texts[-1][0] if named else f"call {event.index} {event.id} {event.name}".strip()
            text = event.arguments
        else:
            continue
        if texts and texts[-1][0] == kind:
            texts[-1] = (kind, texts[-1][1] + text)
        else:
            texts.append((kind, text))
    return texts


@CLIENTS
@pytest.mark.parametrize("recording", STREAMS, ids=lambda recording: recording.name)
def test_every_recording_comes_out_alike(recording: Recording, client: Dialect) -> None:
    chunks = [chunk.data for chunk in recording.chunks]
    _both(chunks, recording.settings, client)
    _both([b"".join(chunks)], recording.settings, client)


@CLIENTS
@pytest.mark.parametrize("recording", STREAMS[::6], ids=lambda recording: recording.name)
def test_a_recording_may_be_cut_anywhere(recording: Recording, client: Dialect) -> None:
    seeded, body = random.Random(recording.name), recording.body
    for pieces in (2, 5, 40):
        cuts = sorted(seeded.randrange(len(body)) for _ in range(pieces))
        places = zip([0, *cuts], [*cuts, len(body)], strict=True)
        _both([body[begin:end] for begin, end in places], recording.settings, client)


HEAD = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _frame(fields: dict[str, object], **more: object) -> bytes:
    choice = {"index": 0, "delta": fields, "finish_reason": None}
    return data({**HEAD, **more, "choices": [choice]})


TEXTS = st.one_of(
    st.sampled_from(
        [" the", "a", "Ü", "◁", "<", "think>", "</think>", "<think>", "\n", '"', "`", ""]
    ),
    st.text(max_size=6),
)
FIELDS = st.sampled_from(["content", "content", "content", "reasoning", "reasoning_content"])
FRAMES = st.lists(st.tuples(FIELDS, TEXTS, st.booleans()), max_size=40)


@law(300)
@given(FRAMES, st.data())
def test_drawn_streams_come_out_alike(
    drawn: list[tuple[str, str, bool]], draw: st.DataObject
) -> None:
    frames = [_frame({name: text}, **({"created": 2} if odd else {})) for name, text, odd in drawn]
    body = b"".join([*frames, b"data: [DONE]\n\n"])
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    places = list(zip([0, *cuts], [*cuts, len(body)], strict=True))
    for client in DIALECTS:
        _both([body[begin:end] for begin, end in places], settings.read(), client)


LONG = [" word", " more"] * 200


def _stream(name: str, pieces: Sequence[str]) -> list[bytes]:
    frames = [_frame({name: piece}) for piece in pieces]
    finish = data({**HEAD, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return [*frames, finish, b"data: [DONE]\n\n"]


@CLIENTS
@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("content", LONG),
        ("content", ["<think>", "so", *LONG, "</think>", "then", *LONG]),
        ("reasoning", LONG),
        ("reasoning_content", LONG),
    ],
    ids=["text", "tags", "vLLM", "SGLang"],
)
def test_most_frames_of_an_ordinary_stream_are_not_parsed(
    name: str, pieces: list[str], client: Dialect
) -> None:
    fast, slow = _both([b"".join(_stream(name, pieces))], settings.read(), client)
    assert fast.hurried > 0.95 * len(pieces)
    assert slow.hurried == 0


OFFERED = ExpectedCalls(offered=True, schemas=TOOLS, read=Tools(TOOLS))
NASTY = st.lists(
    st.sampled_from([*" ab<>/{}[]\"'\\`\n\t|:=,é語🙂", "</", "tool_call", " word", "so "]),
    max_size=30,
).map("".join)
CALLS = st.lists(
    st.fixed_dictionaries({"path": st.just("/tmp/a"), "content": NASTY, "meta": st.just({"a": 1})}),
    min_size=1,
    max_size=2,
)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@law(300)
@given(st.sampled_from([*WRITTEN.values()]), CALLS, st.integers(1, 9), st.sampled_from(DIALECTS))
def test_calls_in_the_text_come_out_alike(
    written: Written, arguments: list[dict[str, object]], size: int, client: Dialect
) -> None:
    text = written.write([("write_file", each) for each in arguments])
    before = [] if written.whole else ["<think>", "so", "</think>", " Look", ".\n"]
    frames = _stream("content", [*before, *_pieces(text, size), "\nDone"])
    _both(frames, settings.read(), client, OFFERED)


@CLIENTS
@pytest.mark.parametrize("form", ["hermes", "qwen3-coder", "glm", "gemma", "lfm2"])
def test_most_frames_of_a_call_that_is_held_are_not_parsed(form: str, client: Dialect) -> None:
    text = WRITTEN[form].write([("write_file", {"path": "a", "content": "".join(LONG)})])
    pieces = _pieces(text, 5)
    fast, _ = _both(_stream("content", pieces), settings.read(), client, OFFERED)
    assert fast.hurried > 0.9 * len(pieces)


@pytest.mark.parametrize(("size", "together"), [(100, 56), (60_000, 1)])
def test_a_held_call_beyond_its_bound_is_text_whole(size: int, together: int) -> None:
    head = 'I would write <tool_call>{"name": "write_file", "arguments": {"path": "'
    pieces = [*_pieces(head, 9), *["x" * size] * (HELD_LIMIT // size + 2), '"}}</tool_call>']
    frames = _stream("content", pieces)
    reads = [b"".join(frames[at : at + together]) for at in range(0, len(frames), together)]
    _both(reads, settings.read(), OPENAI_CHAT, OFFERED)


def _calls(pieces: Sequence[tuple[int, str, str]]) -> list[bytes]:
    """Frames of a server's own calls: index, name, piece of the arguments."""
    entries = [
        {"index": index, "function": {"arguments": arguments}}
        | ({"id": f"call_{index}", "type": "function"} if name else {})
        | ({"function": {"name": name, "arguments": arguments}} if name else {})
        for index, name, arguments in pieces
    ]
    return [*(_frame({"tool_calls": [entry]}) for entry in entries), *_stream("content", ())]


@law(300)
@given(CALLS, st.integers(1, 9), st.booleans(), st.booleans(), st.sampled_from(DIALECTS))
def test_a_servers_own_calls_come_out_alike(
    arguments: list[dict[str, object]], size: int, mixed: bool, typed: bool, client: Dialect
) -> None:
    written = [_pieces(json.dumps(each, ensure_ascii=False), size) for each in arguments]
    heads = [[(at, "write_file", "")] for at in range(len(written))]
    rests = [[(at, "", piece) for piece in pieces] for at, pieces in enumerate(written)]
    by_call = [[*head, *rest] for head, rest in zip(heads, rests, strict=True)]
    if mixed:
        by_call = [[*each] for each in zip(*by_call, strict=False)]
    frames = _calls([piece for each in by_call for piece in each])
    _both(frames, settings.read(), client, ExpectedCalls(schemas=TOOLS) if typed else NO_CALLS)


@pytest.mark.parametrize("client", [OPENAI_CHAT, ANTHROPIC, RESPONSES], ids=repr)
def test_most_frames_of_a_servers_own_call_are_not_parsed(client: Dialect) -> None:
    values = [*LONG[:-2], "\\\\ and", '\\" so\\n']
    texts = ['{"path": ', '"a", "content": "', *values, '", "meta": {"a": "', *values, '"}}']
    frames = _calls([(0, "write_file", ""), *((0, "", piece) for piece in texts)])
    fast, _ = _both([b"".join(frames)], settings.read(), client, ExpectedCalls(schemas=TOOLS))
    assert fast.hurried > 0.95 * 2 * len(LONG)


@CLIENTS
@pytest.mark.parametrize("name", ["content", "reasoning"])
def test_text_that_waits_does_not_make_the_next_unknown(client: Dialect, name: str) -> None:
    waiting = [" a", " <", " b", "", ".\n", "c", " d"] * 50
    texts = ["<think>so", *waiting, "</think>", "then", *waiting] if name == "content" else waiting
    fast, _ = _both(_stream(name, texts), settings.read(), client)
    # in a thought of the server's own two frames wait for a closer, once in seven
    assert fast.hurried > (0.35 if name == "content" else 0.12) * len(texts)


@CLIENTS
def test_frames_that_come_one_by_one_are_not_parsed_either(client: Dialect) -> None:
    fast, _ = _both(_stream("content", LONG), settings.read(), client)
    assert fast.hurried > 0.95 * len(LONG)


@CLIENTS
def test_text_that_begins_a_block_teaches_how_the_next_is_written(client: Dialect) -> None:
    texts = ["<think>", "well", " so", "</think>", "then", " it"]
    fast, _ = _both(_stream("content", texts), settings.read(), client)
    assert fast.hurried == 2


@CLIENTS
@pytest.mark.parametrize("held", ["\n\n", " "])
@pytest.mark.parametrize("name", ["text", "delta", "index", "text_delta", "item_id"])
def test_text_behind_held_blanks_is_not_taken_for_a_name_in_the_frame(
    client: Dialect, held: str, name: str
) -> None:
    for pieces in ([held, name, " is", " it"], ["<think>", held, name, " is", " it"]):
        _both(_stream("content", pieces), settings.read(), client)


@pytest.mark.parametrize("name", ["content_block", "content_block_start", "thinking"])
def test_text_that_is_omitted_is_not_taken_for_a_name_in_the_frame(name: str) -> None:
    written = []
    for fast in (True, False):
        rewriter = rewriter_of(
            replace(settings.read(), fast=fast),
            ANTHROPIC,
            Form.STREAM,
            context=ReplyContext("model", shown=False),
        )
        frames = _stream("content", ["<think>", name, " is", " it"])
        written.append([*map(rewriter.feed, frames), rewriter.close()])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "broken",
    [b'data: {"a":1}\n\n', b": ping\n\n", b"data: nonsense\n\n", data({**HEAD, "choices": []})],
)
@CLIENTS
def test_odd_frames_in_between_change_nothing(broken: bytes, client: Dialect) -> None:
    frames = _stream("content", LONG[:20])
    for offset in range(0, len(frames), 3):
        _both([*frames[:offset], broken, *frames[offset:]], settings.read(), client)


@CLIENTS
@pytest.mark.parametrize("name", ["content", "reasoning"])
def test_text_that_waits_in_a_mended_frame_is_not_overtaken(client: Dialect, name: str) -> None:
    frames = _stream(name, LONG[:9])
    for waiting in ("\n", "<thi"):
        choice = {"index": "0", "delta": {name: waiting}, "finish_reason": None}
        mended = data({**HEAD, "choices": [None, choice]})
        _both([*frames[:5], mended, *frames[5:]], settings.read(), client)


@CLIENTS
def test_bytes_that_are_no_characters_are_mended_as_ever(client: Dialect) -> None:
    frames = _stream("content", ["word", " word", " x", " word"])
    frames[2] = frames[2].replace(b" x", b"\xc3")
    frames[3] = frames[3].replace(b" word", b"\xa9 word")
    _both([b"".join(frames)], settings.read(), client)


@CLIENTS
@pytest.mark.parametrize("budget", [0, 1, 50])
def test_a_budget_of_thinking_is_kept_to_the_character(client: Dialect, budget: int) -> None:
    texts = ["<think>", "so", *LONG[:60], "</think>", "then", *LONG[:60]]
    _both([b"".join(_stream("content", texts))], settings.read(), client, budget=budget)


@CLIENTS
def test_phrases_are_matched_as_ever(client: Dialect) -> None:
    texts = ["Let", " me", " think", ".", *LONG[:20], " Now", " I'll", " say", *LONG[:20]]
    _both([b"".join(_stream("content", texts))], settings.read({"markers": True}), client)


@CLIENTS
def test_a_second_name_for_the_same_thought_is_emitted_once(client: Dialect) -> None:
    frames = [_frame({"reasoning": word}) for word in LONG[:9]]
    frames += [_frame({"reasoning_content": word}) for word in LONG[:9]]
    frames += [_frame({"reasoning": word}) for word in LONG[:9]]
    _both([b"".join(frames)], settings.read(), client)


def test_frames_of_many_choices_are_read_in_full() -> None:
    frames = [
        data({**HEAD, "choices": [{"index": at % 2, "delta": {"content": f" w{at}"}}]})
        for at in range(40)
    ]
    _both([b"".join(frames)], settings.read(), OPENAI_CHAT)


def test_text_beyond_ascii_is_plain() -> None:
    texts = ["é", "語", "\u2028", "\x7f", "/", "a b"]
    frames = [frame for word in ["x", "y", *texts] for frame in _stream("content", [word])[:1]]
    fast, _ = _both([b"".join(frames)], settings.read(), ANTHROPIC)
    assert fast.hurried == len(texts)


FRAME_TEXTS = [":", ",", "text", "delta", "index", "type", "content", "content_block_delta", "{}"]
"""Words that the frames hold as names, values and marks of their own."""


@CLIENTS
@pytest.mark.parametrize("name", ["content", "reasoning", "reasoning_content"])
@pytest.mark.parametrize("first", FRAME_TEXTS)
def test_text_that_frames_have_of_their_own_teaches_nothing_wrong(
    first: str, name: str, client: Dialect
) -> None:
    both = settings.read({"fields": ["reasoning_content", "reasoning"]})
    for pieces in ([first, " a", " b", first, " c"], [first, first, first, " a"]):
        for chosen in (settings.read(), both):
            _both(_stream(name, pieces), chosen, client)


def test_text_that_a_frame_has_of_its_own_is_distinguished_by_the_next() -> None:
    texts = [":", " a", " b", *LONG]
    fast, _ = _both(_stream("content", texts), settings.read(), ANTHROPIC)
    assert fast.hurried > 0.95 * len(texts)


THREAD = {
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
    "thread": {"type": "create"},
}
KEPT = [(ANTHROPIC, "thread msg_1", THREAD), (RESPONSES, "resp_1", {"input": "hi"})]


@pytest.mark.parametrize(("client", "key", "fields"), KEPT, ids=["a thread", "a response"])
def test_a_reply_is_kept_with_the_text_that_took_the_fast_path(
    client: Dialect, key: str, fields: dict[str, object]
) -> None:
    kept, hurried = list[bytes | None](), 0
    for fast in (True, False):
        memory = Memory(9, 1_000_000)
        own = client.requests.read({"model": "m", **fields}, RequestContext(memory=memory)).own
        chosen, context = settings.read({"fast": fast}), ReplyContext("m", "1", own=own)
        rewriter = rewriter_of(chosen, client, Form.STREAM, context=context)
        body = _stream("content", ["<think>", "so", *LONG, "</think>", "then", *LONG])
        rewriter.whole(b"".join(body).replace(b'"id":"a"', b'"id":"chatcmpl-1"'))
        kept.append(memory.get(key))
        hurried = max(hurried, rewriter.hurried)
    assert hurried > 0.95 * 2 * len(LONG)
    assert kept[0]
    assert kept[0] == kept[1]


def test_a_sign_of_life_in_between_has_its_own_number() -> None:
    fast, slow = (_rewriter(settings.read(), RESPONSES, is_fast) for is_fast in (True, False))
    for frame in _stream("content", LONG):
        assert fast.feed(frame) == slow.feed(frame)
        assert fast.ping() == slow.ping()
    assert fast.close() == slow.close()
    assert fast.hurried > 0.95 * len(LONG)


def test_text_of_the_fast_path_counts_for_the_longest_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = Bound(5_000, "characters", "output", "error")
    monkeypatch.setattr("converter.core.dialects.responses.response_events.OUTPUT_LIMIT", limit)
    for fast in (True, False):
        rewriter = _rewriter(settings.read(), RESPONSES, fast)
        rewriter.whole(b"".join(_stream("content", LONG)))
        assert "output" in rewriter.failure


def test_what_a_thread_remembers_is_all_that_was_sent() -> None:
    """Its encoder has to hear every word, so that no frame may be written without it."""
    memory = Memory(9, 1 << 20)
    body = {"model": "m", "max_tokens": 9, "messages": [], "thread": {"type": "create"}}
    conversation = ANTHROPIC.requests.read(
        {**body, "messages": [{"role": "user", "content": "hi"}]}, RequestContext(memory=memory)
    )
    context = ReplyContext("m", "one", own=conversation.own)
    through = rewriter_of(settings.read(), ANTHROPIC, Form.STREAM, context=context)
    for frame in _stream("content", LONG):
        through.feed(frame)
    through.close()
    going_on = {"thread": {"type": "continue", "previous_message_id": "msg_one"}}
    more = {**body, **going_on, "messages": [{"role": "user", "content": "and?"}]}
    completed, _ = threads.with_kept_turns(more, memory)
    assert isinstance(completed, dict)
    [_, turn, _] = completed["messages"]
    assert turn["content"] == [{"type": "text", "text": "".join(LONG)}]


# Frames that differ in their words and their number only.


FRAME = b'data: {"type":"said","number":7,"text":"one","more":[]}\n\n'
COUNTER = b'"number":'


def test_text_goes_where_the_first_stood() -> None:
    splice = template_of(FRAME, "one")
    assert splice.write([b"two", rb"\n"], 0) == (
        b'data: {"type":"said","number":7,"text":"two","more":[]}\n\n'
        b'data: {"type":"said","number":7,"text":"\\n","more":[]}\n\n'
    )


def test_numbered_frames_go_on_counting() -> None:
    splice = template_of(FRAME, "one", COUNTER)
    assert splice.write([b"two", b"three"], 99) == (
        b'data: {"type":"said","number":99,"text":"two","more":[]}\n\n'
        b'data: {"type":"said","number":100,"text":"three","more":[]}\n\n'
    )


def test_text_that_stands_twice_is_written_twice() -> None:
    splice = template_of(b'{"number":1,"a":"x","b":"x"}', "x", COUNTER)
    assert splice.gap_count == 2
    assert splice.write([b"y"], 5) == b'{"number":5,"a":"y","b":"y"}'


def test_the_first_number_is_the_frames_own() -> None:
    splice = template_of(b'{"number":1,"text":"x","inner":{"number":3}}', "x", COUNTER)
    assert splice.write([b"y"], 2) == b'{"number":2,"text":"y","inner":{"number":3}}'


@pytest.mark.parametrize(
    ("frame", "text", "gives"),
    [
        (FRAME, "one", True),
        (FRAME.replace(b"7", b"8").replace(b"one", b"two"), "two", True),
        (FRAME, "two", False),
        (FRAME.replace(b"[]", b"{}"), "one", False),
    ],
)
def test_a_frame_differs_from_one_of_another_kind(frame: bytes, text: str, gives: bool) -> None:
    assert template_of(FRAME, "one", COUNTER).writes(frame, text) is gives


def test_without_a_counter_numbers_are_part_of_the_frame() -> None:
    splice = template_of(FRAME, "one")
    assert splice.writes(FRAME, "one")
    assert not splice.writes(FRAME.replace(b"7", b"8"), "one")


def test_a_frame_without_the_text_has_no_span_for_it() -> None:
    assert template_of(FRAME, "two").gap_count == 0
