import pytest

from converter.dialects.responses.errors import FINAL_CODE
from converter.dialects.responses.response_events import FILTERED, counts, outcome
from converter.model.events import Finish, Usage


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "completed"),
        ("tool_calls", "completed"),
        ("anything", "completed"),
        ("length", "incomplete"),
        ("content_filter", "incomplete"),
    ],
)
def test_a_finish_reason_has_its_status(reason: str, status: str) -> None:
    assert outcome(Finish(reason))["status"] == status


def test_a_filtered_reply_has_failed_for_good_where_the_client_would_ask_again() -> None:
    said = outcome(Finish("content_filter"), repeats=True)
    assert said["status"] == "failed"
    assert said["error"] == {"code": FINAL_CODE, "message": FILTERED}
    assert outcome(Finish("length"), repeats=True)["status"] == "incomplete"


@pytest.mark.parametrize(
    ("usage", "thought", "said", "thinking"),
    [
        (Usage(1, 10), 0, 5, 0),
        (Usage(1, 10), 5, 5, 5),
        (Usage(1, 10), 5, 0, 10),
        (Usage(1, 10, thinking=3), 5, 5, 3),
        (Usage(1, 10, thinking=30), 5, 5, 10),
    ],
)
def test_thinking_is_counted_by_the_server_or_by_its_share(
    usage: Usage, thought: int, said: int, thinking: int
) -> None:
    counted = counts(usage, thought, said)
    assert counted is not None
    assert counted["output_tokens_details"] == {"reasoning_tokens": thinking}


def test_a_count_that_never_came_is_none() -> None:
    assert counts(None, 1, 1) is None
