"""A transcript as plain values: every part has its kind and its text, and JSON can be made of it."""

import json

import pytest
from hypothesis import given

from converter.addon.transcript import request, shown
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.turns import Field, Part, Raw, ShownTurn, Transcript
from converter.core.model.conversation import TextBlock, ThinkingBlock
from tests.support.rows import rows_of
from tests.support.transcript_samples import CONTENT

ROWS = rows_of(__file__)

PARTS: tuple[tuple[Part, dict[str, object]], ...] = ROWS["parts"]


@pytest.mark.parametrize(("part", "values"), PARTS, ids=lambda case: type(case).__name__)
def test_each_part_has_its_kind_and_text(part: Part, values: dict[str, object]) -> None:
    assert shown.part_json(part) == values


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
def test_a_picture_that_came_along_can_be_shown(kind: str) -> None:
    url = f"data:image/{kind};base64,AAAA"
    body = {"messages": [{"role": "user", "content": [_image(url)]}]}
    [turn] = request.read(json.dumps(body).encode()).turns
    assert [shown.part_json(part) for part in turn.parts] == [
        {"kind": "media", "text": f"image image/{kind} 3 B", "source": url}
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/a.png",
        "data:image/svg+xml;base64,AAAA",
        "data:text/html;base64,AAAA",
        "data:image/png;base64," + "A" * 8_000_001,
    ],
    ids=["elsewhere", "svg", "html", "large"],
)
def test_no_other_picture_is(url: str) -> None:
    body = {"messages": [{"role": "user", "content": [_image(url)]}]}
    [turn] = request.read(json.dumps(body).encode()).turns
    [part] = turn.parts
    assert "source" not in shown.part_json(part)


def _image(url: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url}}


def test_news_say_whose_they_are_and_whether_they_go_on() -> None:
    news = [
        News(ThinkingBlock("a")),
        News(ThinkingBlock("b"), fresh=False),
        News(TextBlock("c"), choice=1),
        News(Raw("d")),
    ]
    values = [
        (part["kind"], part["text"], part["choice"], part["fresh"])
        for part in shown.news_json(news)
    ]
    assert values == [
        ("thinking", "a", 0, True),
        ("thinking", "b", 0, False),
        ("text", "c", 1, True),
        ("raw", "d", 0, True),
    ]


def test_a_transcript_has_its_settings_its_turns_and_how_it_ended() -> None:
    whole = Transcript(
        (ShownTurn("user", (TextBlock("hi"),)),),
        {"model": "small", "n": 2},
        {"finish": "stop"},
        ("odd",),
        (Field("timings", 1),),
    )
    assert shown.transcript_json(whole, {"end": 1.0}) == {
        "asked": [["model", "small"], ["n", "2"]],
        "turns": [{"role": "user", "choice": 0, "parts": [shown.part_json(TextBlock("hi"))]}],
        "facts": [["stop", "stop"], ["times", "end 1.00 s"]],
        "beside": [{"kind": "field", "name": "timings", "text": "1"}],
        "rest": [{"kind": "raw", "text": "odd"}],
    }


@given(CONTENT)
def test_json_can_be_written_of_anything(content: object) -> None:
    body = {"messages": [{"role": "user", "content": content}]}
    written = json.dumps(body).encode()
    json.dumps(shown.transcript_json(request.read(written)))
