"""The laws 7 to 9, over drawn replies: the official SDKs read the output, nothing is raised,
Messages streams are in order.

Here is also what is left of law 4: a reply that dies loses none of the words that came.
"""

import json
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.exchange.settings import Settings, read
from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from laws import sdk_reading
from laws.sdk_reading import Wire
from laws.strict_reader import read_strictly
from tests.support.read_back import (
    AS_TEXT,
    DEFAULTS,
    anthropic_message,
    bodies_of,
    completion_of,
    rewrite,
)
from tests.support.strategies import Reply, cut, law, replies

pytestmark = pytest.mark.slow

STARTS = st.sampled_from([read({"start": start}) for start in ("auto", "text", "thinking")])
VARIANTS = st.sampled_from([(OPENAI_CHAT, None), (ANTHROPIC, Form.STREAM), (ANTHROPIC, Form.WHOLE)])
GARBAGE = st.binary(max_size=60) | st.lists(
    st.sampled_from(
        [
            b"data: ",
            b"data:",
            b"\n\n",
            b"\r\n",
            b"\r",
            b"{",
            b'{"choices":',
            b"[DONE]",
            b"\xff\xfe",
            b": ping",
            b"event: x",
            b"null",
        ]
    ),
    max_size=12,
).map(b"".join)


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


@law(60)
@given(reply=replies(most=1))
def test_law_7_the_anthropic_sdk_gets_one_message_in_every_variant(
    wire: Wire, reply: Reply
) -> None:
    streamed = b"".join(
        rewrite(
            [reply.stream() + b"data: [DONE]\n\n"], ANTHROPIC, Form.STREAM, Form.STREAM, AS_TEXT
        )
    )
    whole = b"".join(rewrite([reply.whole()], ANTHROPIC, Form.WHOLE, Form.WHOLE, AS_TEXT))
    sdk_reading.anthropic_events(wire, streamed)
    accumulated, created = (
        sdk_reading.anthropic_accumulated(wire, streamed),
        sdk_reading.anthropic_whole(wire, whole),
    )
    strict = read_strictly(streamed).message
    assert (
        sdk_reading.blocks(accumulated) == sdk_reading.blocks(created) == sdk_reading.blocks(strict)
    )
    for name in ("id", "model", "role", "stop_reason", "stop_sequence"):
        assert accumulated[name] == created[name] == strict[name]
    assert (
        accumulated["usage"]["output_tokens"]
        == created["usage"]["output_tokens"]
        == strict["usage"]["output_tokens"]
    )


@law(60)
@given(reply=replies())
def test_law_7_the_openai_sdk_gets_one_message_in_every_variant(wire: Wire, reply: Reply) -> None:
    streamed = b"".join(rewrite([reply.stream()], OPENAI_CHAT, Form.STREAM, None, AS_TEXT))
    whole = b"".join(rewrite([reply.whole()], OPENAI_CHAT, Form.WHOLE, None, AS_TEXT))
    frames = sdk_reading.openai_frames(wire, streamed)
    assert [frame["choices"] for frame in frames] == [
        frame["choices"] for frame in bodies_of(streamed)
    ]
    created = sdk_reading.openai_whole(wire, whole)
    assert (
        completion_of(json.dumps(created).encode(), Form.WHOLE).shown
        == completion_of(streamed, Form.STREAM).shown
    )


@law(40)
@given(reply=replies(most=1))
def test_law_7_the_openai_sdk_puts_the_frames_together(wire: Wire, reply: Reply) -> None:
    reply = Reply(reply.choices, reply.order, {}, reply.usage, reply.done, reply.newline)
    assume(
        reply.choices[0].finish not in ("length", "content_filter")
    )  # the SDK's own helper refuses such an end
    streamed = b"".join(rewrite([reply.stream()], OPENAI_CHAT, Form.STREAM, None, AS_TEXT))
    message = sdk_reading.openai_accumulated(wire, streamed)["choices"][0]["message"]
    content = completion_of(streamed, Form.STREAM).choices[0].texts
    assert (message.get("content") or "") == content.get("content", "")
    assert message.get("reasoning_content", "") == content.get("reasoning_content", "")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats()
    | st.sampled_from(["", "<think>", "</think>x", "<thi", "stop", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "delta", "content", "x", "arguments"]), inner)
    ),
    max_leaves=5,
)


def likely(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """An object of about the right shape, each field of which may be missing or be anything."""
    return st.fixed_dictionaries(
        {}, optional={name: value | JSON for name, value in fields.items()}
    )


FUNCTIONS = likely(name=st.just("f"), arguments=st.sampled_from(['{"a":1}', '{"a', "x"]))
ENTRIES = likely(index=st.integers(0, 2), id=st.sampled_from(["a", "b"]), function=FUNCTIONS)
TEXT = st.sampled_from(["<think>", "a", "</think>", " ", "<thi"])
MESSAGES = likely(
    content=TEXT,
    reasoning_content=TEXT,
    reasoning=TEXT,
    role=st.just("assistant"),
    tool_calls=st.lists(ENTRIES, max_size=2),
)
CHOICES = likely(
    index=st.integers(0, 1),
    delta=MESSAGES,
    message=MESSAGES,
    finish_reason=st.sampled_from(["stop", "length"]),
    stop_reason=TEXT,
)
USAGE = likely(
    prompt_tokens=st.integers(0, 9), completion_tokens=st.integers(), prompt_tokens_details=JSON
)
FRAMES = likely(
    choices=st.lists(CHOICES, max_size=2),
    usage=USAGE,
    error=JSON,
    id=st.just("chatcmpl-1"),
    model=st.just("small"),
)


@law(150)
@given(st.data(), GARBAGE, VARIANTS, st.sampled_from(Form), STARTS)
def test_law_8_random_bytes_raise_nothing(
    data: st.DataObject,
    body: bytes,
    variant: tuple[Dialect, Form | None],
    server_form: Form,
    settings: Settings,
) -> None:
    client, client_form = variant
    out = b"".join(rewrite(data.draw(cut(body)), client, server_form, client_form, settings))
    if client is OPENAI_CHAT:
        assert b'"error"' in out  # no bytes at random have a finish
    else:
        check_messages(out, client_form)


@law(200)
@given(st.data(), st.lists(FRAMES, max_size=4), VARIANTS, st.sampled_from(Form), STARTS)
def test_law_8_random_json_raises_nothing(
    data: st.DataObject,
    values: list[object],
    variant: tuple[Dialect, Form | None],
    server_form: Form,
    settings: Settings,
) -> None:
    lines = [json.dumps(value).encode() for value in values]
    body = (
        b"".join(b"data: " + line + b"\n\n" for line in lines)
        if server_form is Form.STREAM
        else (lines or [b""])[0]
    )
    client, client_form = variant
    pieces = data.draw(cut(body))
    out = b"".join(rewrite(pieces, client, server_form, client_form, settings))
    assert out == b"".join(rewrite([body], client, server_form, client_form, settings))
    if client is ANTHROPIC:
        check_messages(out, client_form)


def check_messages(out: bytes, form: Form | None) -> None:
    """A message from its start to its end, or an error."""
    if form is Form.STREAM:
        read_strictly(out)
    else:
        assert json.loads(out)["type"] in ("message", "error")


def test_law_8_half_a_surrogate_pair_and_deep_nesting_raise_nothing() -> None:
    for body in (
        b'{"choices":[{"message":{"content":"<think>\\ud83d</think>x"}}]}',
        b"[" * 100_000,
        b'{"choices":' * 50_000,
    ):
        for client in DIALECTS:
            assert rewrite([body], client, Form.WHOLE)


def test_law_8_a_fault_of_our_own_is_noted_and_costs_no_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("converter.core.reading.engine.engine.Engine.feed", lambda *_: 1 / 0)
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    rewriter = rewriter_of(DEFAULTS, OPENAI_CHAT, Form.STREAM)
    assert [*rewriter.feed(body), *rewriter.close()] == [body]
    assert "ZeroDivisionError" in rewriter.notes[0]


@law(150)
@given(replies(most=1, late=True), STARTS, st.sampled_from(["", "signed"]), st.sampled_from(Form))
def test_law_9_every_anthropic_stream_is_strictly_sequential(
    reply: Reply, start: Settings, signature: str, form: Form
) -> None:
    settings = read({"start": start.start.value, "signature": signature})
    body = reply.stream() if form is Form.STREAM else reply.whole()
    message = anthropic_message(body, form, Form.STREAM, settings)
    thoughts = [block for block in message["content"] if block["type"] == "thinking"]
    assert {block["signature"] for block in thoughts} <= {signature}


@st.composite
def deaths(draw: st.DrawFn) -> bytes:
    """A stream of which only the beginning came, most often until near the end of a frame."""
    reply = draw(replies())
    body = reply.stream()
    ends = [
        offset + draw(st.integers(-3, 3))
        for offset in range(len(body))
        if body.startswith(reply.newline * 2, offset)
    ]
    return body[: draw(st.sampled_from(ends) | st.integers(0, len(body) - 1))]


@law(80)
@given(deaths())
def test_law_9_a_reply_that_dies_anywhere_ends_in_an_error(came: bytes) -> None:
    message = anthropic_message(came, Form.STREAM, Form.STREAM, AS_TEXT)
    assert message["type"] == "error" or b'"finish_reason": "' in came or b"[DONE]" in came


@law(80)
@given(deaths())
def test_law_4_a_reply_that_dies_anywhere_emits_the_text_that_came(came: bytes) -> None:
    """A last frame without its blank line is read as if it had one, and what was held goes out in
    frames of its own. Only the error says which of the two it was.
    """
    ended = rewrite([came, b"\n\n"], OPENAI_CHAT, Form.STREAM, None, AS_TEXT)
    died = rewrite([came], OPENAI_CHAT, Form.STREAM, None, AS_TEXT)
    assert values_of(b"".join(died)) == values_of(b"".join(ended))


def values_of(body: bytes) -> list[object]:
    """The JSON of all frames that hold some and are no error."""
    return [
        value
        for value in readable_frames(body)
        if not (isinstance(value, dict) and "error" in value)
    ]


def readable_frames(body: bytes) -> list[object]:
    """The JSON of all frames that hold some; what is cut short or runs into another frame does not."""
    values: list[object] = []
    for frame in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        with suppress(ValueError):
            values.append(json.loads(frame.strip().removeprefix(b"data: ")))
    return values


@pytest.mark.parametrize("form", Form)
def test_law_9_an_end_without_a_beginning_is_an_error(form: Form) -> None:
    out = rewrite([b"data: [DONE]\n\n"], ANTHROPIC, Form.STREAM, form)
    assert b'"type":"error"' in b"".join(out)
