import json
from typing import Any

import pytest

from converter.core.dialects.openai_chat.request_writer import join_texts, write_messages
from converter.core.dialects.request_settings import RequestSettings
from converter.core.model.conversation import (
    Block,
    Conversation,
    Data,
    Image,
    Linked,
    RedactedThinking,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PLAIN = RequestSettings()
STRICT = "reasoning_content"
PNG = Image(Data("image/png", "iVBO"))
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
CALL = ToolUse("a", "f", '{"x": "ä"}')
CALL_PART = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": "ä"}'}}
FIRST, SECOND = ThinkingBlock("first", "sig-1"), ThinkingBlock("second", "sig-2")
INTERLEAVED = (FIRST, TextBlock("Here is the answer."), SECOND)


def user(*blocks: Block | str) -> Turn:
    return Turn(
        "user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    )


def assistant(*blocks: Block | str) -> Turn:
    return Turn("assistant", user(*blocks).blocks)


def write(
    *turns: Turn, system: tuple[str, ...] = (), settings: RequestSettings = PLAIN
) -> list[dict[str, Any]]:
    return write_messages(Conversation("m", turns, system), settings)


def message(role: str, content: object, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def result(text: str, call: str = "a") -> dict[str, object]:
    return message("tool", text, tool_call_id=call)


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b"), "a\n\nb"),
        (("a\n", "b"), "a\nb"),
        (("a", "\n\nb"), "a\n\nb"),
        (("a", " \n", "", "b"), "a\n\nb"),
        ((" a ", " b "), " a \n\n b "),
    ],
)
def test_texts_are_joined_with_a_blank_line_unless_they_bring_a_break(
    texts: tuple[str, ...], joined: str
) -> None:
    assert join_texts(texts) == joined


@pytest.mark.parametrize(
    ("blocks", "message"),
    ROWS["an assistant turn is one message"],
    ids=[
        "thinking and text interleaved",
        "text first",
        "two thoughts",
        "own line breaks",
        "thinking unaltered",
        "blank thought",
        "redacted thinking dropped",
        "tool calls last",
        "a call alone has empty text",
    ],
)
def test_an_assistant_turn_is_one_message(
    blocks: tuple[Block, ...], message: dict[str, object]
) -> None:
    assert write(user("q"), Turn("assistant", blocks), user("next"))[1] == message


@pytest.mark.parametrize(("history", "message"), ROWS["history goes where it is wanted"])
def test_history_goes_where_it_is_wanted(history: Any, message: dict[str, object]) -> None:
    messages = write(assistant(*INTERLEAVED), settings=RequestSettings(history))
    assert messages == [message]
    assert "sig-" not in json.dumps(messages)


@pytest.mark.parametrize("history", ["tags", "reasoning_content", "reasoning", "drop"])
@pytest.mark.parametrize(
    ("blocks", "field"),
    [((FIRST, CALL), "first"), ((CALL,), "")],
    ids=["with a thought", "without"],
)
def test_a_server_may_insist_on_the_field_in_tool_turns(
    history: Any, blocks: tuple[Block, ...], field: str
) -> None:
    messages = write(
        user("q"),
        Turn("assistant", blocks),
        settings=RequestSettings(history, tool_turn_history=STRICT),
    )
    assert messages[1] == message("assistant", "", reasoning_content=field, tool_calls=[CALL_PART])


@pytest.mark.parametrize(
    ("turns", "messages"),
    [
        ((user("a", "b"),), [message("user", "a\n\nb")]),
        ((user("a"), user("b")), [message("user", "a\n\nb")]),
        ((user("a", " ", "b"),), [message("user", "a\n\nb")]),
        ((user(" "),), [message("user", "")]),
        ((user(),), [message("user", "")]),
        (
            (user("look", PNG, "then"),),
            [
                message(
                    "user",
                    [{"type": "text", "text": "look"}, PNG_PART, {"type": "text", "text": "then"}],
                )
            ],
        ),
        ((user(PNG, ""),), [message("user", [PNG_PART])]),
        (
            (user(Image(Linked("http://x/a.png"))),),
            [message("user", [{"type": "image_url", "image_url": {"url": "http://x/a.png"}}])],
        ),
        (
            (user("q"), assistant("The an"), assistant("swer")),
            [message("user", "q"), message("assistant", "The an\n\nswer")],
        ),
        (
            (user("q"), assistant("The answer is ")),
            [message("user", "q"), message("assistant", "The answer is ")],
        ),
        ((user("q"), assistant("")), [message("user", "q")]),
        ((assistant(""),), [message("assistant", "")]),
        (
            (user("q"), assistant(RedactedThinking("x")), user("r")),
            [message("user", "q"), message("assistant", ""), message("user", "r")],
        ),
    ],
    ids=[
        "texts of a turn",
        "two user turns",
        "blank text left out",
        "a blank turn stays a turn",
        "an empty turn stays a turn",
        "parts only with an image",
        "image alone",
        "image by link",
        "two assistant turns",
        "a prefill stays last, as it is",
        "an empty prefill is none",
        "an empty turn alone stays, because servers refuse a request without messages",
        "a turn nobody can read stays a turn",
    ],
)
def test_turns_of_one_role_are_one_message(turns: tuple[Turn, ...], messages: list[object]) -> None:
    assert write(*turns) == messages


def test_system_text_comes_first_and_once() -> None:
    early = Turn("system", (TextBlock("c"),))
    assert write(early, early, user("q"), system=("a", "b")) == [
        message("system", "a\n\nb\n\nc\n\nc"),
        message("user", "q"),
    ]


def test_system_text_inside_keeps_its_index_as_user_text() -> None:
    late = Turn("system", (TextBlock("now brief"),))
    assert write(user("q"), late, assistant("r"), late, user("s")) == [
        message("user", "q\n\n<system-reminder>\nnow brief\n</system-reminder>"),
        message("assistant", "r"),
        message("user", "<system-reminder>\nnow brief\n</system-reminder>\n\ns"),
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    ROWS["a tool result is text"],
    ids=["text", "texts", "empty", "blank", "error", "empty error", "document"],
)
def test_a_tool_result_is_text(answer: ToolResult, text: str) -> None:
    assert write(assistant(CALL), user(answer))[1:] == [result(text)]


ANSWER = ToolResult("a", (TextBlock("one"),))
OTHER = ToolResult("b", (TextBlock("two"),))


@pytest.mark.parametrize(
    ("order", "turns", "messages"),
    [
        (
            "as-written",
            (user("before", ANSWER, "after"),),
            [message("user", "before"), result("one"), message("user", "after")],
        ),
        (
            "tools-first",
            (user("before", ANSWER, "after"),),
            [result("one"), message("user", "before\n\nafter")],
        ),
        (
            "as-written",
            (user(ANSWER, "between", OTHER),),
            [result("one"), message("user", "between"), result("two", "b")],
        ),
        (
            "tools-first",
            (user(ANSWER, "between", OTHER),),
            [result("one"), result("two", "b"), message("user", "between")],
        ),
        ("as-written", (user("before"), user(ANSWER)), [message("user", "before"), result("one")]),
        ("tools-first", (user("before"), user(ANSWER)), [result("one"), message("user", "before")]),
        (
            "tools-first",
            (Turn("system", (TextBlock("now"),)), user(ANSWER)),
            [result("one"), message("user", "<system-reminder>\nnow\n</system-reminder>")],
        ),
    ],
)
def test_results_keep_their_order_or_come_first(
    order: Any, turns: tuple[Turn, ...], messages: list[object]
) -> None:
    assert write(assistant(CALL), *turns, settings=RequestSettings(order=order))[1:] == messages


def test_images_of_results_follow_the_run_of_results() -> None:
    messages = write(
        assistant(CALL), user(ToolResult("a", (TextBlock("shot:"), PNG)), OTHER, "what is it?")
    )
    assert messages[1:] == [
        result("shot:\n\n[image: in the next user message]"),
        result("two", "b"),
        message(
            "user",
            [
                {"type": "text", "text": "[image from the result of tool call a]"},
                PNG_PART,
                {"type": "text", "text": "what is it?"},
            ],
        ),
    ]
