"""The laws over every recording: what a real llama.cpp wrote, cut anywhere, read by every client."""

import json

import pytest

from converter.laws import oracle, sdk_reading
from converter.laws.read_back import AS_TEXT, Completion, anthropic_message, completion_of, rewrite
from converter.laws.strict_reader import frames_of, read_strictly
from converter.rewriter import Dialect, Form
from converter.settings import read
from tests.capture import SHOTS
from tests.recorded import FOLDER, Recording, load, names

WAYS = [(Dialect.OPENAI, None), (Dialect.ANTHROPIC, Form.STREAM), (Dialect.ANTHROPIC, Form.WHOLE)]
CHUNKS = (1, 2, 3, 7, 64, 1000)
REPLIES = [name for name in names() if not name.startswith("error")]
STREAMS = [name for name in REPLIES if name.endswith("-stream")]
PAIRS = [name.removesuffix("-whole") for name in REPLIES if name.endswith("-whole")]


@pytest.fixture(scope="module")
def wire() -> sdk_reading.Wire:
    return sdk_reading.Wire()


def form_of(recording: Recording) -> Form:
    return Form.STREAM if recording.streamed else Form.WHOLE


def server_said(recording: Recording) -> Completion:
    """What the server itself says, before any rewriting."""
    return completion_of(recording.body, form_of(recording))


def expected_blocks(recording: Recording) -> list[tuple[str, str]]:
    """What a reader of the server's own words finds in them; a field of reasoning settles it."""
    words = server_said(recording).choices[0].words
    if native := words.get("reasoning_content"):
        return [("thinking", native.strip("\r\n")), ("text", words["content"])]
    blocks = oracle.read(words.get("content", ""), AS_TEXT.tags)
    return [(block.kind, block.text) for block in blocks]


def test_every_shot_has_its_recordings_and_the_other_way_round() -> None:
    assert sorted(names()) == sorted(f"{shot.name}-{form}" for shot in SHOTS for form in shot.forms)


def test_recordings_are_small_and_tell_nothing_of_the_machine_they_were_made_on() -> None:
    files = list(FOLDER.glob("*.mitm"))
    assert sum(file.stat().st_size for file in files) < 300_000
    for file in files:
        kept = file.read_bytes()
        assert not [word for word in (b"/home", b"/root", b"/tmp", b"authorization", b"user-agent") if word in kept.lower()]


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_law_1_bytes_cut_anywhere_give_the_same_bytes(name: str, way: tuple[Dialect, Form | None]) -> None:
    recording = load(name)
    body, (client, client_form), form = recording.body, way, form_of(recording)
    expected = b"".join(rewrite([body], client, form, client_form, AS_TEXT))
    for length in CHUNKS:
        pieces = [body[place : place + length] for place in range(0, len(body), length)]
        assert b"".join(rewrite(pieces, client, form, client_form, AS_TEXT)) == expected


@pytest.mark.parametrize("name", STREAMS)
def test_law_2_text_cut_into_characters_gives_the_same_message(name: str) -> None:
    recording = load(name)
    recut = b"".join(frame + b"\n\n" for whole in frames_of(recording.body) for frame in by_characters(whole))
    for settings in (AS_TEXT, read({"fields": ["reasoning"]})):
        before, after = (
            completion_of(b"".join(rewrite([body], Dialect.OPENAI, Form.STREAM, None, settings)), Form.STREAM)
            for body in (recording.body, recut)
        )
        assert after.said == before.said
        assert anthropic_message(recut, Form.STREAM, Form.STREAM, settings) == anthropic_message(
            recording.body, Form.STREAM, Form.STREAM, settings
        )


def by_characters(frame: bytes) -> list[bytes]:
    """A frame of content as one frame for each of its characters; another frame as it is."""
    value = json.loads(frame.removeprefix(b"data: ")) if frame.startswith(b"data: {") else {}
    delta = value["choices"][0]["delta"] if value.get("choices") else {}
    if not delta.get("content"):
        return [frame]
    return [
        b"data: " + json.dumps(value | {"choices": [value["choices"][0] | {"delta": {"content": character}}]}).encode()
        for character in delta["content"]
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_law_3_streamed_equals_whole(name: str) -> None:
    """The two are two requests, so the tool calls have other ids."""
    streamed, whole = load(f"{name}-stream"), load(f"{name}-whole")
    messages = [
        anthropic_message(recording.body, form_of(recording), form, AS_TEXT) for recording in (streamed, whole) for form in Form
    ]
    assert len({json.dumps(sdk_reading.blocks(message)) for message in messages}) == 1
    assert len({(message["stop_reason"], message["usage"]["output_tokens"]) for message in messages}) == 1
    completions = [
        completion_of(b"".join(rewrite([recording.body], Dialect.OPENAI, form_of(recording))), form_of(recording))
        for recording in (streamed, whole)
    ]
    words = [completion.choices[0].said[0] for completion in completions]
    assert words[0] == words[1]


@pytest.mark.parametrize("name", REPLIES)
def test_laws_4_and_5_every_word_arrives_where_the_oracle_reads_it(name: str) -> None:
    recording = load(name)
    expected = expected_blocks(recording)
    message = anthropic_message(recording.body, form_of(recording), Form.STREAM, AS_TEXT)
    said = [(block["type"], block[block["type"]]) for block in message["content"] if block["type"] != "tool_use"]
    assert said == [(kind, text) for kind, text in expected if text.strip()]
    got = completion_of(b"".join(rewrite([recording.body], Dialect.OPENAI, form_of(recording))), form_of(recording))
    words = got.choices[0].words
    assert words.get("content", "") == "".join(text for kind, text in expected if kind == "text")
    thinking = "\n\n".join(text for kind, text in expected if kind == "thinking")
    assert words.get("reasoning_content", "").strip("\r\n") == thinking


@pytest.mark.parametrize("name", REPLIES)
def test_law_4_everything_but_words_is_as_the_server_sent_it(name: str) -> None:
    recording = load(name)
    sent = server_said(recording)
    out = b"".join(rewrite([recording.body], Dialect.OPENAI, form_of(recording)))
    got = completion_of(out, form_of(recording))
    assert (got.usage, got.choices[0].calls, got.choices[0].finish) == (sent.usage, sent.choices[0].calls, sent.choices[0].finish)
    assert out.count(b'"timings"') == recording.body.count(b'"timings"')


@pytest.mark.parametrize("name", [name for name in REPLIES if "extracted" in name])
def test_law_4_a_reply_whose_thinking_is_where_it_belongs_is_the_same_bytes(name: str) -> None:
    recording = load(name)
    assert b"".join(rewrite([recording.body], Dialect.OPENAI, form_of(recording))) == recording.body


@pytest.mark.parametrize("name", [name for name in REPLIES if not name.startswith("in-code")])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_law_6_no_tag_is_left(name: str, way: tuple[Dialect, Form | None]) -> None:
    recording = load(name)
    out = b"".join(rewrite([recording.body], way[0], form_of(recording), way[1]))
    assert b"<" not in out


@pytest.mark.parametrize("name", PAIRS)
def test_law_7_the_sdks_see_the_same_message(wire: sdk_reading.Wire, name: str) -> None:
    streamed, whole = load(f"{name}-stream"), load(f"{name}-whole")
    stream = b"".join(rewrite([streamed.body], Dialect.ANTHROPIC, Form.STREAM, Form.STREAM))
    body = b"".join(rewrite([whole.body], Dialect.ANTHROPIC, Form.WHOLE, Form.WHOLE))
    accumulated, created = sdk_reading.anthropic_accumulated(wire, stream), sdk_reading.anthropic_whole(wire, body)
    assert sdk_reading.blocks(accumulated) == sdk_reading.blocks(created) == expected_tools_and_blocks(whole)
    completion = sdk_reading.openai_whole(wire, b"".join(rewrite([whole.body], Dialect.OPENAI, Form.WHOLE)))
    words = completion_of(json.dumps(completion).encode(), Form.WHOLE).choices[0].words
    thinking = [json.loads(said) for kind, said in sdk_reading.blocks(created) if kind == "thinking"]
    assert words["reasoning_content"].strip("\n") == "\n\n".join(thinking)


def expected_tools_and_blocks(recording: Recording) -> list[tuple[str, str]]:
    said = [(kind, json.dumps(text)) for kind, text in expected_blocks(recording) if text.strip()]
    calls = server_said(recording).choices[0].calls.values()
    return said + [("tool_use", json.dumps(json.loads(call["arguments"]))) for call in calls]


@pytest.mark.parametrize("name", STREAMS)
def test_law_7_every_streamed_event_is_of_the_sdks_own_types(wire: sdk_reading.Wire, name: str) -> None:
    body = load(name).body
    stream = b"".join(rewrite([body], Dialect.ANTHROPIC, Form.STREAM, Form.STREAM))
    events = sdk_reading.anthropic_events(wire, stream)
    assert len(events) == len(frames_of(stream))
    assert len(sdk_reading.openai_frames(wire, b"".join(rewrite([body], Dialect.OPENAI, Form.STREAM)))) > 1


@pytest.mark.parametrize("name", STREAMS)
def test_laws_8_and_9_a_stream_that_dies_anywhere_is_in_order_and_ends_in_an_error(name: str) -> None:
    body = load(name).body
    finished = body.index(b'"finish_reason":"')
    for place in range(0, finished, 101):
        out = b"".join(rewrite([body[:place]], Dialect.ANTHROPIC, Form.STREAM, Form.STREAM))
        assert read_strictly(out).error


def test_an_error_reply_is_an_error_for_both_clients() -> None:
    (name,) = (name for name in names() if name.startswith("error"))
    recording = load(name)
    assert recording.status == 400
    assert b"".join(rewrite([recording.body], Dialect.OPENAI, Form.WHOLE)) == recording.body
    error = anthropic_message(recording.body, Form.WHOLE, Form.WHOLE)
    assert (error["type"], error["error"]["message"]) == ("error", json.loads(recording.body)["error"]["message"])
