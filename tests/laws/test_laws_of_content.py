"""The basis of the laws of content; `test_laws` shows that they find faults."""

from typing import Any

import pytest

from laws import laws
from tests.support.frames import DONE, ROLE, delta, finish
from tests.support.recordings_of import CHAT, MESSAGES, recording
from tests.support.strategies import share_of

CUT_CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}


@pytest.mark.parametrize("stops", [["b"], ["b", "c"]])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_call_cut_by_a_stop_string_breaks_no_law(
    path: str, reason: str, stops: list[str]
) -> None:
    body = b"".join([ROLE, delta(tool_calls=[CUT_CALL]), finish(reason), DONE])
    fields: dict[str, Any] = {"stop": stops} if path == CHAT else {"stop_sequences": stops}
    stopped = recording(body, path=path, **fields)
    assert [str(broken) for broken in laws.check(stopped, share_of(5))] == []
