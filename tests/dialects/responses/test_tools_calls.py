import json
from typing import Any

import pytest

from converter.dialects.responses.tools import CALL_KINDS, KIND_OF_ITEM, ToolName, free_text, named
from converter.wire.checked import Fields

SAID: dict[str, dict[str, Any]] = {
    "function": {"a": 1},
    "custom": {"input": "text"},
    "tool_search": {"query": "q", "limit": 3},
}


def test_every_kind_is_tried() -> None:
    assert SAID.keys() == CALL_KINDS.keys() == set(KIND_OF_ITEM.values())


@pytest.mark.parametrize("kind", SAID)
def test_what_a_reply_says_is_what_the_history_gives_back(kind: str) -> None:
    row = CALL_KINDS[kind]
    item = row.write(ToolName(kind, "f"), SAID[kind])
    assert row.read(Fields(json.loads(json.dumps(item)))) == SAID[kind]


def test_a_name_comes_with_its_namespace() -> None:
    assert named(ToolName("function", "f", "n")) == {"name": "f", "namespace": "n"}
    assert named(ToolName("function", "f")) == {"name": "f"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"input": "a"}, "a"),
        ({"arguments": "*** Begin Patch"}, "*** Begin Patch"),
        ({"patch": "a"}, "a"),
        ({"n": 1}, '{"n": 1}'),
        ({}, ""),
    ],
)
def test_a_custom_tools_text_is_found_wherever_the_model_put_it(
    given: dict[str, Any], text: str
) -> None:
    assert free_text(given) == text
