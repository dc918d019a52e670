"""Whole exchanges through the addon beside a list of flows: real flows, the real hooks."""

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mitmproxy import contentviews, flow, hooks
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.view import View
from mitmproxy.http import HTTPFlow, Message, Response
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.proxy.layers.http._hooks import (
    HttpErrorHook,
    HttpRequestHeadersHook,
    HttpRequestHook,
    HttpResponseHeadersHook,
    HttpResponseHook,
)
from mitmproxy.test import taddons

from tests.support.addon_flows import BASIC, EVENT_STREAM, request, response, running, wait
from think_addon import ThinkAddon


class ProxyOptions:
    """The option that the proxy itself brings along."""

    def load(self, loader: Loader) -> None:
        loader.add_option("store_streamed_bodies", bool, False, "")


class Watched:
    """The addon, and a list of flows as mitmweb and the console have it. `updates`: the bodies of
    updated flows.
    """

    def __init__(self, addon: ThinkAddon, context: taddons.context) -> None:
        self.addon = addon
        self.updates: list[bytes | None] = []
        self.view = View()
        self.options = context.options
        self._addons = context.master.addons
        self._addons.add(self.view, ProxyOptions(), self)

    def update(self, flows: Sequence[flow.Flow]) -> None:
        """mitmproxy's hook."""
        self.updates += [
            shown.response.raw_content
            for shown in flows
            if isinstance(shown, HTTPFlow) and shown.response
        ]

    def add(self, *addons: object) -> None:
        self._addons.add(*addons)

    def unload(self) -> None:
        """Remove the addon, as mitmproxy does when it reloads a script or ends."""
        self.hook(hooks.DoneHook())

    def hook(self, hook: hooks.Hook) -> None:
        """Call a hook of the addon and those that belong to it."""
        wait(self._addons.invoke_addon(self.addon, hook))

    def run(self) -> None:
        """Call the hook `running`."""
        self.hook(hooks.RunningHook())

    def ask(self, flow: HTTPFlow) -> HTTPFlow:
        """Call the hooks of a request."""
        flow.request.timestamp_start = time.time()
        self.hook(HttpRequestHeadersHook(flow))
        self.hook(HttpRequestHook(flow))
        return flow

    def begin(self, flow: HTTPFlow, sent: Response) -> HTTPFlow:
        """Call the hooks up to the head of the reply."""
        self.ask(flow).response = sent
        self.hook(HttpResponseHeadersHook(flow))
        return flow

    def end(self, flow: HTTPFlow) -> HTTPFlow:
        self.hook(HttpResponseHook(flow))
        return flow

    def break_off(self, broken: HTTPFlow, message: str) -> HTTPFlow:
        broken.error = flow.Error(message)
        self.hook(HttpErrorHook(broken))
        return broken

    def answer(self, flow: HTTPFlow, sent: Response, *chunks: bytes) -> HTTPFlow:
        """A whole exchange."""
        self.begin(flow, sent)
        if not pass_on(flow, *chunks, b""):
            assert flow.response
            flow.response.raw_content = b"".join(chunks)
        return self.end(flow)


def pass_on(flow: HTTPFlow, *chunks: bytes) -> bool:
    """Send chunks of a streamed body; return False when the body is not streamed."""
    assert flow.response
    tap = flow.response.stream
    if not callable(tap):
        return False
    for chunk in chunks:
        list(tap(chunk))
    return True


@contextmanager
def watched(**options: Any) -> Iterator[Watched]:
    with running(**options) as (addon, context):
        yield Watched(addon, context)
        # it would go on logging into this loop, for the rest of the test
        context.master._legacy_log_events.uninstall()


def kept(flow: HTTPFlow, sent: Response, *chunks: bytes, **options: Any) -> HTTPFlow:
    """A flow after a whole exchange."""
    with watched(**options) as there:
        return there.answer(flow, sent, *chunks)


def saved(flow_there: HTTPFlow) -> HTTPFlow:
    """The same flow, written to a file and read again."""
    file = io.BytesIO()
    FlowWriter(file).add(flow_there)
    file.seek(0)
    [read] = FlowReader(file).stream()
    assert isinstance(read, HTTPFlow)
    return read


def shown(
    flow_there: HTTPFlow, message: Message | None, view: str = "auto"
) -> contentviews.ContentviewResult:
    """Return the view of a request or response in mitmweb and the console, under the options of
    mitmproxy's last context.
    """
    assert message
    return contentviews.prettify_message(message, flow_there, view)


def exchanged(path: str, kind: str, chunks: list[bytes]) -> HTTPFlow:
    """A flow after its exchange."""
    flow = request(path, {**BASIC, "stream": kind is EVENT_STREAM})
    return kept(flow, response(kind), *chunks)
