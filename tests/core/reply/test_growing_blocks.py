"""Blocks grow by pieces, in the order in which they began."""

from typing import Never

from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import ToolCall
from converter.core.reply.growing_blocks import GrowingBlocks


def test_text_of_a_kind_is_one_block() -> None:
    grown = GrowingBlocks[Never]()
    fresh = [
        grown.grow(ThinkingBlock, "a"),
        grown.grow(ThinkingBlock, "b"),
        grown.grow(TextBlock, "c"),
        grown.grow(TextBlock, "d"),
        grown.grow(ThinkingBlock, "e"),
    ]
    assert fresh == [True, False, True, False, True]
    assert grown.parts() == (ThinkingBlock("ab"), TextBlock("cd"), ThinkingBlock("e"))


def test_a_text_of_another_index_is_another_block() -> None:
    grown = GrowingBlocks[Never]()
    assert [
        grown.grow(TextBlock, "a"),
        grown.grow(TextBlock, "b", "refusal"),
        grown.grow(TextBlock, "c", "refusal"),
    ] == [True, True, False]
    assert grown.parts() == (TextBlock("a"), TextBlock("bc", "refusal"))


def test_a_thought_that_ended_is_signed_and_does_not_go_on() -> None:
    grown = GrowingBlocks[Never]()
    grown.grow(ThinkingBlock, "a")
    grown.end_thought("signed", "planning")
    grown.grow(ThinkingBlock, "b")
    assert grown.parts() == (ThinkingBlock("a", "signed", "planning"), ThinkingBlock("b"))


def test_no_signature_goes_to_an_answer() -> None:
    grown = GrowingBlocks[Never]()
    grown.grow(TextBlock, "a")
    grown.end_thought("signed", "planning")
    assert grown.parts() == (TextBlock("a"),)


def test_pieces_of_two_calls_come_by_turns() -> None:
    grown = GrowingBlocks[Never]()
    for index, id_, name, text in [(0, "c", "f", "{"), (1, "d", "g", ""), (0, "", "", "}")]:
        grown.feed(ToolCall(index, id_, name, text, read_from="text"))
    assert grown.parts() == (ToolUse("c", "f", "{}", "text"), ToolUse("d", "g", "", "text"))


def test_another_id_at_the_same_index_is_another_call() -> None:
    grown = GrowingBlocks[Never]()
    grown.call_of(0)[0].id = "c"
    assert [grown.call_of(0, id_)[1] for id_ in ("", "c", "d")] == [False, False, True]


def test_other_parts_stand_between_blocks() -> None:
    grown = GrowingBlocks[int]()
    grown.grow(TextBlock, "a")
    grown.append(7)
    grown.grow(TextBlock, "b")
    grown.end()
    grown.grow(TextBlock, "c")
    assert grown.parts() == (TextBlock("a"), 7, TextBlock("b"), TextBlock("c"))
