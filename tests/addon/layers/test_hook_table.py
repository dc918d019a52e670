"""The table of hooks: the same addons, in the same order, with the same care, as by mitmproxy."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.addonmanager import AddonManager
from mitmproxy.log import AddLogHook, LogEntry
from mitmproxy.proxy.layers.http._hooks import HttpRequestHook
from mitmproxy.test import taddons, tflow

from converter.addon.layers.hook_table import TABLE, HookTable, install


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


async def by_mitmproxy(addons: AddonManager, hook: HttpRequestHook) -> None:
    await addons.trigger_event(hook)


async def by_the_table(addons: AddonManager, hook: HttpRequestHook) -> None:
    install(addons)
    await addons.trigger_event(hook)


@pytest.mark.parametrize("call", [by_mitmproxy, by_the_table])
async def test_the_same_addons_are_called_in_the_same_order(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    with taddons.context(*several(calls)) as context:
        await call(context.master.addons, HttpRequestHook(tflow.tflow()))
    assert calls == ["outer", "inner", "fails", "later", "later", "halts"]
    assert caplog.text.count("Addon error: of no use") == 1


@pytest.mark.parametrize("dispatch", [by_mitmproxy, by_the_table])
async def test_a_hook_that_is_no_function_is_reported_and_costs_no_other(
    dispatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    wrong = Silent("wrong")
    wrong.request = "words"  # type: ignore[attr-defined]
    with taddons.context(wrong, Named("right", calls)) as context:
        await dispatch(context.master.addons, HttpRequestHook(tflow.tflow()))
    assert calls == ["right"]
    assert "not callable" in caplog.text


async def test_an_addon_that_comes_later_is_called_and_one_that_went_is_not() -> None:
    calls: list[str] = []
    with taddons.context(Named("first", calls)) as context:
        addons, hook = context.master.addons, HttpRequestHook(tflow.tflow())
        await TABLE.trigger_event(hook)
        second = Named("second", calls)
        addons.add(second)
        await TABLE.trigger_event(hook)
        addons.remove(second)
        await TABLE.trigger_event(hook)
    assert calls == ["first", "first", "second", "first"]


async def test_a_log_line_reaches_who_hears_it_and_asks_nobody_else() -> None:
    entries: list[LogEntry] = []
    lookups: list[str] = []

    class Listener:
        def add_log(self, entry: LogEntry) -> None:
            entries.append(entry)

    class Curious:
        def __getattr__(self, name: str) -> object:
            lookups.append(name)
            raise AttributeError(name)

    with taddons.context(Curious()) as context:
        addons, line = context.master.addons, AddLogHook(LogEntry("a line", "info"))
        install(addons)
        addons.trigger(line)
        count = lookups.count("add_log")
        addons.trigger(line)
        assert lookups.count("add_log") == count
        addons.add(Listener())
        addons.trigger(line)
    assert entries == [line.entry]


async def test_an_error_of_options_is_not_caught() -> None:
    def refuses() -> None:
        raise exceptions.OptionsError("no such value")

    with taddons.context(Named("refuses", [], refuses)), pytest.raises(exceptions.OptionsError):
        await TABLE.trigger_event(HttpRequestHook(tflow.tflow()))


class Hears:
    """An addon with the hook, and others within it."""

    def __init__(self, name: str, *addons: object) -> None:
        self.name, self.addons = name, list(addons)

    def request(self, _: object) -> None: ...


class Deaf:
    """An addon without the hook."""

    def __init__(self, name: str, *addons: object) -> None:
        self.name, self.addons = name, list(addons)


def test_addons_that_hold_one_with_the_hook_are_listed_in_order() -> None:
    last = Hears("last")
    outer = Deaf("outer", Deaf("between", Hears("deep")), Hears("inner"))
    with taddons.context(Deaf("deaf"), outer, last):
        rows = HookTable().addons_with("request")
        assert [addon for addon, _ in rows] == [outer, last]
        assert [len(functions) for _, functions in rows] == [2, 1]
        assert HookTable().addons_with("response") == []


def test_an_addon_that_a_script_loads_anew_is_listed() -> None:
    script = Deaf("script", first := Hears("within"))
    with taddons.context(script) as context:
        addons, listeners = context.master.addons, HookTable()
        assert listeners.addons_with("request") == [(script, [first.request])]
        addons.remove(first)
        script.addons = []
        assert listeners.addons_with("request") == []
        script.addons = [second := Hears("within")]
        addons.register(second)
        assert listeners.addons_with("request") == [(script, [second.request])]


async def test_a_whole_exchange_of_hooks_goes_by_the_table() -> None:
    class Updates(Named):
        def update(self, _: object) -> None:
            self.calls.append("update")

    calls: list[str] = []
    with taddons.context(Updates("one", calls)) as context:
        install(context.master.addons)
        await context.master.addons.handle_lifecycle(HttpRequestHook(tflow.tflow()))
    assert calls == ["one", "update"]
