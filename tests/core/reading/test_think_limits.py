"""Memory and time of the parser: with these texts a machine that holds all, or reads it twice,
would not come to an end.
"""

import pytest

from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT
from laws.oracle_blocks import Block
from tests.support.call_engine import held_by
from tests.support.read_back import blocks_of
from tests.support.strategies import every_so_many

ALL = mark_table(choose(["auto"]))
LARGE = [
    "<think>" * 20_000,
    "<think></think>" * 10_000,
    "<thinking " * 10_000,
    "<thinking a='" * 4_000,
    '<thinking x="" ' * 1_000,
    "<" * 100_000,
    '<thinking thought="' + "x" * 1_000_000,
    "\x00" * 200_000,
    "`" * 200_000,
    "` " * 40_000 + "<think>",
    "`" + "<think>" * 10_000,
    "\\" * 200_000,
    "\n" * 200_000,
    "<think>" + "\n" * 200_000,
    "<think>" + " " * 200_000,
    "</think>" * 10_000,
    "<|end|>" * 10_000,
    "<think:" * 10_000,
    "<think:" + "a" * 200_000,
    "`" + "<|start|>assistant" * 4_000,
]


def text_of(events: list[object]) -> str:
    return "".join(getattr(event, "text", "") for event in events)


@pytest.mark.slow
@pytest.mark.parametrize("start", [Mode.ANSWERING, Mode.THINKING], ids=lambda mode: mode.name)
@pytest.mark.parametrize("text", LARGE, ids=lambda text: f"{text[:16]!r} and so on")
def test_a_stream_holds_little_whatever_comes(text: str, start: Mode) -> None:
    parser = Engine(ALL, start)
    came = 0
    for offset in range(0, len(text), 1000):
        piece = text[offset : offset + 1000]
        came += len(text_of([*parser.feed(piece)]))
        assert len(held_by(parser)) + len(parser.thought._held) <= max(
            ATTRIBUTE_LIMIT, BLANKS_LIMIT
        ) + len(piece)
    assert came + len(text_of([*parser.flush()])) <= len(text)


@pytest.mark.slow
@pytest.mark.parametrize("text", LARGE, ids=lambda text: f"{text[:16]!r} and so on")
def test_one_large_piece_is_read_once(text: str) -> None:
    parser = Engine(ALL, Mode.UNDECIDED)
    assert len(text_of([*parser.feed(text), *parser.flush()])) <= len(text)


@pytest.mark.parametrize("begin", ['<thinking thought="', "<thinking\n", "<thinking a='1'  "])
def test_single_characters_of_a_tag_without_end_are_held_to_the_limit_only(begin: str) -> None:
    text = begin + ("x" if "=" in begin and begin.count("'") != 2 else " ") * ATTRIBUTE_LIMIT
    parser = Engine(ALL)
    came = [text_of([*parser.feed(character)]) for character in text]
    assert not any(came[: ATTRIBUTE_LIMIT - 1])
    assert "".join(came) == text


def test_a_tag_of_the_limits_length_is_read_and_a_longer_one_is_not() -> None:
    frame = '<thinking thought=""/>'
    fits, too_long = (
        frame.replace('""', f'"{"x" * (ATTRIBUTE_LIMIT - len(frame) + more)}"') for more in (0, 1)
    )
    for pieces in ([fits], list(fits)):
        assert [block.kind for block in read(pieces)] == ["thinking"]
    for pieces in ([too_long], list(too_long)):
        assert read(pieces) == [Block("text", too_long)]


def test_blanks_beyond_the_limit_are_emitted_the_same_however_they_are_cut() -> None:
    for text in (
        "<think>a" + "\n" * (BLANKS_LIMIT + 5),
        "<think>" + " " * (BLANKS_LIMIT + 5),
        "<think>" + "\n" * BLANKS_LIMIT + "a",
    ):
        assert read([text]) == read(list(text))


def read(pieces: list[str]) -> list[Block]:
    parser = Engine(ALL)
    emitted = [event for piece in pieces for event in parser.feed(piece)]
    return blocks_of(emitted + parser.flush())


EVERY = mark_table(choose(["auto", "think-answer", "granite", "harmony-words", "muse"]))
FRAMED = "<think>a</think><answer>"


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    every_so_many(
        [
            "</answer>",
            "</answer> ",
            "<answer>",
            " to=",
            "Here",
            "analysis",
            "\n" * 5000 + "</answer>",
        ]
    ),
)
def test_marks_that_are_text_are_read_once_and_hold_little(more: str) -> None:
    text = FRAMED + more * (200_000 // len(more))
    whole, parser = Engine(EVERY, Mode.UNDECIDED), Engine(EVERY)
    came = text_of([*whole.feed(text), *whole.flush()])
    in_pieces = ""
    for offset in range(0, len(text), 1000):
        in_pieces += text_of([*parser.feed(text[offset : offset + 1000])])
        assert len(held_by(parser)) <= BLANKS_LIMIT + 1000
    assert in_pieces + text_of([*parser.flush()]) == came
