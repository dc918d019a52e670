import pytest

from converter.core.model.conversation import (
    Conversation,
    Image,
    Linked,
    RequestError,
    TextBlock,
    ToolResult,
    ToolUse,
)


@pytest.mark.parametrize(
    ("path", "message"),
    [("messages.0.role", "messages.0.role: Field required"), ("", "Field required")],
    ids=["place-before-the-problem", "no-place-for-the-whole-request"],
)
def test_an_error_says_where_and_what(path: str, message: str) -> None:
    error = RequestError(path, "Field required")
    assert (error.path, error.message, str(error)) == (path, message, message)


def test_what_is_not_requested_is_left_to_the_server() -> None:
    empty = Conversation("tiny", ())
    assert (empty.thinking, empty.effort, empty.tool_choice, empty.sampling.temperature) == (
        None,
        None,
        None,
        None,
    )
    assert empty.parallel_tool_use
    assert not empty.stream


def test_arguments_are_read_where_they_are_an_object() -> None:
    assert ToolUse("c", "f", '{"at": "größer"}').input == {"at": "größer"}
    assert [ToolUse("c", "f", text).input for text in ("", "[1]", '{"a":', "[" * 99_999)] == [
        {}
    ] * 4


def test_a_result_has_the_text_of_its_parts() -> None:
    content = (TextBlock("a"), Image(Linked("https://a.b/c.png")), TextBlock("d"))
    assert ToolResult("c", content).text == "a\nd"
