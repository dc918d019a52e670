"""Bring a local model's thinking to where the client expects it: `mitmdump -s think_addon.py --mode
reverse:http://localhost:8000`.

This file has mitmproxy's hooks alone: each finds the exchange of its flow and takes it one step on.
All other code that uses mitmproxy is in `converter.addon` and `converter.extras`; `converter.core`
knows no proxy.
"""

import time
from collections.abc import Awaitable

from mitmproxy import ctx, exceptions, flowfilter, version
from mitmproxy.addonmanager import Loader
from mitmproxy.http import HTTPFlow

try:
    import converter as _converter  # noqa: F401  # first, for a message that names the fault
except ModuleNotFoundError:
    # mitmproxy shows an ImportError with its traceback, and starts without the addon (12.3)
    raise SystemExit(
        "the folder `converter` is missing beside think_addon.py: copy both, or install think-addon"
    ) from None

if [int(number) for number in version.VERSION.split(".")[:2]] < [12, 2]:
    raise SystemExit(
        f"think-addon needs mitmproxy 12.2 or newer, this is {version.VERSION}: take a newer "
        "mitmproxy, or install think-addon anew, which brings its own"
    )

from converter.addon import http_messages
from converter.addon.aside import exempt_old_objects
from converter.addon.exchange import settings
from converter.addon.exchange.exchange import Exchange, begin
from converter.addon.hooks import options
from converter.addon.hooks.access_rules import (
    AccessRules,
    identity_response,
    is_reverse,
    is_to_private_host,
)
from converter.addon.hooks.exchange_listener import ExchangeListener
from converter.addon.hooks.reply_steps import ReplySteps
from converter.addon.hooks.request_steps import RequestSteps
from converter.addon.hooks.whole_bodies import must_hold_request
from converter.addon.keep.both_sides import BothSides
from converter.addon.keep.flow_keeper import FlowKeeper
from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord, forget
from converter.addon.layers.own_layers import OwnLayers
from converter.addon.log_lines import write_each_line_at_once
from converter.addon.mitmproxy_internals import flow_list, is_replayed_by_the_server, value_of
from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import KnownServers
from converter.addon.servers.server_key import hide_key
from converter.addon.watcher import ExtraServices, Watcher, Watchers
from converter.addon.watcher import addons as addons_of

KEPT_BY = ("save_stream_file", "hardump")
"""Options of mitmproxy's that write bodies to a file."""
WATCHERS_BEFORE = ("prompt_cache",)
WATCHERS = ("watch", "recordings", "traces", "page")
"""Packages of `converter/extras`, in the order in which their watchers are called; those of
`WATCHERS_BEFORE` before the flow is complete for viewers. Any may be deleted.
"""
BODIES_SHOWN = 3
"""From this `flow_detail` on mitmdump prints bodies."""


class ThinkAddon:
    """The addon."""

    def __init__(self) -> None:
        self._settings = settings.read()
        self._in_force: dict[str, object] = {}
        self._filter: flowfilter.TFilter | None = None
        self._access = AccessRules()
        client = UpstreamClient(KnownServers(time.time))
        services = ExtraServices(self._chosen, client)
        keeper = FlowKeeper(lambda: self._settings.limits)
        extras = [*addons_of(services, WATCHERS_BEFORE), keeper, *addons_of(services, WATCHERS)]
        self._watchers = Watchers(each for each in extras if isinstance(each, Watcher))
        self._requests = RequestSteps(client, self._settings)
        self._replies = ReplySteps(client, self._watchers)
        self._listener = ExchangeListener(self._chosen, self._replies.make_tap)
        self.addons = [OwnLayers(self._listener), *extras]

    def load(self, loader: Loader) -> None:
        """Declare the options."""
        write_each_line_at_once()
        options.declare_options(loader)

    def configure(self, updated: set[str]) -> None:
        """Use changed options from the next reply on. Raises OptionsError for a bad one."""
        if not any(name.startswith("think_") for name in updated):
            return
        try:
            self._settings, self._filter = options.read_settings()
            self._in_force = options.recorded_values()
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None
        if updated & {"think_limits", "think_lessons", "think_memory", "think_memory_days"}:
            self._requests.reopen_stores(self._settings)

    def running(self) -> None:
        """Have mitmproxy keep streamed bodies where people look at flows, or save them. Now that
        all is loaded, exempt it from the garbage collector.
        """
        options.refuse_unknown_options()
        exempt_old_objects()
        if self._looked_at():
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: HTTPFlow) -> Awaitable[None] | None:
        """Decide by method and path whether to act; any other request passes unbuffered."""
        if not flow.live or flow.response:
            return None  # read from a file, or refused by another addon, such as proxyauth
        forget(flow)
        host = self._listener.hosts.pop(flow, None)  # none without our layers
        flow.response = self._access.refusal(flow, host, self._settings) or identity_response(flow)
        if flow.response:
            return None
        request, at = flow.request, int(flow.request.timestamp_start)
        head = (request.method, request.path, http_messages.values_of(request.headers))
        exchange = begin(*head, self._settings, flow.id, is_reverse(flow), created_at=at)
        if self._filter and not flowfilter.match(self._filter, flow):
            exchange = None
        if exchange is None or self._filter or is_reverse(flow):
            self._begin(flow, exchange)
            return None
        return self._begin_at_home(flow, exchange)

    async def _begin_at_home(self, flow: HTTPFlow, exchange: Exchange) -> None:
        self._begin(flow, exchange if await is_to_private_host(flow) else None)

    def _begin(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        headers = flow.request.headers.copy()
        if exchange or is_reverse(flow):
            self._access.clean_headers(flow, exchange)
        if exchange is None:
            # keep another addon's function
            flow.request.stream = flow.request.stream or not must_hold_request()
        else:
            full = self._looked_at() or bool(self._settings.record)
            sides = BothSides(headers, full)
            RUNNING_RECORDS[flow.id] = FlowRecord(flow, exchange, sides, self._in_force)
            http_messages.set_fields(flow.request.headers, {b"accept-encoding": b"identity"})

    async def request(self, flow: HTTPFlow) -> None:
        """Translate a request. Answer requests that the server cannot answer, and refuse invalid
        requests as the API would.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None:
            return
        if flow.response or is_replayed_by_the_server(flow):
            del RUNNING_RECORDS[flow.id]  # another addon has answered, or has what the client got
            return
        await self._requests.run(record)
        if flow.response:
            RUNNING_RECORDS.pop(flow.id, None)
            record.finish()
        elif record.awaited:
            self._watchers.asked(record)

    async def responseheaders(self, flow: HTTPFlow) -> None:
        """Tap a streamed reply before its first byte; any other reply passes unbuffered."""
        if flow.live and flow.response and not flow.error:
            await self._replies.begin(flow, RUNNING_RECORDS.get(flow.id))

    async def response(self, flow: HTTPFlow) -> None:
        """Rewrite a whole reply, and log its notes in one line."""
        if record := RUNNING_RECORDS.pop(flow.id, None):
            await self._replies.complete(record)
        hide_key(flow.request.headers)

    def error(self, flow: HTTPFlow) -> None:
        """Close an exchange that the server or the client has left."""
        record = RUNNING_RECORDS.pop(flow.id, None)
        if record and flow.error:
            self._replies.break_off(record)
        hide_key(flow.request.headers)

    def _chosen(self) -> settings.Settings:
        return self._settings

    def _looked_at(self) -> bool:
        # not by its truth: an empty list is false
        viewed = flow_list() is not None or (value_of("flow_detail") or 0) >= BODIES_SHOWN
        return viewed or any(map(value_of, KEPT_BY))


addons = [ThinkAddon()]
