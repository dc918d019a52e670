"""A page gets its news, and nothing twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from converter.extras.page import open_page
from converter.extras.page.listed import ListRows
from converter.extras.page.open_page import OpenPage
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
def page(there: Watched) -> OpenPage:
    exchanges = ListRows(there.view)
    exchanges.open()
    return OpenPage(exchanges)


def news(page: OpenPage) -> dict[str, Any]:
    return wait(page.next_changes())


def texts(sent: dict[str, Any]) -> list[str]:
    return [part["text"] for part in sent.get("said", [])]


def test_rows_are_sent_once_with_their_age(there: Watched, page: OpenPage) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    sent = news(page)
    [row] = sent["rows"]
    assert row["id"] == flow.id
    assert 0 <= row["age"] < 60
    assert news(page) == {}
    there.view.remove([flow])
    assert news(page)["gone"] == [flow.id]
    assert news(page) == {}


def test_what_is_chosen_is_sent_whole(there: Watched, page: OpenPage) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    news(page)
    page.receive({"choose": [flow.id]})
    assert page.message_came.is_set()
    [sent] = news(page)["chosen"]
    assert (sent["id"], sent["running"]) == (flow.id, False)
    assert sent["reply"]["turns"][0]["parts"][0]["kind"] == "thinking"
    assert news(page) == {}
    page.receive({"choose": [flow.id]})
    assert len(news(page)["chosen"]) == 1


def test_what_is_chosen_and_changes_is_sent_again(there: Watched, page: OpenPage) -> None:
    flow = request(CHAT)
    there.view.add([flow])
    page.receive({"choose": [flow.id]})
    [sent] = news(page)["chosen"]
    assert sent["reply"]["turns"] == []
    there.answer(flow, response(), whole("".join(TAGGED)))
    there.view.update([flow])
    [sent] = news(page)["chosen"]
    assert len(sent["reply"]["turns"]) == 1


def test_a_running_reply_is_sent_as_it_grows(there: Watched, page: OpenPage) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    page.receive({"choose": [flow.id]})
    [sent] = news(page)["chosen"]
    assert (sent["running"], sent["said"]) == (True, [])
    for piece in ("<think>Hm.", " Hm."):
        pass_on(flow, ROLE, *text(piece))
        [sent] = news(page)["chosen"]
        assert texts(sent) == [piece.removeprefix("<think>")]
    assert "chosen" not in news(page)
    pass_on(flow, *text("</think>It"), *END, b"")
    there.end(flow)
    there.view.update([flow])
    [sent] = news(page)["chosen"]
    assert texts(sent) == ["It"]
    assert ["stop", "stop"] in sent["end"]["facts"]
    assert "chosen" not in news(page)


def test_frames_are_sent_in_windows(
    there: Watched, page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_page, "WINDOW", 2)
    flow = streaming(CHAT)
    there.view.add([flow])
    there.answer(flow, response(EVENT_STREAM), *stream(*TAGGED))
    page.receive({"choose": [flow.id]})
    page.receive({"wire": {"id": flow.id, "from": 0}})
    sent = news(page)["wire"]
    assert (sent["from"], len(sent["rows"])) == (0, 2)
    assert "wire" not in news(page)
    page.receive({"wire": {"id": flow.id, "from": 2}})
    assert (news(page)["wire"]["from"], sent["total"]) == (2, len(stream(*TAGGED)))
    page.receive({"wire": None})
    assert "wire" not in news(page)


def test_frames_of_a_running_reply_are_sent_as_they_come(there: Watched, page: OpenPage) -> None:
    flow = streaming(CHAT)
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    pass_on(flow, ROLE)
    page.receive({"wire": {"id": flow.id, "from": -1}})
    assert len(news(page)["wire"]["rows"]) == 1
    assert "wire" not in news(page)
    pass_on(flow, *text("a", "b"))
    sent = news(page)["wire"]
    assert (sent["from"], len(sent["rows"])) == (1, 2)
    pass_on(flow, *END, b"")
    there.end(flow)
    there.view.update([flow])
    sent = news(page)["wire"]
    assert (sent["from"], sent["total"]) == (3, 6)
    assert "wire" not in news(page)
