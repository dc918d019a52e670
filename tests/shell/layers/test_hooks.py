"""Hooks called by us: the same addons, in the same order, with the same care, as by mitmproxy."""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.addonmanager import AddonManager
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers.http._hooks import HttpRequestHook
from mitmproxy.proxy.server import TimeoutWatchdog
from mitmproxy.test import taddons, tflow

from converter.shell.layers.hooks import HookCaller, UnfinishedHook, tell
from tests.support.proxy_core import Core


class Named:
    """An addon that notes its calls; `does` is what else it does then."""

    def __init__(self, name: str, calls: list[str], does: Callable[[], object] | None = None):
        self.name, self.calls, self.does = name, calls, does

    def request(self, _: object) -> object:
        self.calls.append(self.name)
        return self.does() if self.does else None


class Silent:
    """An addon without the hook."""

    def __init__(self, name: str = "silent") -> None:
        self.name = name


class Waits(Named):
    """An addon whose hook is over when the event is set."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__("waits", calls)
        self.event = asyncio.Event()

    async def request(self, _: object) -> None:
        self.calls.append("begins")
        await self.event.wait()
        self.calls.append("ends")


class Notes:
    """An addon that notes updates."""

    name = "notes"

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def update(self, flows: list[object]) -> None:
        self.calls.append(f"update {len(flows)}")


def fails() -> None:
    raise RuntimeError("of no use")


def halts() -> None:
    raise exceptions.AddonHalt


async def later(calls: list[str]) -> None:
    await asyncio.sleep(0)
    calls.append("later")


def several(calls: list[str]) -> list[object]:
    """Addons of all kinds."""
    outer = Named("outer", calls)
    outer.addons = [Named("inner", calls), Silent("within")]  # type: ignore[attr-defined]
    module = Silent("module")
    module.request = logging  # type: ignore[attr-defined]
    return [
        Silent(),
        outer,
        Named("fails", calls, fails),
        module,
        Named("later", calls, lambda: later(calls)),
        Named("halts", calls, halts),
        Named("never", calls),
    ]


class Handler:
    """As much of mitmproxy's connection handler as calls hooks."""

    def __init__(self) -> None:
        async def never() -> None: ...

        self.timeout_watchdog = TimeoutWatchdog(600, never)
        self.handle_hook: Any = None


async def by_mitmproxy(addons: AddonManager, hook: commands.StartHook) -> None:
    await addons.trigger_event(hook)


async def by_us(_: AddonManager, hook: commands.StartHook) -> None:
    await tell(hook)


@pytest.mark.parametrize("way", [by_mitmproxy, by_us])
async def test_the_same_addons_are_called_in_the_same_order(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    with taddons.context(*several(calls)) as context:
        await way(context.master.addons, HttpRequestHook(tflow.tflow()))
    assert calls == ["outer", "inner", "fails", "later", "later", "halts"]
    assert caplog.text.count("Addon error: of no use") == 1


async def test_an_addon_that_comes_later_is_called_and_one_that_went_is_not() -> None:
    calls: list[str] = []
    with taddons.context(Named("first", calls)) as context:
        addons, hook = context.master.addons, HttpRequestHook(tflow.tflow())
        await tell(hook)
        second = Named("second", calls)
        addons.add(second)
        await tell(hook)
        addons.remove(second)
        await tell(hook)
    assert calls == ["first", "first", "second", "first"]


async def test_an_error_of_options_is_not_caught() -> None:
    def refuses() -> None:
        raise exceptions.OptionsError("no such value")

    with taddons.context(Named("refuses", [], refuses)), pytest.raises(exceptions.OptionsError):
        await tell(HttpRequestHook(tflow.tflow()))


def exchange(flow: object, calls: list[str]) -> Generator[Any, Any, None]:
    """A layer's work around a hook."""
    calls.append(str((yield commands.Log("before"))))
    calls.append(str((yield HttpRequestHook(flow))))  # type: ignore[arg-type]
    yield commands.Log("behind")


def names(commands_: Iterator[object]) -> list[str]:
    return [type(command).__name__ for command in commands_]


async def test_a_hook_in_which_nobody_waits_is_over_at_once() -> None:
    calls: list[str] = []
    with taddons.context(Named("quick", calls), Notes(calls)):
        caller = HookCaller(Handler())
        assert names(caller.through(exchange(tflow.tflow(), calls))) == ["Log", "Log"]
    assert calls == ["None", "quick", "update 1", "None"]


async def test_an_exchange_waits_for_a_hook_that_waits() -> None:
    calls: list[str] = []
    waits, handler = Waits(calls), Handler()
    with taddons.context(waits, Notes(calls)):
        going = HookCaller(handler).through(exchange(tflow.tflow(), calls))
        assert names(iter([next(going), going.send("told")])) == ["Log", "UnfinishedHook"]
        assert calls == ["told", "begins"]
        assert not handler.timeout_watchdog.can_timeout.is_set()


async def test_what_an_unfinished_hook_waits_for_ends_with_the_hook() -> None:
    calls: list[str] = []
    waits = Waits(calls)
    with taddons.context(waits, Notes(calls)):
        going = HookCaller(Handler()).through(exchange(tflow.tflow(), calls))
        next(going)
        unfinished = going.send(None)
        assert isinstance(unfinished, UnfinishedHook)
        assert unfinished.blocking
        waits.event.set()
        await unfinished.task
        assert calls == ["None", "begins", "ends", "update 1"]
        assert type(going.send(None)) is commands.Log


async def test_a_flow_that_a_person_holds_is_waited_for() -> None:
    flow, calls = tflow.tflow(), list[str]()
    with taddons.context(Named("holds", calls, flow.intercept)):
        going = HookCaller(Handler()).through(exchange(flow, calls))
        next(going)
        unfinished = going.send(None)
        assert isinstance(unfinished, UnfinishedHook)
        flow.resume()
        await unfinished.task


async def test_the_hooks_of_connections_take_the_same_way() -> None:
    calls: list[str] = []
    handler = Handler()
    with taddons.context(Named("quick", calls)):
        HookCaller(handler)
        await handler.handle_hook(HttpRequestHook(tflow.tflow()))
    assert calls == ["quick"]


async def test_a_hook_of_a_layer_within_goes_on_to_mitmproxy() -> None:
    """A WebSocket's waits for an event, which only mitmproxy sends."""
    calls: list[str] = []
    hook = HttpRequestHook(tflow.tflow())
    hook.blocking = Core().layer  # type: ignore[assignment]  # as mitmproxy does

    def within() -> Generator[Any, Any, None]:
        yield hook

    with taddons.context(Named("one", calls)):
        assert list(HookCaller(Handler()).through(within())) == [hook]
    assert calls == []
