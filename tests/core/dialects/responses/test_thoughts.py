from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.responses.thoughts import MARK, decode, encode, native_request


@given(st.text())
def test_a_thought_comes_back_as_it_was(text: str) -> None:
    assert decode(encode(text)) == text


def test_what_others_encrypted_is_none_of_ours() -> None:
    assert decode("gAAAAAB") is None


def test_what_was_damaged_on_the_wire_is_none() -> None:
    assert decode(MARK + "!!") is None


SUMMARY = [{"type": "summary_text", "text": "why"}]
RAW = [{"type": "reasoning_text", "text": "why"}]


def mended(**fields: Any) -> Any:
    body = native_request({"model": "m", "input": [{"type": "reasoning", "id": "rs", **fields}]})
    return body["input"][0]  # type: ignore[index]


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": []}])
def test_a_thought_kept_as_its_summary_has_its_raw_text_again(content: dict[str, Any]) -> None:
    assert mended(summary=SUMMARY, **content)["content"] == RAW


def test_a_thought_sealed_here_is_opened_for_the_server() -> None:
    item = mended(summary=[], encrypted_content=encode("why"))
    assert item == {"type": "reasoning", "id": "rs", "summary": [], "content": RAW}


def test_a_seal_of_the_servers_own_stays() -> None:
    assert mended(summary=SUMMARY, encrypted_content="gAAA")["encrypted_content"] == "gAAA"


@pytest.mark.parametrize(
    "body",
    [
        {"input": "hi"},
        {},
        {"input": [{"role": "user", "content": "hi"}, "odd"]},
        {"input": [{"type": "reasoning", "summary": SUMMARY, "content": RAW}]},
        {"input": [{"type": "reasoning", "summary": []}]},
    ],
)
def test_what_needs_no_mending_is_the_same_request(body: dict[str, Any]) -> None:
    assert native_request(body) is body
