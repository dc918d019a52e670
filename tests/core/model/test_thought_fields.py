"""Names of thinking: one list, which readers of replies and of requests share."""

import pytest

from converter.core.dialects.reasoning_fields import REASONING_FIELDS
from converter.core.model.raw_messages import fingerprint_of, texts_in
from converter.core.model.thought_fields import FIELDS, PARTS


def test_every_field_is_read_in_a_reply() -> None:
    assert [*REASONING_FIELDS] == [*FIELDS]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_no_text_by_which_a_message_is_matched(name: str) -> None:
    message = {"role": "assistant", "content": "Hi"}
    assert [*texts_in({name: "hm"})] == [(True, "hm")]
    assert fingerprint_of({**message, name: "hm"}) == fingerprint_of(message)


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_is_no_text_by_which_a_message_is_matched(kind: str) -> None:
    parts = [{"type": kind, "text": "hm"}, {"type": "text", "text": "Hi"}]
    assert fingerprint_of({"role": "assistant", "content": parts}) == fingerprint_of(
        {"role": "assistant", "content": "Hi"}
    )
