"""The script that mitmproxy loads (`mitmdump -s think_addon.py --mode
reverse:http://localhost:8000`) has the addon's hooks (`ThinkAddon`) and the list of extras
(`WATCHERS`, `WATCHERS_BEFORE`). The steps that the hooks call are in `converter/addon/hooks`.

The addon brings a local model's thinking to where the client expects it. The hooks are the methods
that mitmproxy calls. The hooks of an exchange make or look up the addon's record of its flow, and
call the next step of the exchange. All other code that uses mitmproxy is in `converter.addon` and
`converter.extras`; `converter.core` has nothing to do with a proxy.
"""

import time
from collections.abc import Awaitable

from mitmproxy import ctx, exceptions, flowfilter, version
from mitmproxy.addonmanager import Loader
from mitmproxy.http import HTTPFlow

try:
    import converter as _converter  # noqa: F401  # first, so that its absence gets a message
except ModuleNotFoundError:
    # SystemExit, because at an ImportError, mitmproxy (12.3) would show its traceback and go on
    # without the addon.
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
from converter.addon.watcher import load_addons as addons_of

KEPT_BY = ("save_stream_file", "hardump")
"""The options of mitmproxy by which it saves flows, with their bodies, to a file."""
WATCHERS_BEFORE = ("prompt_cache",)
"""The packages of `converter/extras` whose watchers are called before `FlowKeeper`, so that they
can still add lines to the flow's comment. Any of them may be deleted.
"""
WATCHERS = ("watch", "recordings", "traces", "page")
"""The packages of `converter/extras` whose watchers are called after `FlowKeeper`, in this order.
Any of them may be deleted.
"""
BODIES_SHOWN = 3
"""The least value of mitmproxy's option `flow_detail` with which mitmdump prints bodies."""


class ThinkAddon:
    """The addon's hooks, which mitmproxy calls: one method for each hook."""

    def __init__(self) -> None:
        self._settings = settings.read()
        self._recorded_options: dict[str, object] = {}
        self._flow_filter: flowfilter.TFilter | None = None
        self._access = AccessRules()
        upstream_client = UpstreamClient(KnownServers(time.time))
        services = ExtraServices(self._settings_in_force, upstream_client)
        keeper = FlowKeeper(lambda: self._settings.limits)
        extras = [*addons_of(services, WATCHERS_BEFORE), keeper, *addons_of(services, WATCHERS)]
        self._watchers = Watchers([each for each in extras if isinstance(each, Watcher)])
        self._requests = RequestSteps(upstream_client, self._settings)
        self._replies = ReplySteps(upstream_client, self._watchers)
        self._listener = ExchangeListener(self._settings_in_force, self._replies.make_tap)
        self.addons = [OwnLayers(self._listener), *extras]

    def load(self, loader: Loader) -> None:
        """Declare the addon's options to mitmproxy."""
        write_each_line_at_once()
        options.declare_options(loader)

    def configure(self, updated: set[str]) -> None:
        """Read changed options, for the exchanges that begin from now on. Raises OptionsError for a
        value that cannot be read. `updated`: the names of the changed options.
        """
        if not any(name.startswith("think_") for name in updated):
            return
        try:
            self._settings, self._flow_filter = options.read_settings()
            self._recorded_options = options.recorded_values()
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None
        if updated & {"think_limits", "think_lessons", "think_memory", "think_memory_days"}:
            self._requests.reopen_stores(self._settings)

    def running(self) -> None:
        """Do the last work before the first exchange: refuse unknown options, exempt all loaded
        objects from the garbage collector, which would take long to visit them, and have mitmproxy
        keep the bodies of streams if people may look at them or save them.
        """
        options.refuse_unknown_options()
        exempt_old_objects()
        if self._may_be_viewed():
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: HTTPFlow) -> Awaitable[None] | None:
        """Refuse a request that `AccessRules` does not allow, and answer the question whether the
        addon runs here. Decide by the head of any other request whether the addon acts on the
        exchange. If it does not, the request's body passes through the proxy as it comes, unless it
        must be held for an option of mitmproxy or a script (`must_hold_request`).
        """
        if not flow.live or flow.response:
            # The flow comes from a file, or another addon (such as proxyauth) has answered it.
            return None
        forget(flow)
        # The host is None if the exchange does not go through the addon's own layers.
        host = self._listener.hosts.pop(flow, None)
        flow.response = self._access.refusal(flow, host, self._settings) or identity_response(flow)
        if flow.response:
            return None
        request, at = flow.request, int(flow.request.timestamp_start)
        head = (request.method, request.path, http_messages.header_values(request.headers))
        exchange = begin(*head, self._settings, flow.id, is_reverse(flow), created_at=at)
        if self._flow_filter and not flowfilter.match(self._flow_filter, flow):
            exchange = None
        if exchange is None or self._flow_filter or is_reverse(flow):
            self._begin_exchange(flow, exchange)
            return None
        return self._begin_if_private(flow, exchange)

    async def _begin_if_private(self, flow: HTTPFlow, exchange: Exchange) -> None:
        """Act on the request, which came to a forward proxy, if its server is on this machine or in
        a private network. Let the request pass if not.
        """
        self._begin_exchange(flow, exchange if await is_to_private_host(flow) else None)

    def _begin_exchange(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        """Make the record of the exchange, with which the later hooks go on. If `exchange` is
        `None`, the addon does not act on the request: make no record, and let it pass.

        Remove the headers that the server must not get. In a forward proxy, a request on which the
        addon does not act keeps them.
        """
        headers = flow.request.headers.copy()
        if exchange or is_reverse(flow):
            self._access.clean_headers(flow, exchange)
        if exchange is None:
            # Another addon may have set `stream` to its stream function, which must stay.
            flow.request.stream = flow.request.stream or not must_hold_request()
        else:
            full = self._may_be_viewed() or bool(self._settings.record)
            sides = BothSides(headers, full)
            RUNNING_RECORDS[flow.id] = FlowRecord(flow, exchange, sides, self._recorded_options)
            http_messages.set_fields(flow.request.headers, {b"accept-encoding": b"identity"})

    async def request(self, flow: HTTPFlow) -> None:
        """Translate the request for the server. Answer a request that no server needs to answer,
        and refuse an invalid request with the error of the client's API.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None:
            return
        if flow.response or is_replayed_by_the_server(flow):
            # Another addon has answered. Or mitmproxy's server replay will answer with a saved
            # response, which was already rewritten when it was saved.
            del RUNNING_RECORDS[flow.id]
            return
        await self._requests.run(record)
        if flow.response:
            RUNNING_RECORDS.pop(flow.id, None)
            record.finish()
        elif record.awaited:
            self._watchers.asked(record)

    async def responseheaders(self, flow: HTTPFlow) -> None:
        """Set the stream function that will rewrite a streamed reply. A response that the addon
        does not rewrite passes as it comes, or is held for an option of mitmproxy or a script.
        """
        if flow.live and flow.response and not flow.error:
            await self._replies.begin(flow, RUNNING_RECORDS.get(flow.id))

    async def response(self, flow: HTTPFlow) -> None:
        """Finish the exchange, because the response is complete: rewrite a reply that came whole,
        and log the notes on the exchange in one line. Hide the server's key in the flow.
        """
        if record := RUNNING_RECORDS.pop(flow.id, None):
            await self._replies.complete(record)
        hide_key(flow.request.headers)

    def error(self, flow: HTTPFlow) -> None:
        """Finish the exchange, because its connection to the server or to the client broke. Hide
        the server's key in the flow.
        """
        record = RUNNING_RECORDS.pop(flow.id, None)
        if record and flow.error:
            self._replies.break_off(record)
        hide_key(flow.request.headers)

    def _settings_in_force(self) -> settings.Settings:
        """Return the settings that hold for exchanges that begin now."""
        return self._settings

    def _may_be_viewed(self) -> bool:
        """Return True if people may see the flows' bodies: in mitmweb, in the console, in
        mitmdump's output or in a saved file.
        """
        # The list is None in mitmdump; in mitmweb and the console it is empty at first.
        viewed = flow_list() is not None or (value_of("flow_detail") or 0) >= BODIES_SHOWN
        return viewed or any(map(value_of, KEPT_BY))


# mitmproxy takes the addons of a script from the variable of this name.
addons = [ThinkAddon()]
