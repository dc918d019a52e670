"""What a client should read, by the server's own words and the oracle."""

import pytest

from converter.addon.keep.notes import Found
from converter.core.dialects.table import Form
from converter.extras.recordings.recording import Recording
from laws.expected import (
    Part,
    anthropic_blocks,
    is_whole,
    openai_words,
    parts,
    reading_for,
)
from laws.limits import Case
from tests.support.frames import END, ROLE, delta, finish, text
from tests.support.recordings_of import of_whole, recording, streamed

INSIDE = Found(begins="thinking")


def found(given: Recording, whole: bool = False) -> list[tuple[str, str]]:
    return [
        (part.kind, part.text)
        for part in parts(Case(given).words.choice(), reading_for(given, whole))
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (streamed("<think>t</think>", "a"), [("thinking", "t"), ("text", "a")]),
        (streamed("`<think>`a"), [("text", "`<think>`a")]),
        (streamed("t</think>a"), [("text", "t</think>a")]),
        (streamed("t</think>a", found=INSIDE), [("thinking", "t"), ("text", "a")]),
        (streamed("t</think>a", options={"start": "thinking"}), [("thinking", "t"), ("text", "a")]),
        (
            streamed("<think>t</think>a", options={"tags": ["mistral"]}),
            [("text", "<think>t</think>a")],
        ),
    ],
)
def test_tags_are_read_as_the_options_and_the_beginning_say(
    given: Recording, expected: list[tuple[str, str]]
) -> None:
    assert found(given) == expected


def test_behind_thinking_of_the_servers_own_tags_are_text() -> None:
    body = b"".join(
        [ROLE, *text("<think>a</think>"), delta(reasoning="b"), *text("<think>c"), *END]
    )
    assert found(recording(body)) == [("thinking", "a"), ("thinking", "b"), ("text", "<think>c")]


def test_a_whole_reply_tells_by_itself_where_it_began() -> None:
    assert found(of_whole("t</think>a"), whole=True) == [("thinking", "t"), ("text", "a")]
    cut = recording(b"".join([ROLE, *text("t"), finish("length")]), found=INSIDE)
    assert found(cut, whole=True) == [("thinking", "t")]
    assert found(recording(b"".join([ROLE, *text("t"), *END]), found=INSIDE), whole=True) == [
        ("thinking", "t")
    ]


def test_a_budget_keeps_the_beginning_of_the_thinking() -> None:
    given = {"options": {"budget": "proxy"}, "thinking_token_budget": 1}
    assert found(streamed("<think>123456</think>a<think>7</think>", **given)) == [
        ("thinking", "1234"),
        ("text", "a"),
    ]
    assert found(streamed("<think>12你好</think>", **given)) == [("thinking", "12")]


def test_each_dialect_has_its_own_shape_of_it() -> None:
    said = [
        Part("thinking", "a"),
        Part("thinking", "b"),
        Part("text", " "),
        Part("thinking", "\nc\n", native=True),
        Part("text", "d"),
    ]
    assert openai_words(said) == ("a\n\nb\nc", " d")
    assert anthropic_blocks(said) == [
        ("thinking", "a"),
        ("thinking", "b"),
        ("thinking", "c"),
        ("text", "d"),
    ]
    assert anthropic_blocks(said, shown=False) == [("text", " d")]


def test_a_reply_is_whole_when_it_comes_or_goes_so() -> None:
    assert [is_whole(streamed("a"), form) for form in Form] == [False, True]
    assert is_whole(of_whole("a"), Form.STREAM)
