"""The neutral JSON of a transcript."""

import json

from converter.transcript import neutral
from converter.transcript.turns import (
    Failure,
    Field,
    Media,
    Raw,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)


def test_every_kind_of_part_has_its_values() -> None:
    parts = (
        Thinking("deep", "plan"),
        Text("Hi"),
        ToolCall("look", "a", '{"at":1}'),
        ToolCall("look", "b", '{"cut'),
        ToolResult("wet", "a", error=True),
        Media("image", "image/png", 3),
        Field("x", 0),
        Failure("broken", "api_error"),
        Raw("?"),
    )
    assert json.loads(
        neutral.write(
            Transcript(
                (Turn("assistant", parts, 1),), {"model": "m"}, {"finish": "stop"}, ("rest",)
            ),
            {"end": 1.0},
        )
    ) == {
        "asked": {"model": "m"},
        "turns": [
            {
                "role": "assistant",
                "choice": 1,
                "parts": [
                    {"kind": "thinking", "text": "deep", "note": "plan"},
                    {"kind": "text", "text": "Hi"},
                    {"kind": "tool_call", "name": "look", "id": "a", "arguments": {"at": 1}},
                    {"kind": "tool_call", "name": "look", "id": "b", "arguments": '{"cut'},
                    {"kind": "tool_result", "text": "wet", "id": "a", "error": True},
                    {"kind": "media", "media": "image", "type": "image/png", "size": 3},
                    {"kind": "field", "name": "x", "value": 0},
                    {"kind": "error", "message": "broken", "error": "api_error"},
                    {"kind": "raw", "text": "?"},
                ],
            }
        ],
        "facts": {"finish": "stop", "end": 1.0},
        "rest": ["rest"],
    }


def test_texts_are_as_they_came_and_nothing_acts_on_a_terminal() -> None:
    said = "\n\x1b[2J \x9b \u202e \ud83d 你好"
    written = neutral.write(Transcript((Turn("assistant", (Text(said),)),)))
    assert json.loads(written)["turns"][0]["parts"][0]["text"] == said
    assert not {"\x1b", "\x9b", "\u202e", "\ud83d"} & set(written)
    assert "你好" in written


def test_what_is_empty_is_an_object_all_the_same() -> None:
    assert neutral.write(Transcript()) == "{}\n"
