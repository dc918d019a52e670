"""Exchanges outlive mitmweb: kept when they are over, without secrets, and listed again."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.keep.shown_flow import facts_of
from converter.extras.page.conversation import Search
from converter.extras.page.row import row
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response, wait
from tests.support.frames import END, ROLE, text
from tests.support.kept_flows import Watched, pass_on, watched

SECRET = "sk-very-secret-key-0123456789"
BODY = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "How late?"}]}


@contextmanager
def started(path: Path) -> Iterator[Watched]:
    with watched(page=str(path)) as there:
        there.run()
        yield there
        there.unload()


def listed(there: Watched) -> list[HTTPFlow]:
    return [flow for flow in there.view if isinstance(flow, HTTPFlow)]


def ended(there: Watched) -> HTTPFlow:
    head = {"authorization": f"Bearer {SECRET}", "user_agent": "agent/1.2 (of somebody)"}
    flow = request(CHAT, BODY, **head)
    flow.timestamp_created = flow.request.timestamp_start
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    pass_on(flow, ROLE, *text("<think>Five to ten.</think>", "Late."), *END, b"")
    return there.end(flow)


def test_an_exchange_is_listed_at_the_next_start_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with started(path) as there:
        flow = ended(there)
        before = row(flow, None, None)
    with started(path) as there:
        [again] = listed(there)
        after = row(again, None, None)
        match = wait(Search().find(listed(there), "five LATE"))
    assert again.id == flow.id
    assert match == [flow.id]
    same = ("at", "title", "model", "client", "state", "thinking", "text", "input_tokens")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert facts_of(again)["thoughts"] == 1
    assert SECRET not in str(again.get_state())
    assert "of somebody" not in str(again.get_state())


def test_what_is_deleted_does_not_come_back_and_a_cleared_list_does(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with started(path) as there:
        ended(there)
        ended(there)
    with started(path) as there:
        first, second = listed(there)
        there.view.remove([first])
        there.view.clear()
    with started(path) as there:
        assert [flow.id for flow in listed(there)] == [second.id]
        there.view.remove([second])
    with started(path) as there:
        assert listed(there) == []


def test_an_exchange_that_is_deleted_at_once_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with started(path) as there:
        there.view.remove([ended(there)])
    with started(path) as there:
        assert listed(there) == []


def test_a_file_of_something_else_is_reported_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (path := tmp_path / "kept.sqlite").write_text(before := "words, and no database at all " * 40)
    with caplog.at_level(logging.ERROR), started(Path("~/kept.sqlite")) as there:
        ended(there)
    assert f"think_page: expected a file of exchanges, got {path}: " in caplog.text
    assert path.read_text() == before
