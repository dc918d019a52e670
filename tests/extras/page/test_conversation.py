"""One exchange as the page shows it: what the client got, not what could be read of it; and what
the addon did about it.
"""

import asyncio
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.hooks.refused_request import METADATA
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.keep.side_reader import SideReader
from converter.addon.transcript.shown import news_json as values
from converter.extras.page.conversation import Search, exchange_values, final_values
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    request,
    response,
    streaming,
)
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.kept_flows import kept, pass_on, saved, watched

THOUGHT, ANSWER = "I add them.", "It is 5."
TAGGED = (f"<think>{THOUGHT}</think>", ANSWER)


def of(flow: HTTPFlow) -> dict[str, Any]:
    return exchange_values(flow, running=False)


def parts_of(shown: dict[str, Any]) -> list[tuple[str, str]]:
    parts = [part for turn in shown["reply"]["turns"] for part in turn["parts"]]
    return [(part["kind"], part["text"]) for part in parts]


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_request_and_reply_are_shown(path: str) -> None:
    flow = kept(streaming(path), response(EVENT_STREAM), *stream(*TAGGED))
    for shown in (of(flow), of(saved(flow))):
        assert shown["request"]["turns"][0]["parts"][0]["text"] == "Hi"
        assert parts_of(shown) == [("thinking", THOUGHT), ("text", ANSWER)]
        assert any("7 in, 5 out" in fact for _, fact in shown["reply"]["facts"])
        assert (shown["kept"], shown["status"], shown["ended"]) == (True, "", "")


def test_a_reply_that_the_addon_has_not_written_is_read() -> None:
    flow = request(CHAT)
    flow.response = response(EVENT_STREAM)
    flow.response.content = b"".join(stream(*TAGGED))
    shown = of(flow)
    assert parts_of(shown) == [("thinking", THOUGHT), ("text", ANSWER)]
    assert shown["kept"] is False


def test_an_error_is_shown_as_the_client_saw_it() -> None:
    body = b'{"error": {"message": "no such model", "type": "not_found"}}'
    shown = of(kept(request(MESSAGES), response(status=404), body))
    assert ("error", "no such model") in parts_of(shown)
    assert shown["status"].startswith("404")


def test_thinking_that_the_client_wants_omitted_is_withheld() -> None:
    body = {**BASIC, "stream": True, "thinking": {"type": "adaptive", "display": "omitted"}}
    flow = kept(request(MESSAGES, body), response(EVENT_STREAM), *stream(*TAGGED))
    shown = of(flow)
    assert ("thinking", THOUGHT) not in parts_of(shown)
    assert shown["withheld"] == [THOUGHT]
    assert any(note.startswith("Withheld") for note in shown["notes"])


def test_a_running_reply_is_followed_to_its_end() -> None:
    with watched() as there:
        flow = there.begin(streaming(CHAT), response(EVENT_STREAM))
        running = RUNNING_RECORDS[flow.id]
        shown = exchange_values(flow, running=True)
        assert (shown["running"], parts_of(shown)) == (True, [])
        follower = SideReader(running)
        assert follower.news() == []
        pass_on(flow, ROLE, *text("<think>I add", " them."))
        [part] = values(follower.news())
        assert (part["kind"], part["text"], part["fresh"]) == ("thinking", THOUGHT, True)
        pass_on(flow, *text(" Yes."))
        [part] = values(follower.news())
        assert (part["text"], part["fresh"]) == (" Yes.", False)
        pass_on(flow, *text("</think>It"), *END, b"")
        there.end(flow)
        assert [part["kind"] for part in values(follower.close())] == ["text"]
        ended = final_values(flow, follower.transcript())
    assert ["stop", "stop"] in ended["facts"]
    assert ended["kept"] is True


def test_both_requests_are_shown_where_the_server_refused_one() -> None:
    flow = kept(request(MESSAGES), response(), whole("It is 5."))
    assert of(flow)["reply"]["beside"] == []
    flow.metadata[METADATA] = '{"tools": 1}'
    fields = {part["name"]: part["text"] for part in of(flow)["reply"]["beside"]}
    assert '"tools": 1' in fields["refused by the server"]
    assert '"messages"' in fields["sent again"]


@pytest.fixture(scope="module")
def flows() -> list[HTTPFlow]:
    parts_of = {"Where is Oslo?": ("<think>Nor", "way</think>", "ÜBER there"), "Hi": ("hel", "lo")}
    kept_flows = [
        kept(
            request(CHAT, {**BASIC, "messages": [{"role": "user", "content": question}]}),
            response(EVENT_STREAM),
            *stream(*pieces),
        )
        for question, pieces in parts_of.items()
    ]
    for flow in kept_flows:
        flow.live = False
    return kept_flows


def find(flows: list[HTTPFlow], query: str, using: Search | None = None) -> list[int]:
    matched = asyncio.run((using or Search()).find(flows, query))
    return [number for number, flow in enumerate(flows) if flow.id in matched]


def test_every_word_must_match(flows: list[HTTPFlow]) -> None:
    it = {"oslo": [0], "norway": [0], "über THERE": [0], "hello": [1], "oslo hello": [], "": [0, 1]}
    assert {query: find(flows, query) for query in it} == it


@pytest.mark.parametrize(("start", "is_noted"), [("thinking", False), ("auto", True)])
def test_a_guessed_beginning_is_noted(start: str, is_noted: bool) -> None:
    body = {**BASIC, "stream": True, "model": "QwQ-32B"}
    flow = kept(request(CHAT, body), response(EVENT_STREAM), *stream("a</think>b"), start=start)
    assert any(note.startswith("Guessed") for note in of(flow)["notes"]) is is_noted


@pytest.mark.parametrize(("times", "is_noted"), [(1, False), (2, True)])
def test_a_thought_that_comes_a_third_time_is_noted(times: int, is_noted: bool) -> None:
    went = {"role": "assistant", "content": "x", "reasoning_content": "Round and\nround."}
    message = {"role": "user", "content": "Go on"}
    body = {"model": "small", "stream": True, "messages": [message, *[went, message] * times]}
    frames = stream("<think>Round and round.</think>", "Yes")
    flow = kept(request(CHAT, body), response(EVENT_STREAM), *frames)
    line = "The model has had this thought 3 times in this conversation."
    assert (line in of(flow)["notes"]) is is_noted
