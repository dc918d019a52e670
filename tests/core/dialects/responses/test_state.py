import re
from typing import Any

import pytest

from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.responses.state import (
    ITEM_PREFIX,
    TWO_REFERENCES,
    UnknownError,
    answer_own,
    keep_response,
    whole_input,
)
from converter.core.model.conversation import RequestError
from converter.core.model.memory import Memory
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

OUTPUT: list[dict[str, Any]] = [
    {"id": "rs_{}", "type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]},
    {"id": "msg_{}", "type": "message", "role": "assistant", "status": "completed", "content": []},
]


def memory() -> Memory:
    return Memory(10, 100_000)


def turn(kept: Memory, name: str, **body: Any) -> list[object]:
    """One exchange: its whole input, and its response kept."""
    history = whole_input(kept, body)
    output = [{**item, "id": item["id"].format(name)} for item in OUTPUT]
    response: dict[str, Any] = {"id": f"resp_{name}", "status": "completed", "output": output}
    keep_response(kept, body, history, response)
    return history.items


def kinds(items: list[object]) -> list[Any]:
    return [(item["type"], item.get("role")) for item in items if isinstance(item, dict)]


TURN = [("message", "user"), ("reasoning", None), ("message", "assistant")]


def test_a_response_goes_on_where_its_previous_one_ended() -> None:
    kept = memory()
    turn(kept, "a", input="one")
    turn(kept, "b", input="two", previous_response_id="resp_a")
    items = turn(kept, "c", input="three", previous_response_id="resp_b")
    assert kinds(items) == [*TURN, *TURN, ("message", "user")]


def test_two_may_go_on_from_the_same_response() -> None:
    kept = memory()
    turn(kept, "a", input="one")
    for name in ("b", "c"):
        assert len(turn(kept, name, input="two", previous_response_id="resp_a")) == 4


@pytest.mark.parametrize("form", ["conv_1", {"id": "conv_1"}])
def test_a_conversation_grows_by_itself(form: object) -> None:
    kept = memory()
    begun = b'{"items": [{"role": "user", "content": "zero"}]}'
    assert answer_own(OwnRequest("POST", "/v1/conversations", begun, "1", 5), kept)[0] == 200
    turn(kept, "a", input="one", conversation=form)
    items = turn(kept, "b", input="two", conversation=form)
    assert kinds(items) == [("message", "user"), *TURN, ("message", "user")]


def test_a_reference_is_the_item_that_was_sent() -> None:
    kept = memory()
    turn(kept, "a", input="one")
    items = [{"type": "item_reference", "id": "rs_a"}, {"id": "msg_a"}]
    assert kinds(whole_input(kept, {"input": items}).items) == TURN[1:]


def test_an_item_with_its_id_from_a_response_is_read_there_or_where_it_was_sent_again() -> None:
    kept, item = memory(), {**OUTPUT[1], "id": "msg_a_1"}
    completed = whole_input(kept, {"input": "one"})
    keep_response(kept, {}, completed, {"id": "resp_a", "status": "completed", "output": [item]})
    request = {"input": [{"id": "msg_a_in0"}, {"id": "msg_a_1"}]}
    assert kinds(whole_input(kept, request).items) == [TURN[0], TURN[2]]
    assert kept.find(f"{ITEM_PREFIX}msg_a_1") == ""
    turn(kept, "b", input=[item])
    kept.forget("resp_a")
    assert whole_input(kept, {"input": [{"id": "msg_a_1"}]}).items == [item]


def test_a_thought_that_is_no_longer_kept_is_left_out_and_counted() -> None:
    history = whole_input(memory(), {"input": [{"type": "item_reference", "id": "rs_x"}]})
    assert (history.items, history.lost_thought_count) == ([], 1)


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    ROWS["what is not kept is refused with the apis text"],
)  # fmt: skip
def test_what_is_not_kept_is_refused_with_the_apis_text(
    body: dict[str, Any], status: int, code: str, message: str
) -> None:
    with pytest.raises(UnknownError) as raised:
        whole_input(memory(), body)
    assert (raised.value.status, raised.value.details, raised.value.message) == (
        status,
        {"code": code},
        message,
    )


def test_two_histories_at_once_are_refused() -> None:
    body = {"input": "a", "previous_response_id": "resp_x", "conversation": "conv_x"}
    with pytest.raises(RequestError, match="Mutually exclusive") as raised:
        whole_input(memory(), body)
    assert TWO_REFERENCES in raised.value.message


def test_a_history_with_a_gap_is_refused() -> None:
    kept = memory()
    turn(kept, "a", input="one")
    turn(kept, "b", input="two", previous_response_id="resp_a")
    kept.forget("resp_a")
    with pytest.raises(UnknownError):
        whole_input(kept, {"input": "three", "previous_response_id": "resp_b"})


ODD = [b"{}", b"null", b"[1,2]", b"no JSON", b'{"input": "x"}', b'{"response": []}']
"""Entries of another version, or of a damaged file."""


@pytest.mark.parametrize("entry", ODD)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"previous_response_id": "resp_b"}, "Previous response with id 'resp_b' not found."),
        ({"conversation": "conv_x"}, "Conversation with id 'conv_x' not found."),
    ],
)
def test_a_history_with_an_entry_of_another_shape_is_taken_as_not_there(
    entry: bytes, body: dict[str, object], message: str
) -> None:
    kept = memory()
    kept.keep("resp_a", entry)
    kept.keep("resp_b", b'{"input": []}', "resp_a", ["conversation conv_x"])
    with pytest.raises(UnknownError, match=re.escape(f"{message} What is kept of it cannot")):
        whole_input(kept, {"input": "three", **body})


@pytest.mark.parametrize("entry", ODD)
def test_an_item_of_an_entry_of_another_shape_is_not_read(entry: bytes) -> None:
    kept = memory()
    kept.keep("resp_a", entry, names=["item msg_1"])
    with pytest.raises(UnknownError, match="Item with id 'msg_1' not found"):
        whole_input(kept, {"input": [{"type": "item_reference", "id": "msg_1"}]})


def test_a_client_that_stores_nothing_leaves_nothing() -> None:
    kept = memory()
    turn(kept, "a", input="one", store=False)
    assert kept.size == 0


def test_a_failed_response_is_not_kept() -> None:
    kept = memory()
    keep_response(
        kept,
        {},
        whole_input(kept, {"input": "a"}),
        {"id": "resp_a", "status": "failed", "output": []},
    )
    assert kept.size == 0
