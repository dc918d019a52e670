"""Requests that clients make for themselves, in the words of each client."""

import pytest

from converter.core.model.housekeeping import (
    COMPACTION,
    TITLE,
    goes_on_from_summary,
    housekeeping_of,
)

USER_TURN = {"role": "user", "content": "Mend it"}
REPLY = {"role": "assistant", "content": "Hm"}


def user(content: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": content}]}


@pytest.mark.parametrize(
    ("body", "wish"),
    [
        ({"messages": [user("<session>\nMend it\n</session>\n\nWrite the title.")]}, TITLE),
        ({"system": "Generate a concise, sentence-case title (3-7 words)", "messages": [USER_TURN]}, TITLE),
        ({"input": [user("Generate a concise, single-line task title of at most 40")]}, TITLE),
        ({"messages": [{"role": "system", "content": "You are a title generator."}, USER_TURN]}, TITLE),
        ({"messages": [user("Given the following... please reply with a title for the chat that is")]}, TITLE),
        ({"messages": [user("Generate a short title for my book")], "tools": [{"name": "f"}]}, ""),
        ({"messages": [USER_TURN, REPLY, user("Your task is to create a detailed summary of it")]}, COMPACTION),
        ({"input": [USER_TURN, REPLY, user("You are performing a CONTEXT CHECKPOINT COMPACTION.")]}, COMPACTION),
        ({"messages": [user("Your task is to create a detailed summary of this paper")]}, ""),
        ({"input": [USER_TURN, REPLY, {"type": "compaction_trigger"}]}, COMPACTION),
        ({"messages": [USER_TURN, REPLY, USER_TURN]}, ""),
        ({"messages": 5, "system": 7}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_wish_is_reported(body: dict[str, object], wish: str) -> None:
    assert housekeeping_of(body) == wish


def test_the_endpoint_tells_a_compaction() -> None:
    assert housekeeping_of({"input": [USER_TURN]}, "/v1/responses/compact?x=1") == COMPACTION


def test_a_summary_that_is_handed_on_is_recognised() -> None:
    summary = "This session is being continued from a previous conversation that ran out of room."
    assert goes_on_from_summary(user(summary))
    assert goes_on_from_summary({"type": "compaction", "encrypted_content": "x"})
    assert not goes_on_from_summary(USER_TURN)
    assert not goes_on_from_summary(None)
