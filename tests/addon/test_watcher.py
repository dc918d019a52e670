"""Watchers: each hears of each exchange, in order, whatever another does."""

from collections.abc import Sequence

import pytest

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.watcher import Watcher, Watchers
from converter.core.model.events import Event, Text
from tests.support.addon_flows import (
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    answer,
    ask,
    request,
    response,
    running,
    streaming,
)
from tests.support.frames import stream, whole


class Noted(Watcher):
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.text = ""

    def asked(self, seen: FlowRecord) -> None:
        self.calls.append(("asked", seen.flow.id))

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        assert seen.flow.id
        self.text += "".join(event.text for event in events if isinstance(event, Text))

    def ended(self, seen: FlowRecord) -> None:
        self.calls.append(("ended", seen.flow.id))


class Failing(Watcher):
    def asked(self, seen: FlowRecord) -> None:
        raise RuntimeError(seen.flow.id)

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        raise RuntimeError(seen.flow.id, events)

    def ended(self, seen: FlowRecord) -> None:
        raise RuntimeError(seen.flow.id)


class Deaf(Watcher):
    """Hears nothing."""


@pytest.mark.parametrize("streams", [True, False])
def test_each_exchange_ends_once_and_a_fault_costs_no_other_watcher_anything(
    streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    noted = Noted()
    with running() as (addon, _):
        addon._watchers = addon._replies._watchers = Watchers([Failing(), Deaf(), noted])
        flow = ask(addon, streaming() if streams else request(MESSAGES))
        sent = b"".join(stream("b", "c")) if streams else whole("bc")
        answer(addon, flow, response(EVENT_STREAM) if streams else response(), sent)
    assert noted.calls == [("asked", flow.id), ("ended", flow.id)]
    assert noted.text == "bc"
    assert "a watcher failed" in caplog.text


def test_a_refusal_is_an_end_and_the_addons_own_answers_reach_no_watcher() -> None:
    noted = Noted()
    with running() as (addon, _):
        addon._watchers = addon._replies._watchers = Watchers([noted])
        flow = ask(addon, request(CHAT))
        answer(addon, flow, response(status=400), b"{}")
        assert noted.calls == [("asked", flow.id), ("ended", flow.id)]
        refused = ask(addon, request(MESSAGES, b"{"))
        assert refused.response
    assert len(noted.calls) == 2
