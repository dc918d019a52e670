"""A reply goes on in a second one: the request for it, and the answers that are none."""

from collections.abc import Iterator

import pytest

from converter.addon.hooks.continued_reply import SECOND_REQUEST_FAILED
from converter.addon.hooks.tap import Tap
from tests.support.addon_flows import EVENT_STREAM, response, streaming
from tests.support.frames import ROLE, text
from tests.support.kept_flows import watched

BEGUN = b"".join([ROLE, *text("<think>ab", "cdef")])


@pytest.fixture
def through() -> Iterator[Tap]:
    """The tap of a reply whose thought was ended just now."""
    with watched(server="vllm", budget="enforce", budget_tokens="1") as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        tap = flow.response.stream if flow.response else None
        assert isinstance(tap, Tap)
        assert tap.may_leave_server
        tap(BEGUN)
        assert tap.stopped
        yield tap


def test_the_second_request_holds_the_thought_and_is_sent_once(through: Tap) -> None:
    second = through.next_request(possible=True)
    assert second
    assert b"ab" in (second.content or b"")
    assert not through.stopped


def test_behind_a_thought_that_was_ended_a_break_says_so(through: Tap) -> None:
    before = through.explain_fault("boom")
    through.next_request(possible=True)
    assert through.explain_fault("boom") == SECOND_REQUEST_FAILED.format(before)


def test_where_no_second_request_can_be_sent_the_reply_ends_at_the_thought(through: Tap) -> None:
    assert through.next_request(possible=False) is None
    assert b'"stop_reason":"max_tokens"' in b"".join(through(b""))


@pytest.mark.parametrize(
    ("status", "sent"),
    [(400, b'"stop_reason":"max_tokens"'), (429, b"status 429: too many")],
    ids=["a refusal ends the reply", "a failure breaks it off"],
)
def test_an_answer_that_is_no_reply(through: Tap, status: int, sent: bytes) -> None:
    through.next_request(possible=True)
    through.take_second_response(status, b'{"error": {"message": "too many"}}')
    assert sent in b"".join(through.late_pieces)
