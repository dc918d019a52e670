"""Fields that no standard knows, from a server's bytes to a client's: streamed and whole, cut
anywhere.
"""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from converter.core.dialects.table import ANTHROPIC, Form
from tests.support.frames import delta, whole
from tests.support.frames_of import OPENAI, STREAM, WHOLE, Json, entry, passed, values
from tests.support.messages_of import folded, strictly_sequential
from tests.support.reasoning_field_replies import (
    BLOCK_OF_CALL,
    custom,
    mapping,
    streamed,
    thinking,
    written,
)
from tests.support.rows import rows_of

TABLES = rows_of(__file__)

CHUNKS = (1, 2, 3, 7, 64, 100_000)
REPEATED: dict[str, tuple[list[Json], Json, list[Json]]] = TABLES["repeated"]
TABLE = pytest.mark.parametrize(("deltas", "message", "blocks"), REPEATED.values(), ids=REPEATED)


@TABLE
@pytest.mark.parametrize("form", Form)
def test_an_anthropic_client_reads_the_same_blocks_streamed_and_whole(
    deltas: list[Json], message: Json, blocks: list[Json], form: Form
) -> None:
    for server, body in ((STREAM, streamed(deltas)), (WHOLE, whole(**message))):
        for length in CHUNKS:
            out = written(ANTHROPIC, body, server, form, length=length)
            assert form is WHOLE or strictly_sequential(values(out))
            content = (
                folded(out)["content"] if form is STREAM else json.loads(b"".join(out))["content"]
            )
            assert content == blocks


def _joined(bodies: Iterable[Json]) -> Json:
    """Each field of a message, its pieces joined."""
    fields: Json = {}
    for body in bodies:
        for choice in body["choices"]:
            for name, value in (choice.get("message") or choice["delta"]).items():
                if isinstance(value, str | list):
                    fields[name] = (
                        fields.get(name, type(value)()) + value
                        if isinstance(fields.get(name), type(value))
                        else value
                    )
    return fields


@TABLE
def test_an_openai_client_gets_every_field_as_it_came_and_the_names_it_wants(
    deltas: list[Json], message: Json, blocks: list[Json]
) -> None:
    thinking = "".join(block.get("thinking", "") for block in blocks)
    for server, body in ((STREAM, streamed(deltas)), (WHOLE, whole(**message))):
        sent = _joined(values([body]) if server is STREAM else [json.loads(body)])
        out = [written(OPENAI, body, server, length=length) for length in CHUNKS]
        assert len({b"".join(pieces) for pieces in out}) == 1
        got = _joined(values(out[0]) if server is STREAM else [json.loads(b"".join(out[0]))])
        assert got.pop("reasoning_content", "") == thinking
        in_content = any(mark in str(sent.get("content")) for mark in ("<think>", "'thinking'"))
        changed = ("reasoning_content", "content" if in_content else "")
        assert {name: got.get(name) for name in sent if name not in changed} == {
            name: value for name, value in sent.items() if name not in changed
        }


def test_a_block_of_the_users_is_started_filled_and_stopped() -> None:
    stream = values(
        written(
            ANTHROPIC,
            streamed([{"my_custom_field": "a"}, {"my_custom_field": "b"}]),
            STREAM,
            STREAM,
        )
    )
    assert stream[1:-2] == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "custom", "custom_data": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "custom_delta", "custom_data": "a"},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "custom_delta", "custom_data": "b"},
        },
        {"type": "content_block_stop", "index": 0},
    ]


def test_a_piece_within_a_call_waits_for_its_end() -> None:
    first, rest = entry(0, "f", '{"a":', id="call_1"), entry(0, arguments="1}")
    out = written(
        ANTHROPIC,
        streamed([{"tool_calls": [first]}, {"my_custom_field": "a"}, {"tool_calls": [rest]}]),
        STREAM,
        STREAM,
    )
    assert folded(out)["content"] == [BLOCK_OF_CALL | {"input": {"a": 1}}, custom("a")]
    assert strictly_sequential(values(out))


def test_a_thought_that_a_block_interrupts_goes_on_after_it() -> None:
    out = written(
        ANTHROPIC,
        streamed([{"reasoning": "a"}, {"my_custom_field": "b"}, {"reasoning": "c"}]),
        STREAM,
        STREAM,
    )
    assert folded(out)["content"] == [thinking("a"), custom("b"), thinking("c")]


def test_choices_think_apart() -> None:
    """The same words in two choices are no repetition."""
    frames = [delta(index, reasoning="a") for index in (0, 1)]
    *bodies, _unended = values(written(OPENAI, b"".join(frames), STREAM))
    assert [body["choices"][0]["delta"] for body in bodies] == [
        {"reasoning": "a", "reasoning_content": "a"}
    ] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"thinking": [{"text": "a"}]},
        {"reasoning_content": "a", "thinking": "a"},
        {"plan": {"a": 1}},
    ],
)
def test_what_needs_no_name_added_is_the_same_bytes(fields: Json) -> None:
    named = fields if "thinking" not in fields else fields | {"reasoning_content": "a"}
    body = streamed([named, {"content": "x"}])
    assert b"".join(written(OPENAI, body, STREAM)) == body


def _notes(body: bytes, server: Form) -> list[str]:
    through = mapping(ANTHROPIC, server)
    passed(through, [body])
    return through.notes


NOTED: dict[str, tuple[Json, list[str]]] = TABLES["noted"]


@pytest.mark.parametrize(("fields", "notes"), NOTED.values(), ids=NOTED)
def test_what_no_message_can_hold_is_noted(fields: Json, notes: list[str]) -> None:
    assert _notes(streamed([fields, fields]), STREAM) == notes
    assert _notes(whole(**fields), WHOLE) == notes


def test_fields_beside_the_choices_are_not_noted() -> None:
    body: Any = json.loads(whole("x")) | {"timings": {"n": 1}, "provider": "p"}
    assert _notes(json.dumps(body).encode(), WHOLE) == []
