"""The fields of a chat-completion frame, read one by one."""

from dataclasses import replace

from converter.dialects.error_words import MisshapenError, as_count
from converter.model.events import Event, Own, ToolCall, Usage
from converter.wire import json_text
from converter.wire.bounds import MOST_CHOICES

NAME = "openai"
"""Name of the dialect, on data that only it can write back."""
SAME_IN_EVERY_FRAME = {"id", "object", "created", "model", "system_fingerprint", "service_tier"}
"""The fields of a frame's head; anything else in it is the server's own."""


def tool_calls(inner: dict[str, object], index: int) -> list[Event]:
    """Take the calls out of a choice's message or delta."""
    if isinstance(legacy := inner.get("function_call"), dict):
        del inner["function_call"]
        own = Own(NAME, {"function_call": legacy})
        return [replace(_tool_call({"function": legacy}, 0, index), own=own)]
    entries = inner.get("tool_calls")
    if not entries:
        return []
    if not isinstance(entries, list):
        raise MisshapenError
    del inner["tool_calls"]
    return [_tool_call(object_of(entry), position, index) for position, entry in enumerate(entries)]


def _tool_call(entry: dict[str, object], position: int, choice: int) -> ToolCall:
    function = object_of(entry.get("function") or {})
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json_text.write(arguments).decode() if arguments else ""
    return ToolCall(
        _call_index(entry, position),
        string_of(entry.get("id")),
        string_of(function.get("name")),
        arguments,
        choice,
        Own(NAME, {"tool_calls": entry}),
    )


def usage_of(entry: dict[str, object]) -> Usage:
    """Return the counts of a reply."""
    prompt = entry.get("prompt_tokens_details")
    details = entry.get("completion_tokens_details")
    return Usage(
        as_count(entry, "prompt_tokens") or 0,
        as_count(entry, "completion_tokens") or 0,
        cached=as_count(prompt, "cached_tokens"),
        thinking=as_count(details, "reasoning_tokens") or as_count(entry, "reasoning_tokens"),
        own=Own(NAME, entry),
    )


def choice_index(choice: dict[str, object], position: int) -> int:
    """Return which choice it is; of a whole reply its position, where it does not say. Raises
    MisshapenError for one that nobody can have asked for.
    """
    index = choice.get("index")
    if index is None and choice.get("message"):
        return position
    if type(index) is not int or not 0 <= index < MOST_CHOICES:
        raise MisshapenError
    return index


def _call_index(call: dict[str, object], position: int) -> int:
    """Return which call it is; whole ones have no index, and some servers send null."""
    index = call.get("index")
    if index is None:
        return position
    if type(index) is not int:
        raise MisshapenError
    return index


def object_of(value: object) -> dict[str, object]:
    """Return an object. Raises MisshapenError for anything else."""
    if not isinstance(value, dict):
        raise MisshapenError
    return value


def string_of(value: object) -> str:
    """Return a string; empty for anything else."""
    return value if isinstance(value, str) else ""
