"""Thoughts reach who listens; what a person should know is a log line and a few words of a comment."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from mitmproxy.test import taddons

from converter.addon.exchange import settings
from converter.addon.log_lines import report
from converter.core.reply.thought_events import ThoughtEvent
from converter.extras.watch import thought_hook
from converter.extras.watch.thought_hook import AT_A_TIME, ThoughtEvents
from tests.support.addon_flows import CHAT, EVENT_STREAM, part_of, request, response, streaming
from tests.support.frames import stream
from tests.support.kept_flows import Watched, pass_on, watched
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


class Listener:
    def __init__(self) -> None:
        self.received: list[ThoughtEvent] = []

    def thought(self, event: ThoughtEvent) -> None:
        self.received.append(event)


def exchanged(there: Watched) -> None:
    flow = there.begin(streaming(), response(EVENT_STREAM))
    pass_on(flow, *stream("<think>a</think>", "b"), b"")
    there.end(flow)


def test_any_addon_hears_of_thoughts_and_so_does_the_file(tmp_path: Path) -> None:
    path, listener = tmp_path / "events.jsonl", Listener()
    with watched(events=str(path)) as there:
        there.add(listener)
        exchanged(there)
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert (
        [event["thought"] for event in listener.received]
        == [event["thought"] for event in written]
        == ["a"]
    )


def test_thoughts_come_in_their_order_and_are_passed_on_to_nobody_where_nobody_listens() -> None:
    listener, many = Listener(), [f"<think>{number}</think>b" for number in range(50)]
    with watched() as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        pass_on(flow, b"".join(stream(*many)))
        assert not part_of(there.addon, ThoughtEvents)._tasks
        there.add(listener)
        pass_on(flow, b"".join(stream(*many)), b"")
        there.end(flow)
    assert [event["thought"] for event in listener.received] == [
        str(number) for number in range(50)
    ]


class SlowListener(Listener):
    async def thought(self, event: ThoughtEvent) -> None:  # type: ignore[override]  # either may be
        for _ in range(1 if self.received else 9):
            await asyncio.sleep(0)
        self.received.append(event)


@pytest.mark.parametrize("listener", [Listener(), SlowListener()])
def test_many_thoughts_are_passed_on_in_order_and_the_loop_runs_on(listener: Listener) -> None:
    teller, turns = ThoughtEvents(settings.read), list[int]()
    thoughts: list[ThoughtEvent] = [{"taskId": "a", "thought": at} for at in range(5 * AT_A_TIME)]

    async def pass_on() -> None:
        teller.call_hooks(thoughts[:-2])
        teller.call_hooks(thoughts[-2:])
        teller.call_hooks([{"taskId": "b", "thought": "of another"}])
        while teller._tasks:
            turns.append(len(listener.received))
            await asyncio.sleep(0)

    with taddons.context(listener):
        asyncio.run(pass_on())
    assert [event for event in listener.received if event["taskId"] == "a"] == thoughts
    assert len(set(turns)) > len(thoughts) // AT_A_TIME
    assert {"taskId": "b", "thought": "of another"} in listener.received[: 2 * AT_A_TIME]


def test_a_listener_that_hangs_gets_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thought_hook, "MOST_HOOKS", 2)
    listener = Listener()
    with watched() as there:
        there.add(listener)
        flow = there.begin(streaming(), response(EVENT_STREAM))
        for number in range(5):  # in one turn of the loop: none of the calls is over
            pass_on(flow, *stream(f"<think>{number}</think>b")[:-2])
        assert len(part_of(there.addon, ThoughtEvents)._tasks) == 2
        pass_on(flow, b"")
        there.end(flow)


def test_a_file_that_cannot_be_written_costs_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with watched(events=str(tmp_path / "events")) as there:
        (tmp_path / "events").mkdir()
        exchanged(there)
    assert "think_events" in caplog.text


NOTES = ROWS["notes"]


@pytest.mark.parametrize(("thoughts", "short", "line"), NOTES.values(), ids=NOTES)
def test_notes_are_short(
    thoughts: list[str], short: list[str], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert report(request(f"{CHAT}?key=secret").request, thoughts) == short
    assert [record.getMessage() for record in caplog.records] == (
        [f"think: POST {CHAT}: {line}"] if line else []
    )


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    file = tmp_path / "events"
    os.mkfifo(file)
    return file


def test_a_pipe_that_nobody_reads_holds_nothing_up(
    pipe: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with watched(events=str(pipe)) as there:
        exchanged(there)
    assert "think_events: [Errno 6]" in caplog.text
