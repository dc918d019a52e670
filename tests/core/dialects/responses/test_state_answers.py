from typing import Any

import pytest
from openai.types.responses.response_item_list import ResponseItemList

from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.responses.state import keep_response, whole_input
from converter.core.model.memory import Memory
from tests.support.responses_of import own_answer
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


@pytest.fixture
def memory() -> Memory:
    kept = Memory(10, 10_000)
    body = {"input": "hi"}
    keep_response(
        kept, body, whole_input(kept, body), {"id": "resp_1", "status": "completed", "output": []}
    )
    return kept


def fetch(memory: Memory, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    return own_answer(OwnRequest(method, path, body, "x", 5), memory)


@pytest.mark.parametrize("prefix", ["/v1", "/openai/v1"])
def test_a_kept_response_is_shown_listed_and_deleted(memory: Memory, prefix: str) -> None:
    path = f"{prefix}/responses/resp_1"
    assert fetch(memory, "GET", f"{path}?include=x")[1]["id"] == "resp_1"
    assert fetch(memory, "GET", f"{path}/input_items")[1]["data"][0]["content"][0]["text"] == "hi"
    assert fetch(memory, "DELETE", path) == (200, {"id": "resp_1", "object": "response", "deleted": True})  # fmt: skip
    status, answer = fetch(memory, "GET", path)
    assert (status, answer["error"]["message"]) == (404, "Response with id 'resp_1' not found.")


@pytest.mark.parametrize(
    ("query", "shown", "more"),
    [
        ("", ["msg_1_in2", "msg_1_in1", "msg_1_in0"], False),
        ("?order=asc", ["msg_1_in0", "msg_1_in1", "msg_1_in2"], False),
        ("?limit=2", ["msg_1_in2", "msg_1_in1"], True),
        ("?limit=2&after=msg_1_in1", ["msg_1_in0"], False),
        ("?after=msg_1_in0&limit=x", [], False),
        ("?limit=" + "9" * 5000, ["msg_1_in2", "msg_1_in1", "msg_1_in0"], False),
    ],
)
def test_the_input_is_listed_in_pages_the_last_item_first(
    query: str, shown: list[str], more: bool
) -> None:
    kept = Memory(10, 10_000)
    body = {"input": [{"role": "user", "content": text} for text in "abc"]}
    keep_response(
        kept, body, whole_input(kept, body), {"id": "resp_1", "status": "completed", "output": []}
    )
    listed = fetch(kept, "GET", f"/v1/responses/resp_1/input_items{query}")[1]
    assert [item["id"] for item in listed["data"]] == shown
    assert (listed["first_id"], listed["last_id"]) == ((shown[0], shown[-1]) if shown else (None, None))  # fmt: skip
    assert listed["has_more"] is more
    if shown:  # the API itself sends null for an empty list, and the SDK has no type for that
        ResponseItemList.model_validate(listed)


@pytest.mark.parametrize(("method", "path", "status"), ROWS["what there is not is refused plainly"])
def test_what_there_is_not_is_refused_plainly(
    memory: Memory, method: str, path: str, status: int
) -> None:
    got, answer = fetch(memory, method, path)
    assert got == status
    assert answer["error"]["message"]


def test_a_body_that_is_no_json_is_refused(memory: Memory) -> None:
    assert fetch(memory, "POST", "/v1/conversations", b"{")[0] == 400
