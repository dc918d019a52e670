"""This mitmproxy has all members that our layers need; a missing one costs one layer."""

import ast
import dis
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import hooks
from mitmproxy.addons.next_layer import NextLayer as Chooser
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Connection, Server
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow, Request
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.layers.modes import ReverseProxy
from mitmproxy.test import taddons

from converter.addon.layers import guard, own_layers, splice
from converter.addon.layers import hook_table as table
from converter.addon.layers.connection import ReplyLayer
from converter.addon.layers.guard import GuardedPart
from converter.addon.layers.mends.http1_server import ServerConnection
from converter.addon.layers.whole_reads import WholeReads
from tests.support.proxy_core import HEAD, Core, Marker, Says, chunk

LAYERS = Path(guard.__file__).parent
PARTS = {name: part for name, part in vars(guard).items() if isinstance(part, GuardedPart)}
MODULES = ("commands", "context", "events", "layer")
ROWS = [(name, path) for name, part in PARTS.items() for path in part.built_upon]


class Handler:
    """The handler of a client's bytes."""

    def __init__(self, core: Core) -> None:
        self.client, self.transports = core.client, dict[object, object]()
        self.called: list[str] = []

    async def drain_writers(self) -> None: ...

    async def handle_hook(self, hook: Any) -> None:
        self.called.append(hook.name)

    def log(self, *_: object) -> None: ...


def chosen(core: Core, handler: Any = None) -> Any:
    """The layer that is in place for a client of a reverse proxy."""
    with taddons.context(
        Proxyserver(), Chooser(), addon := own_layers.OwnLayers(Says())
    ) as context:
        core.context = Context(core.client, core.layer.context.options)  # type: ignore[attr-defined]
        ReverseProxy(core.context)  # type: ignore[attr-defined]
        nextlayer = NextLayer(core.context)  # type: ignore[attr-defined]
        handlers = context.master.addons.get("proxyserver").connections
        if handler:
            handlers[core.client.id] = handler
        addon.next_layer(nextlayer)
        context.master.addons.get("nextlayer").next_layer(nextlayer)
        return nextlayer.layer


def streaming(core: Core) -> None:
    core.streams_with(Marker())
    core.ask()
    core.answer(HEAD + chunk(b"a"))


def at_the_edge(core: Core) -> bool:
    core.layer.connection_handler = handler = Handler(core)
    core.named.clear()
    core.ask()
    return bool(handler.called) and not core.named


def by_the_table(_: Core) -> bool:
    with taddons.context() as context:
        table.install(context.master.addons)
        assert table.TABLE.addons_with("thought") == [] or guard.SPEED.lacks
        return "trigger_event" in vars(context.master.addons)


def in_whole_reads(core: Core) -> bool:
    streaming(core)
    connection = core.layer.connections[core.servers[-1]].child_layer  # type: ignore[attr-defined]
    assert isinstance(connection, ServerConnection)
    return isinstance(connection.body_reader, WholeReads)


def from_socket_to_socket(core: Core) -> bool:
    streaming(core)
    joined = list[object]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splice, "start_splice", lambda *ends: joined.append(ends))
        splice.move_to_splice(Handler(core), core.layer, core.layer.streams[1])
    return bool(joined)


def without_unheard_lines(core: Core) -> bool:
    chosen(core, handler := Handler(core))
    return "log" in vars(handler)


def by_our_layer(core: Core) -> bool:
    return type(chosen(core)) is ReplyLayer


STANDS: dict[str, tuple[Callable[[Core], bool], ...]] = {
    "PROMISES": (by_our_layer,),
    "SPEED": (
        at_the_edge,
        by_the_table,
        in_whole_reads,
        from_socket_to_socket,
        without_unheard_lines,
    ),
}
"""The checks of each part; a check returns True if its layer is in place."""


def stands(name: str) -> set[bool]:
    """Return the results of a part's checks, each for a client of its own."""
    missing = set()
    for stand in STANDS[name]:
        with Core() as core:
            missing.add(stand(core))
    return missing


def owner_of(path: str) -> tuple[Any, str]:
    """Return the owner of a member, and the member's name."""
    first, *between = path.split(".")
    if not between:
        return guard, first
    owner: Any = (vars(guard.proxy) | vars(guard))[first]
    for step in between[:-1]:
        owner = getattr(owner, step)
    return owner, between[-1]


@contextmanager
def without(path: str) -> Iterator[None]:
    """A mitmproxy that lacks a member, wherever it is defined, named or set."""
    owner, name = owner_of(path)
    with pytest.MonkeyPatch.context() as patch:
        for base in owner.mro() if isinstance(owner, type) else [owner]:
            if base is object:
                continue
            patch.delitem(vars(base).get("__annotations__", {}), name, raising=False)
            begins = vars(base).get("__init__")
            if inspect.isfunction(begins) and name in begins.__code__.co_names:
                names = [
                    f"{field_name}_" if field_name == name else field_name
                    for field_name in begins.__code__.co_names
                ]
                patch.setattr(begins, "__code__", begins.__code__.replace(co_names=tuple(names)))
            if name in vars(base) and not isinstance(owner, _Enumeration):
                patch.delattr(base, name)
        if isinstance(owner, _Enumeration):
            patch.setitem(vars(guard), path.split(".", maxsplit=1)[0], SimpleNamespace())
        yield


_Enumeration = type(guard.ErrorCode)


def test_this_mitmproxy_lacks_nothing() -> None:
    assert [part.lacks for part in guard.PARTS] == [[]] * len(PARTS)
    assert set(STANDS) == set(PARTS)


@pytest.mark.parametrize(("name", "path"), ROWS)
def test_a_member_that_is_gone_is_missed_by_what_builds_upon_it(name: str, path: str) -> None:
    with without(path):
        lacking = {name_of_part for name_of_part, part in PARTS.items() if path in part.missing()}
    assert lacking == {
        name_of_part for name_of_part, part in PARTS.items() if path in part.built_upon
    }
    assert name in lacking


@pytest.mark.parametrize("name", PARTS)
async def test_a_part_without_its_footing_is_left_out_and_the_others_stay(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stands(name) == {True}
    monkeypatch.setattr(PARTS[name], "lacks", ["what is gone"])
    assert stands(name) == {False}
    others = set(STANDS) - {name, "PROMISES"} if name != "PROMISES" else set()
    assert all(stands(other) == {True} for other in others)


def test_a_function_with_other_parameters_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard.HttpStream, "check_invalid", lambda _: None)
    assert guard.PROMISES.missing() == ["HttpStream.check_invalid"]


def test_functions_are_compared_by_their_parameters() -> None:
    for part in PARTS.values():
        for path, parameters in part.built_upon.items():
            owner, name = owner_of(path)
            member = getattr(owner, name, None)
            called = inspect.isfunction(member) and name != "state"  # which is set for each
            assert called or not parameters or inspect.isclass(member), path
            assert parameters or not called or member is guard.safecall, path


_DOCUMENTED = [Connection, Server, Flow, HTTPFlow, Request]
"""Of mitmproxy's documented interface, which every addon builds upon."""


_OF_PYTHON = {"add", "done", "get", "items", "master", "remove", "timeout", "update", "wait"}
"""Members of sets, tasks and `asyncio` that some class of the core has as well."""


def members(kind: type) -> set[str]:
    """Return the names that a class of mitmproxy's or h11's defines, annotates or sets."""
    bases = [base for base in kind.mro() if base.__module__.startswith(("mitmproxy", "h11"))]
    begins = [vars(base).get("__init__") for base in bases]
    steps = [step for begin in begins if begin for step in dis.get_instructions(begin)]
    named = [set(vars(base)) | set(vars(base).get("__annotations__", {})) for base in bases]
    return set().union(*named, {step.argval for step in steps if step.opname == "STORE_ATTR"})


def test_all_that_our_layers_use_of_the_core_is_guarded() -> None:
    """A name that some class of the core has, and that our layers read, override or call."""
    core = [
        value
        for module in (guard, hooks, *(vars(guard.proxy)[name] for name in MODULES))
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith(("mitmproxy", "h11"))
    ]
    has = set().union(*map(members, core)) - set().union(*map(members, _DOCUMENTED))
    nodes = [
        node for path in LAYERS.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
    ]
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    guarded = {path.rpartition(".")[2] for _, path in ROWS}
    unguarded = {name for name in used & has - guarded if not name.startswith("__")}
    assert unguarded <= _OF_PYTHON


def test_a_layer_is_paused_while_it_waits() -> None:
    with Core() as core:
        core.hold = "request"
        core.ask()
        stream = core.layer.streams[1]
        assert guard.is_paused(stream)
        core.release()
        assert not guard.is_paused(stream)
