"""The official SDK's own types as judges: a reply must be what they say, with no field that they do
not know.
"""

import json
from typing import Any

from anthropic.types import Message, MessageTokensCount, ModelInfo, RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel, TypeAdapter

from laws.strict_reader import StrictReader, read_strictly
from tests.support.read_back import bodies_of

MESSAGE = TypeAdapter(Message)
EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
MODEL = TypeAdapter(ModelInfo)
COUNT = TypeAdapter(MessageTokensCount)
CHUNK = TypeAdapter(ChatCompletionChunk)


def judged[T](types: TypeAdapter[T], value: object) -> T:
    """Read strictly: no string for a number, no field missing, none unknown."""
    read = types.validate_json(json.dumps(value), strict=True)
    assert not (unknown := unknown_fields(read)), unknown
    return read


def unknown_fields(value: object, path: str = "") -> list[str]:
    """The paths of all fields that the SDK's models have no name for: they take them, and keep them
    apart.
    """
    if isinstance(value, list):
        return [
            field
            for index, item in enumerate(value)
            for field in unknown_fields(item, f"{path}.{index}")
        ]
    if not isinstance(value, BaseModel):
        return []
    extra = [f"{path}.{name}" for name in value.model_extra or {}]
    return extra + [
        field for name, item in value for field in unknown_fields(item, f"{path}.{name}")
    ]


def judged_stream(body: bytes) -> StrictReader:
    """Every event by its type, and all of them by the strict reader."""
    for value in bodies_of(body):
        if value["type"] != "error":
            judged(EVENT, value)
    return read_strictly(body)


def judged_message(body: bytes) -> dict[str, Any]:
    """A whole message, which a client may send back: it holds no text of nothing but blanks."""
    value: dict[str, Any] = json.loads(body)
    judged(MESSAGE, value)
    for block in value["content"]:
        assert block["type"] != "text" or block["text"].strip(), block
        assert block["type"] != "thinking" or block["signature"], "clients drop unsigned thinking"
    return value
