"""Calls and results of whatever shape."""

from typing import Any

import pytest

from converter.core.dialects.tolerant_readers import OpenResult, call_of, result_of
from converter.core.model.conversation import RequestError, ToolResult, ToolUse
from converter.core.wire.checked import Fields


@pytest.mark.parametrize(
    ("call", "read"),
    [
        ({"id": "a", "name": "f", "arguments": '{"x":1}'}, ToolUse("a", "f", '{"x":1}')),
        ({"call_id": "c", "id": "a", "name": "f", "input": ""}, ToolUse("c", "f")),
        ({"name": "f", "server_label": "files"}, ToolUse("", "files.f")),
        ({"action": {}}, ToolUse("", "other", "{}")),
    ],
)
def test_a_call_is_read(call: dict[str, Any], read: ToolUse) -> None:
    fields = Fields(call)
    assert call_of(fields, fields, "other") == read


@pytest.mark.parametrize(
    ("result", "read"),
    [
        ({"for": "c", "content": "wet"}, OpenResult(ToolResult("c"), "wet")),
        ({"for": "c", "is_error": True}, OpenResult(ToolResult("c", is_error=True), None)),
        ({"status": "failed"}, OpenResult(ToolResult("", is_error=True), None)),
        ({"name": "f"}, OpenResult(ToolResult("", name="f"), None)),
    ],
)
def test_a_result_is_read_but_for_its_content(result: dict[str, Any], read: OpenResult) -> None:
    assert result_of(Fields(result), "for") == read


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(RequestError):
        result_of(Fields({"for": 3}), "for")
