"""A view reads and draws a named amount, in a form that can be read, and says what it leaves out."""

import pytest

from converter.addon.transcript import reply
from converter.core.model.conversation import TextBlock, ThinkingBlock
from converter.extras.watch import views as module
from converter.extras.watch.views import LINES_LIMIT, TEXT_LIMIT, readable_beginning, shorten_text
from tests.support.frames import stream, whole


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAM_LIMIT", 3000)
    monkeypatch.setattr(module, "WHOLE_LIMIT", 3000)


def parts_of(body: bytes) -> list[object]:
    read = reply.read(body)
    assert read.rest == ()
    return [part for turn in read.turns for part in turn.parts]


def test_a_short_body_is_left_as_it_is() -> None:
    body = whole("<think>deep</think>Hello")
    assert readable_beginning(body) is body


def test_a_stream_is_cut_between_two_frames() -> None:
    body = b"".join(stream("<think>deep</think>", *("word " for _ in range(1000))))
    begun = readable_beginning(body)
    assert len(begun) <= 3000
    assert body.startswith(begun)
    thinking, text = parts_of(begun)
    assert thinking == ThinkingBlock("deep")
    assert isinstance(text, TextBlock)
    assert text.text.startswith("word word word")


@pytest.mark.parametrize("content", ["é" * 9000, 'a "quoted" \\ ' * 900])
def test_a_whole_body_is_closed_where_it_is_cut(content: str) -> None:
    begun = readable_beginning(whole(f"<think>deep</think>{content}"))
    assert len(begun) < 3100
    thinking, text = parts_of(begun)
    assert thinking == ThinkingBlock("deep")
    assert isinstance(text, TextBlock)
    assert content.startswith(text.text)


@pytest.mark.parametrize(
    "body", [b"{nonsense" * 900, b"x" * 9000, b"[1]" * 3000, b'{"a": 1}' * 900]
)
def test_what_is_no_reply_is_cut(body: bytes) -> None:
    assert len(readable_beginning(body)) <= 3000 + 10


def test_numbers_without_end_are_cut() -> None:
    assert len(readable_beginning(b'{"a": ' + b"7" * 2_000_000)) <= 3010


def test_a_long_text_keeps_both_its_ends() -> None:
    lines = [f"line {number}" for number in range(100_000)]
    shown = shorten_text("\n".join(lines) + "\n")
    assert len(shown) < TEXT_LIMIT + 100
    assert shown.startswith("line 0\nline 1\n")
    assert shown.endswith("line 99998\nline 99999\n")
    assert shown.count(" characters are left out here. ") == 1
    assert shown.count("\n") < LINES_LIMIT + 2
    assert shorten_text("short") == "short"


def test_a_text_of_long_lines_keeps_both_its_ends() -> None:
    lines = [f"line {number} " + "x" * 60 for number in range(10_000)]
    shown = shorten_text("\n".join(lines) + "\n")
    assert len(shown) < TEXT_LIMIT + 100
    assert shown.startswith("line 0 x")
    assert shown.splitlines()[-1] == lines[-1]
