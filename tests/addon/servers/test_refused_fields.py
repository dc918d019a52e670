"""Fields that a server refuses: named by its own words, left out of a request."""

from typing import Any

import pytest

from converter.addon.servers.refused_fields import FIELD, are_paths, found, without_fields


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("Unknown parameter: 'store'.", {"store"}),
        ("Unknown parameter: 'messages[3].reasoning_content'.", {"messages.reasoning_content"}),
        ("Unrecognized request argument supplied: thinking", {"thinking"}),
        ("Unrecognized request arguments supplied: foo, bar", {"foo", "bar"}),
        (
            "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not"
            " permitted', 'input': 40}]",
            {"top_k"},
        ),
        (
            '[{"type":"extra_forbidden","loc":["body","min_p"],"msg":"Extra inputs are not permitted"}]',
            {"min_p"},
        ),
        ("Extra inputs are not permitted, field: 'metadata', value: {}", {"metadata"}),
        ("property 'seed' is unsupported", {"seed"}),
        (
            "'messages.1' : for 'role:assistant' property 'messages[1].name' is unsupported",
            {"messages.name"},
        ),
        ("Unexpected keys in the request: {'top_k'}", {"top_k"}),
        ("Unsupported fields in the request: {'n', 'user'}", {"n", "user"}),
        ("Unsupported param: echo", {"echo"}),
        ("Stream options can only be defined when `stream=True`.", {"stream_options"}),
        ("stream_options can only be set when streaming", {"stream_options"}),
        ("stream_options is not supported", {"stream_options"}),
        ("unknown field: stream_options", {"stream_options"}),
        ("reasoning_effort is not supported with this model", {"reasoning_effort"}),
        ("`reasoning_effort` must be one of `none` or `default`", {"reasoning_effort"}),
        ("'reasoning_effort' does not support 'none' with this model.", {"reasoning_effort"}),
        ("{'type': 'literal_error', 'loc': ('body', 'reasoning_effort')", {"reasoning_effort"}),
        ("Unknown parameter: 'messages'.", set()),
        ("Unknown parameter: 'messages[1].content'.", set()),
        ("Unknown parameter: 'model'.", set()),
        ("Unknown parameter", set()),
    ],
)
def test_words_name_a_field(words: str, paths: set[str]) -> None:
    said, names = found(words)
    assert names == {FIELD + path for path in paths}
    assert said in words


def test_a_field_is_left_out_wherever_it_stands() -> None:
    turn = {"role": "user", "content": "hi"}
    body: dict[str, Any] = {"model": "m", "seed": 1, "messages": [{**turn, "name": "a"}, turn]}
    made = without_fields(body, frozenset({"seed", "messages.name"}))
    assert made == {"model": "m", "messages": [turn, turn]}


def test_a_request_without_the_field_stays_the_same() -> None:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user"}, "no message"]}
    assert without_fields(body, frozenset({"seed", "messages.name"})) is body


def test_what_a_request_needs_is_no_path() -> None:
    assert are_paths("seed\nmessages.name")
    assert not are_paths("seed\nmodel")
    assert not are_paths("messages.content")
    assert not are_paths("two words")
