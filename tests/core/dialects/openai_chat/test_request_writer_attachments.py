"""Images and documents as a server can be given them."""

import json
from typing import Any

import pytest

from converter.core.dialects.openai_chat.request_writer import write_messages
from converter.core.dialects.request_settings import RequestSettings
from converter.core.model.conversation import (
    Block,
    Conversation,
    Data,
    Document,
    Image,
    Linked,
    Sound,
    TextBlock,
    ToolResult,
    Turn,
)
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PLAIN = RequestSettings()
NO_LINKS = RequestSettings(image_links=False)
PNG = Image(Data("image/png", "iVBO"))


def user(*blocks: Block | str) -> Turn:
    return Turn(
        "user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    )


def write(
    *turns: Turn, system: tuple[str, ...] = (), settings: RequestSettings = PLAIN
) -> list[dict[str, Any]]:
    return write_messages(Conversation("m", turns, system), settings)


def message(role: str, content: object, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


@pytest.mark.parametrize(
    ("block", "text"), ROWS["documents are text and what cannot go is reported"]
)
def test_documents_are_text_and_what_cannot_go_is_reported(block: Block, text: str) -> None:
    messages = write(user(block, "read it"))
    assert messages == [message("user", text + "\n\nread it")]
    assert "JVBE" not in json.dumps(messages)


def test_a_document_may_hold_images() -> None:
    parts = write(user(Document((TextBlock("a"), PNG))))[0]["content"]
    assert [part["type"] for part in parts] == ["text", "text", "image_url", "text"]


@pytest.mark.parametrize(
    ("detail", "sent"),
    [
        ("", {}),
        ("auto", {}),
        ("low", {"detail": "low"}),
        ("high", {"detail": "high"}),
        ("original", {"detail": "high"}),
    ],
)
def test_an_image_is_looked_at_as_closely_as_the_client_requested(
    detail: str, sent: dict[str, str]
) -> None:
    (message,) = write(user(Image(Linked("http://x/a.png"), detail)))
    assert message["content"][0]["image_url"] == {"url": "http://x/a.png", **sent}


SOUND = Sound(Data("audio/mp3", "SUQz"))
SOUND_PART = {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}


def test_a_sound_goes_to_the_server() -> None:
    (message,) = write(user("listen", SOUND))
    assert message["content"] == [{"type": "text", "text": "listen"}, SOUND_PART]


def test_a_sound_of_a_tools_result_follows_it() -> None:
    result, below = write(user(ToolResult("a", (SOUND,))))
    assert result["content"] == "[sound: in the next user message]"
    assert below["content"] == [
        {"type": "text", "text": "[sound from the result of tool call a]"},
        SOUND_PART,
    ]


def test_a_server_that_fetches_nothing_gets_the_link_as_text() -> None:
    assert write(user(Image(Linked("http://x/a.png"))), settings=NO_LINKS) == [
        message("user", "[image: http://x/a.png]")
    ]
