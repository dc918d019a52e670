"""The laws, over drawn replies: what the rewriter must hold, whatever a server writes and however
the network cuts it.
"""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.addon.exchange.settings import Settings, read
from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import STOP, Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.families import FAMILIES
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.turn_end import TOKENS
from laws import oracle
from laws.expected import repeated_thought, without_stray_marks
from laws.oracle_blocks import Block
from laws.parsed_reply import Piece
from laws.strict_reader import frames_of
from tests.support import read_back
from tests.support.read_back import AS_TEXT, anthropic_message, blocks_of, completion_of, rewrite
from tests.support.strategies import PLAIN, TEXTS, Choice, Reply, cut, law, replies

STARTS = st.sampled_from([read({"start": start}) for start in ("auto", "text", "thinking")])
FIELDS = st.sampled_from([["reasoning_content"], ["reasoning"], ["reasoning_content", "reasoning"]])
SETTINGS = st.builds(
    lambda start, fields: read({"start": start, "fields": fields}),
    st.sampled_from(["auto", "text", "thinking"]),
    FIELDS,
)
MODES = {
    "text": Mode.ANSWERING,
    "closed": Mode.CLOSED,
    "thinking": Mode.THINKING,
    "guessed": Mode.GUESSED,
    "undecided": Mode.UNDECIDED,
}
VARIANTS = st.sampled_from([(OPENAI_CHAT, None), (ANTHROPIC, Form.STREAM), (ANTHROPIC, Form.WHOLE)])


def openai(
    body: bytes, form: Form = Form.STREAM, settings: Settings = AS_TEXT
) -> dict[int, read_back.Choice]:
    return completion_of(
        b"".join(rewrite([body], OPENAI_CHAT, form, settings=settings)), form
    ).choices


@law(120)
@given(st.data(), replies(late=True), VARIANTS, SETTINGS)
def test_law_1_bytes_cut_anywhere_give_the_same_bytes(
    data: st.DataObject, reply: Reply, variant: tuple[Dialect, Form | None], settings: Settings
) -> None:
    body = reply.stream()
    client, form = variant
    whole = rewrite([body], client, Form.STREAM, form, settings)
    in_pieces = rewrite(data.draw(cut(body)), client, Form.STREAM, form, settings)
    assert b"".join(in_pieces) == b"".join(whole)


@law(15)
@given(replies(most=1), VARIANTS, st.sampled_from(Form))
def test_law_1_single_bytes_give_the_same_bytes(
    reply: Reply, variant: tuple[Dialect, Form | None], server_form: Form
) -> None:
    body = reply.stream() if server_form is Form.STREAM else reply.whole()
    client, form = variant
    in_bytes = rewrite(
        [body[offset : offset + 1] for offset in range(len(body))], client, server_form, form
    )
    assert b"".join(in_bytes) == b"".join(rewrite([body], client, server_form, form))


@law(120)
@given(st.data(), replies(), SETTINGS)
def test_law_2_text_cut_anywhere_gives_the_same_message(
    data: st.DataObject, reply: Reply, settings: Settings
) -> None:
    other = data.draw(recut(reply))
    assert (
        openai(other.stream(), settings=settings)[0].shown
        == openai(reply.stream(), settings=settings)[0].shown
    )
    forms = Form.STREAM, Form.STREAM
    if len(reply.choices) == 1:  # of several the one counts that comes first
        assert anthropic_message(other.stream(), *forms, settings) == anthropic_message(
            reply.stream(), *forms, settings
        )


@st.composite
def recut(draw: st.DrawFn, reply: Reply) -> Reply:
    """The same reply in other pieces; one choice alone, so that the pieces need no order."""
    first = reply.choices[0]
    content, native = draw(cut(first.text)), draw(cut("".join(first.native)))
    choice = type(first)(native, content, first.calls, first.finish, first.native_name)
    return Reply([choice, *reply.choices[1:]], [], {}, reply.usage, reply.done, reply.newline)


@law(120)
@given(replies(), SETTINGS)
def test_law_3_streamed_equals_whole_for_openai_clients(reply: Reply, settings: Settings) -> None:
    assume_no_lone_closer(reply, settings)
    streamed = completion_of(
        b"".join(rewrite([reply.stream()], OPENAI_CHAT, Form.STREAM, None, settings)), Form.STREAM
    )
    whole = completion_of(
        b"".join(rewrite([reply.whole()], OPENAI_CHAT, Form.WHOLE, None, settings)), Form.WHOLE
    )
    assert streamed.shown == whole.shown


@law(120)
@given(replies(most=1), STARTS)
def test_law_3_streamed_equals_whole_for_anthropic_clients(
    reply: Reply, settings: Settings
) -> None:
    assume_no_lone_closer(reply, settings)
    reply = Reply(reply.choices, reply.order, reply.extras, reply.usage, True, reply.newline)
    bodies = {Form.STREAM: reply.stream(), Form.WHOLE: reply.whole()}
    expected = anthropic_message(bodies[Form.STREAM], Form.STREAM, Form.STREAM, settings)
    for server_form, body in bodies.items():
        for client_form in Form:
            assert anthropic_message(body, server_form, client_form, settings) == expected


def assume_no_lone_closer(reply: Reply, settings: Settings) -> None:
    """Only a whole reply can tell that it began inside a thought; how it reads is the option's
    promise, not this law's.
    """
    for choice in reply.choices:
        same = oracle.read(choice.text, settings.tags, "text") == oracle.read(
            choice.text, settings.tags, "undecided"
        )
        assume(settings.start.value != "auto" or same)


@law(150)
@given(replies(most=1), st.sampled_from(["text", "thinking"]))
def test_law_4_every_word_arrives(reply: Reply, start: str) -> None:
    choice = reply.choices[0]
    settings = read({"start": start, "fields": ["reasoning_content"]})
    closers = [mark for row in settings.tags for mark in row.closes]
    # a closer in a field without content behind it begins the answer (rule 9)
    assume(choice.text.strip() or not any(mark in "".join(choice.native) for mark in closers))
    thinking, text = expected_content(choice.native, choice.text, settings, start)
    got = openai(reply.stream(), settings=settings)[0]
    name = choice.native_name if choice.native else "reasoning_content"
    assert (got.texts.get(name, ""), got.texts.get("content", "")) == (thinking, text)
    calls = [(call["id"], call["name"], call["arguments"]) for call in got.calls.values()]
    assert calls == [(call.id, call.name, "".join(call.arguments)) for call in choice.calls]
    no_call = choice.finish == "tool_calls" and not choice.calls
    assert got.finish == ("stop" if no_call else choice.finish)


_TURN_ENDS = re.compile(rf"(?:(?:{'|'.join(map(re.escape, TOKENS))})\s*)+\Z")


def expected_content(
    native: list[str], content: str, settings: Settings, start: str
) -> tuple[str, str]:
    """Tags are looked for only while the server sends no reasoning of its own (rule 9)."""
    if "".join(native).strip():
        pieces = [Piece("thinking", "".join(native)), Piece("text", content)]
        closers = [mark for row in settings.tags for mark in row.closes]
        again = repeated_thought(pieces, settings.tags, closers if start == "thinking" else ())
        answer = without_stray_marks(content.removeprefix(again), settings.tags)
        return "".join(native), _TURN_ENDS.sub("", answer)
    blocks = oracle.read(content, settings.tags, start)
    thoughts = [block.text for block in blocks if block.kind == "thinking"]
    answer = "".join(block.text for block in blocks if block.kind == "text")
    return "\n\n".join(thoughts), _TURN_ENDS.sub("", answer)


@law(100)
@given(replies(), SETTINGS)
def test_law_4_what_the_addon_does_not_understand_survives(
    reply: Reply, settings: Settings
) -> None:
    body = reply.stream()
    out = b"".join(rewrite([body], OPENAI_CHAT, Form.STREAM, None, settings))
    sent, got = completion_of(body, Form.STREAM), completion_of(out, Form.STREAM)
    assert got.extras == sent.extras
    assert {index: choice.extras for index, choice in got.choices.items()} == {
        index: choice.extras for index, choice in sent.choices.items()
    }
    assert out.count(b": ping") == body.count(b": ping")
    assert out.count(b"[DONE]") >= reply.done
    assert got.usage == reply.usage


@law(60)
@given(replies(texts=PLAIN), st.sampled_from(Form))
def test_law_4_a_reply_with_nothing_to_change_is_the_same_bytes(reply: Reply, form: Form) -> None:
    pieces = [
        piece for choice in reply.choices for call in choice.calls for piece in call.arguments
    ]
    # a comma waits, because it may go, and so does half an escape
    assume(not any(re.search(r"(?:,\s*|\\u?[0-9a-fA-F]{0,3})\Z", piece) for piece in pieces))
    # blanks before the answer of a thought in a field wait, because a closer there is swallowed
    heads = [next(filter(None, each.content), "") for each in reply.choices if each.native]
    heads += [next(filter(None, each.native), "") for each in reply.choices]  # a thought's blanks
    assume(not any(head.isspace() for head in heads))
    body = reply.stream() if form is Form.STREAM else reply.whole()
    both = read(
        {
            "fields": [choice.native_name for choice in reply.choices if choice.native][:1]
            or ["reasoning"]
        }
    )
    assume(len({choice.native_name for choice in reply.choices if choice.native}) < 2)
    assume(all(each.calls or each.finish != "tool_calls" for each in reply.choices))
    assert b"".join(rewrite([body], OPENAI_CHAT, form, settings=both)) == body


@law(60)
@given(replies(most=1))
def test_law_4_frames_that_say_nothing_are_the_same_bytes(reply: Reply) -> None:
    """Those that start or end something may have to bring held text along, so they are left to the
    next test.
    """
    body = reply.stream()
    kept = frames_of(b"".join(rewrite([body], OPENAI_CHAT, Form.STREAM, settings=AS_TEXT)))
    silent = [
        frame
        for frame in frames_of(body)
        if b'"role"' in frame or b'"choices": []' in frame or not frame.startswith(b"data: {")
    ]
    assert [frame for frame in silent if frame not in kept] == []


@pytest.mark.parametrize(
    "content", ["a", "<think>a", "<think>a\n\n", "<think>a</think>b", "`<think>"]
)
def test_law_4_an_end_without_held_text_is_the_same_bytes(content: str) -> None:
    reply = Reply([Choice([], [content], [], "length", "reasoning")], [], {}, None, True, b"\n")
    out = b"".join(rewrite([reply.stream()], OPENAI_CHAT, Form.STREAM, settings=AS_TEXT))
    assert frames_of(out)[-2:] == frames_of(reply.stream())[-2:]


@law(500)
@given(st.data(), TEXTS, st.sampled_from(list(MODES)))
def test_law_5_the_parser_and_the_oracle_agree(data: st.DataObject, text: str, start: str) -> None:
    parser = Engine(mark_table(AS_TEXT.tags), MODES[start])
    got = [event for piece in data.draw(cut(text)) for event in parser.feed(piece)]
    assert blocks_of(got + parser.flush(STOP)) == oracle.read(
        text, AS_TEXT.tags, start, stopped=True
    )


@law(100)
@given(replies(most=1))
def test_law_5_the_oracle_reads_the_same_message(reply: Reply) -> None:
    choice = reply.choices[0]
    assume(not choice.native)
    message = anthropic_message(reply.whole(), Form.WHOLE, Form.STREAM)
    got = [
        (block["type"], block[block["type"]])
        for block in message["content"]
        if block["type"] != "tool_use"
    ]
    assert got == shown_blocks(oracle.read(choice.text, AS_TEXT.tags))


def shown_blocks(blocks: list[Block]) -> list[tuple[str, str]]:
    """As the Messages API has them: no text block of nothing but blanks (rule 13)."""
    return [(block.kind, block.text) for block in blocks if block.text.strip()]


CONTENT = st.text(st.sampled_from("ab 你🙂\n."), min_size=1, max_size=6).filter(str.strip)


@law(100)
@given(
    st.data(),
    st.sampled_from(FAMILIES),
    st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=3),
    st.sampled_from(DIALECTS),
)
def test_law_6_no_consumed_tag_leaks(
    data: st.DataObject, family: ThoughtRow, rounds: list[tuple[str, str]], client: Dialect
) -> None:
    written = "".join(f"{family.open}{thought}{family.close}{text}" for thought, text in rounds)
    reply = Reply(
        [Choice([], data.draw(cut(written)), [], "stop", "reasoning")], [], {}, None, True, b"\n"
    )
    out = b"".join(
        rewrite([reply.stream()], client, Form.STREAM, Form.STREAM, read({"tags": [family.name]}))
    ).decode()
    for mark in (family.open, family.close):
        assert mark not in out
        assert json.dumps(mark)[1:-1] not in out
    for part in (part for both in rounds for part in both):
        assert set(json.dumps(part.strip(), ensure_ascii=False)) <= set(out)
