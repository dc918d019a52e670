"""A row of the list: what an exchange is at, how long it took and what it cost, at any time."""

import json
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.hooks import tap
from converter.addon.keep.flow_record import UNDER_WAY
from converter.extras.page.row import Row, is_listed, row
from tests.support.addon_flows import CHAT, EVENT_STREAM, MESSAGES, request, response, streaming
from tests.support.frames import END, ROLE, delta, stream, text, whole
from tests.support.kept_flows import Watched, kept, pass_on, saved, watched

CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def of(flow: HTTPFlow, before: Row | None = None) -> Row:
    return row(flow, UNDER_WAY.get(flow.id), before)


def begun(there: Watched) -> HTTPFlow:
    return there.begin(streaming(CHAT), response(EVENT_STREAM))


def test_conversations_are_listed_and_nothing_else() -> None:
    assert is_listed(request(CHAT))
    assert is_listed(request(MESSAGES))
    assert not is_listed(request("/v1/models", b"", "GET"))
    assert not is_listed(request("/v1/messages/count_tokens"))
    assert not is_listed(None)


def test_it_says_what_the_model_is_at() -> None:
    with watched() as there:
        flow = there.ask(streaming(CHAT))
        first = of(flow)
        assert (first["state"], first["running"], first["model"]) == ("waiting", True, "small")
        there.begin(flow, response(EVENT_STREAM))
        rows = [first]
        for piece in (ROLE, *text("<think>Hm", " hm.", "</think>It ", "is.")):
            pass_on(flow, piece)
            rows.append(of(flow, rows[-1]))
        pass_on(flow, delta(tool_calls=[CALL]))
        rows.append(of(flow, rows[-1]))
        assert [each["state"] for each in rows] == [
            "waiting",
            "waiting",
            "thinking",
            "thinking",
            "answering",
            "answering",
            "calling",
        ]
        pass_on(flow, b"".join(END), b"")
        last = of(there.end(flow), rows[-1])
    assert (last["state"], last["running"]) == ("done", False)
    assert (last["input_tokens"], last["output_tokens"], last["thoughts"]) == (7, 5, 1)


def test_it_rests_in_its_state_while_nothing_comes() -> None:
    with watched() as there:
        flow = begun(there)
        pass_on(flow, ROLE, *text("<think>Hm"))
        first = of(flow)
        assert of(flow, first) == first
        there.break_off(flow, "Client disconnected")


def test_what_is_asked_again_begins_anew() -> None:
    with watched() as there:
        flow = there.ask(streaming(CHAT))
        before = {**of(flow), "running": False, "state": "done", "thinking": 999}
        there.begin(flow, response(EVENT_STREAM))
        assert of(flow, before)["state"] == "waiting"
        pass_on(flow, ROLE, *text("<think>Hm"))
        assert of(flow, before)["state"] == "thinking"
        there.break_off(flow, "Client disconnected")
    flow.is_replay = "request"
    assert of(flow)["again"] is True
    flow.is_replay = "response"  # mitmproxy has given an old reply
    assert of(flow)["again"] is False


def test_its_times_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as there:
        flow = begun(there)
        clock = [flow.request.timestamp_start + 10]
        monkeypatch.setattr(tap, "time", lambda: clock[0])
        pass_on(flow, ROLE, *text("<think>Hm"))
        clock[0] += 5
        pass_on(flow, *text("</think>It"))
        clock[0] += 2
        pass_on(flow, *END, b"")
        made = of(there.end(flow))
    assert made["waited"] == pytest.approx(10)
    assert made["thought"] == pytest.approx(5)
    assert made["end"] == pytest.approx(17)


def test_a_whole_reply_is_waited_for() -> None:
    made = of(kept(request(CHAT), response(), whole("<think>a</think>b")))
    assert made["waited"] == made["end"]
    assert made["thought"] == 0.0


FAILURES: dict[str, tuple[tuple[Any, ...], str]] = {
    "the server refuses": ((response(status=404), b"{}"), "status 404"),
    "it says so in the stream": (
        (response(EVENT_STREAM), ROLE, b'data: {"error":{"message":"full"}}\n\n'),
        "full",
    ),
    "it stops in the middle": ((response(EVENT_STREAM), ROLE, *text("It")), "cut short"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_broken_one_says_why(name: str) -> None:
    sent, words = FAILURES[name]
    made = of(kept(streaming(CHAT), *sent))
    assert made["state"] == "broken"
    assert words in str(made["failure"])


@pytest.mark.parametrize(("pieces", "state"), [((), "broken"), (END, "done")])
def test_a_client_that_leaves_after_the_end_breaks_nothing(pieces: list[bytes], state: str) -> None:
    with watched() as there:
        flow = begun(there)
        pass_on(flow, ROLE, *text("It is."), *pieces)
        there.break_off(flow, "Client disconnected.")
    assert of(flow)["state"] == state


def test_one_of_a_file_has_the_same_row() -> None:
    flow = kept(streaming(CHAT), response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    assert of(saved(flow)) == of(flow)


def test_one_that_the_addon_has_not_kept_has_one_as_well() -> None:
    flow = request(CHAT, user_agent="curl/8.1 (x)")
    flow.live = False
    flow.response = response(EVENT_STREAM)
    flow.response.timestamp_start = flow.request.timestamp_start + 1
    flow.response.timestamp_end = flow.request.timestamp_start + 3
    made = of(flow)
    assert (made["state"], made["client"], made["waited"], made["end"]) == (
        "done",
        "curl/8.1",
        1,
        3,
    )


def test_long_words_are_cut() -> None:
    flow = request(CHAT, {"model": "m" * 9999, "messages": []}, user_agent="u" * 9999)
    made = of(flow)
    assert len(json.dumps(made)) < 3000


def test_a_row_is_titled_by_the_questions_first_words() -> None:
    turns = [
        {"role": "user", "content": "What is\n12 * 7?"},
        {"role": "assistant", "content": "84"},
        {"role": "user", "content": "<system-reminder>be brief</system-reminder>"},
    ]
    asked = request(CHAT, json.dumps({"model": "small", "messages": turns}).encode())
    assert of(asked)["title"] == "What is 12 * 7?"
    assert of(request(CHAT, b"no JSON"))["title"] == ""


def test_what_a_client_adds_in_tags_is_no_title() -> None:
    words = "What is 2 < 3?\n  <system-reminder>\nSay nothing.\n</system-reminder>"
    asked = request(CHAT, {"messages": [{"role": "user", "content": words}]})
    assert of(asked)["title"] == "What is 2 < 3?"


def test_a_misread_reply_has_a_state_of_its_own() -> None:
    with watched() as there:
        flow = begun(there)
        pass_on(flow, b"".join(stream("<mythink>Hm.</mythink>It is.")), b"")
        assert of(there.end(flow))["state"] == "misread"
