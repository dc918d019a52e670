"""A page is told what is new for it, and nothing twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from converter.extras.page import watcher
from converter.extras.page.listed import Listed
from converter.extras.page.watcher import Watcher
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response, streaming, wait
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.kept_flows import Watched, pass_on, watched

pytestmark = pytest.mark.slow

TAGGED = ("<think>a</think>", "b")


@pytest.fixture
def there() -> Iterator[Watched]:
    with watched() as there:
        yield there


@pytest.fixture
def page(there: Watched) -> Watcher:
    exchanges = Listed(there.view)
    exchanges.open()
    return Watcher(exchanges)


def news(page: Watcher) -> dict[str, Any]:
    return wait(page.news())


def texts(told: dict[str, Any]) -> list[str]:
    return [part["text"] for part in told.get("said", [])]


def test_rows_are_told_once_with_their_age(there: Watched, page: Watcher) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    told = news(page)
    [row] = told["rows"]
    assert row["id"] == flow.id
    assert 0 <= row["age"] < 60
    assert news(page) == {}
    there.view.remove([flow])
    assert news(page)["gone"] == [flow.id]
    assert news(page) == {}


def test_what_is_chosen_is_told_whole(there: Watched, page: Watcher) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    news(page)
    page.receive({"choose": [flow.id]})
    assert page.wanted.is_set()
    [told] = news(page)["chosen"]
    assert (told["id"], told["running"]) == (flow.id, False)
    assert told["reply"]["turns"][0]["parts"][0]["kind"] == "thinking"
    assert news(page) == {}
    page.receive({"choose": [flow.id]})
    assert len(news(page)["chosen"]) == 1


def test_what_is_chosen_and_changes_is_told_again(there: Watched, page: Watcher) -> None:
    flow = request(CHAT)
    there.view.add([flow])
    page.receive({"choose": [flow.id]})
    [told] = news(page)["chosen"]
    assert told["reply"]["turns"] == []
    there.answer(flow, response(), whole("".join(TAGGED)))
    there.view.update([flow])
    [told] = news(page)["chosen"]
    assert len(told["reply"]["turns"]) == 1


def test_a_running_reply_is_told_as_it_grows(there: Watched, page: Watcher) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    page.receive({"choose": [flow.id]})
    [told] = news(page)["chosen"]
    assert (told["running"], told["said"]) == (True, [])
    for piece in ("<think>Hm.", " Hm."):
        pass_on(flow, ROLE, *text(piece))
        [told] = news(page)["chosen"]
        assert texts(told) == [piece.removeprefix("<think>")]
    assert "chosen" not in news(page)
    pass_on(flow, *text("</think>It"), *END, b"")
    there.end(flow)
    there.view.update([flow])
    [told] = news(page)["chosen"]
    assert texts(told) == ["It"]
    assert ["stop", "stop"] in told["end"]["facts"]
    assert "chosen" not in news(page)


def test_frames_are_told_in_windows(
    there: Watched, page: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "WINDOW", 2)
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    page.receive({"choose": [flow.id]})
    page.receive({"wire": {"id": flow.id, "from": 0}})
    told = news(page)["wire"]
    assert (told["from"], len(told["rows"])) == (0, 2)
    assert "wire" not in news(page)
    page.receive({"wire": {"id": flow.id, "from": 2}})
    assert (news(page)["wire"]["from"], told["total"]) == (2, len(stream(*TAGGED)))
    page.receive({"wire": None})
    assert "wire" not in news(page)


def test_frames_of_a_running_reply_are_told_as_they_come(there: Watched, page: Watcher) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    pass_on(flow, ROLE)
    page.receive({"wire": {"id": flow.id, "from": -1}})
    assert len(news(page)["wire"]["rows"]) == 1
    assert "wire" not in news(page)
    pass_on(flow, *text("a", "b"))
    told = news(page)["wire"]
    assert (told["from"], len(told["rows"])) == (1, 2)
    pass_on(flow, *END, b"")
    there.end(flow)
    there.view.update([flow])
    told = news(page)["wire"]
    assert (told["from"], told["total"]) == (3, 6)
    assert "wire" not in news(page)
