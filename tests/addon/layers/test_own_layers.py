"""Our layers are put in place, unless this mitmproxy lacks what they build upon."""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from mitmproxy.addons.next_layer import NextLayer as Chooser
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.layers.modes import ReverseProxy
from mitmproxy.test import taddons

from converter.addon.layers import own_layers
from converter.addon.layers.connection import Quit, ReplyLayer
from converter.addon.layers.guard import PROMISES, HttpLayer
from tests.support.proxy_core import END, HEAD, Core, Marker, Says, chunk


@contextmanager
def running(*modes: str, **options: object) -> Iterator[taddons.context]:
    addon = own_layers.OwnLayers(Says())
    with taddons.context(Proxyserver(), Chooser(), addon) as context:
        context.options.update(mode=list(modes), **options)
        addon.running()
        yield context


def decided() -> NextLayer:
    """Return the next layer of a client in front of a reverse proxy."""
    with Core() as core:
        context = Context(core.client, core.layer.context.options)
        ReverseProxy(context)
        nextlayer = NextLayer(context)
        own_layers.OwnLayers(Says()).next_layer(nextlayer)
        return nextlayer


def test_in_front_of_model_servers_no_connection_is_opened_before_a_request() -> None:
    with running("reverse:http://127.0.0.1:8000") as context:
        assert context.options.connection_strategy == "lazy"


def test_the_first_client_meets_it_so_whose_port_is_open_before_mitmproxy_says_it_runs() -> None:
    addon = own_layers.OwnLayers(Says())
    with taddons.context(Proxyserver(), Chooser(), addon) as context:
        context.options.update(mode=["reverse:http://127.0.0.1:8000"])
        assert context.options.connection_strategy == "lazy"
        context.options.update(mode=["regular"])
        assert context.options.connection_strategy == "eager"


@pytest.mark.parametrize("mode", ["regular", "upstream:http://127.0.0.1:8000"])
def test_where_other_traffic_passes_connections_are_opened_as_ever(mode: str) -> None:
    with running("reverse:http://127.0.0.1:8000@8001", mode) as context:
        assert context.options.connection_strategy == "eager"


def test_what_a_person_has_chosen_stays() -> None:
    options = {"connection_strategy": "eager"}
    with running("reverse:http://127.0.0.1:8000", **options) as context:
        assert context.options.connection_strategy == "eager"


@pytest.mark.parametrize("chosen", [{}, {"http2": True}, {"http2": False}], ids=str)
def test_clients_choose_http_1_unless_a_person_has_set_the_option(chosen: dict[str, bool]) -> None:
    with running("regular", **chosen) as context:
        assert context.options.http2 is chosen.get("http2", False)


def test_our_layer_replaces_the_one_that_mitmproxy_chooses() -> None:
    with running():
        assert type(decided().layer) is ReplyLayer


def test_no_body_is_streamed_for_its_size(caplog: pytest.LogCaptureFixture) -> None:
    """A request would reach its server untranslated, and a reply its client under another head."""
    with running("reverse:http://127.0.0.1:8000", stream_large_bodies="1m") as context:
        assert context.options.stream_large_bodies is None
        assert "stream_large_bodies is switched off" in caplog.text


def test_missing_members_are_logged_and_mitmproxys_own_layers_stay(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PROMISES, "lacks", ["HttpLayer.make_stream"])
    with running("reverse:http://127.0.0.1:8000") as context:
        assert "(HttpLayer.make_stream)" in caplog.text
        assert context.options.connection_strategy == "eager"
        nextlayer = decided()
        context.master.addons.get("nextlayer").next_layer(nextlayer)
        assert type(nextlayer.layer) is HttpLayer
        assert own_layers.OwnLayers(Says()).done() is None


def test_a_script_that_is_loaded_anew_breaks_nothing_off() -> None:
    with running():
        assert own_layers.OwnLayers(Says()).done() is None


def test_a_script_that_is_loaded_anew_answers_for_open_connections() -> None:
    with Core() as core, running("reverse:http://127.0.0.1:8000"):
        new = Says()
        own_layers.OwnLayers(new).running()
        assert core.layer.listener is new


class Handler:
    """A client's connection; `drained`: all that was written is on its way."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.drained = False

    async def server_event(self, event: Quit) -> None:
        self.core.happens(event)

    async def drain_writers(self) -> None:
        self.drained = True


def quit_with(core: Core) -> Handler:
    """mitmproxy ends while a reply streams."""
    core.streams_with(Marker())
    core.ask()
    core.answer(HEAD + chunk(b"a"))
    core.received()
    with running() as context:
        handler = Handler(core)
        context.master.addons.get("proxyserver").connections[core.client.id] = handler
        context.master.should_exit.set()
        ending = own_layers.OwnLayers(Says()).done()
        assert inspect.iscoroutine(ending)
        asyncio.run(ending)
    return handler


def test_when_mitmproxy_ends_streams_end_properly_and_are_waited_for() -> None:
    with Core() as core:
        assert quit_with(core).drained
        expected = b"<held><abort: mitmproxy is shutting down>"
        assert core.received() == chunk(expected) + END


def test_a_client_that_takes_nothing_does_not_hold_mitmproxy_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(own_layers, "SECONDS_TO_QUIT", 0.05)
    with Core() as core:
        core.hold = "error"
        assert not quit_with(core).drained
        assert "did not take the end" in caplog.text
        core.release()
