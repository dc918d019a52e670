"""`Watcher`: the base class of the parts that show, count, keep or send on the contents of
exchanges. No watcher changes a reply. `ExtraServices` has what extras may use of the addon.

`think_addon.py` lists the packages of `converter/extras` that have watchers. Each package has a
module `extra` with a function `addons(services)`, which returns addons of mitmproxy. If such an
addon is a `Watcher`, `Watchers` calls its methods at each exchange's request, events and end.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from mitmproxy import exceptions

from converter.addon.exchange.settings import Settings
from converter.addon.extra_packages import load
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.probes.upstream_client import UpstreamClient
from converter.core.model.events import Event

_log = logging.getLogger(__name__)


class Watcher:
    """The base class of watchers. A subclass defines the methods that it needs.

    `seen` is the addon's record of the exchange. All methods are called in mitmproxy's event loop,
    and must not wait. A watcher stores its data on an exchange under `seen.flow.id`, and drops the
    data in `ended`.
    """

    def asked(self, seen: FlowRecord) -> None:
        """Handle a request for a reply, or for the list of models, that is about to be sent to the
        server.
        """

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Handle events that are sent to the client. It is called when a stream begins, at each of
        its chunks and at its end, and once for a whole reply.

        `events` may be empty. `seen.rewriter.thoughts` are the thoughts that ended in these events.
        """

    def ended(self, seen: FlowRecord) -> None:
        """Handle the end of an exchange whose request `asked` has got, once: the response is
        complete, broke off, or is an error. It is not called if the addon answers the request
        itself. If a connection breaks, it is called for any exchange, such as one for embeddings.

        The watcher `FlowKeeper` writes the outcome and `seen.hints` into the flow's comment. So
        watchers that are called before it may add lines to `seen.hints`, and watchers that are
        called after it can read the complete flow.
        """


class OptionWatcher(Watcher):
    """A watcher that depends on options: its `follow` is called at mitmproxy's start, and when one
    of the options `followed_options` changes.

    If `follow` raises ValueError, mitmproxy refuses the changed option; at its start the error is
    logged in one line, and mitmproxy ends.
    """

    followed_options: frozenset[str]
    """The names of the options that this watcher depends on, with `think_`."""
    _is_running = False
    """True once mitmproxy has started."""

    def configure(self, updated: set[str]) -> None:
        """Call `follow` if one of the options `followed_options` has changed."""
        if self._is_running and updated & self.followed_options:
            try:
                self.follow()
            except ValueError as error:
                raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """Call `follow` at mitmproxy's start."""
        self._is_running = True
        try:
            self.follow()
        except ValueError as error:
            _log.error("think: %s", error)

    def follow(self) -> None:
        """Apply the options in force. Subclasses define this method."""
        raise NotImplementedError


class Watchers:
    """Calls all watchers, one after another. If a watcher raises an error, it is logged, and the
    next watcher is called.
    """

    def __init__(self, every: Sequence[Watcher]) -> None:
        self._of_requests = [each.asked for each in every if type(each).asked is not Watcher.asked]
        self._of_events = [each.heard for each in every if type(each).heard is not Watcher.heard]
        self._of_ends = [each.ended for each in every if type(each).ended is not Watcher.ended]

    def asked(self, seen: FlowRecord) -> None:
        """Call `asked` of all watchers."""
        _call_each(self._of_requests, seen)

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Call `heard` of all watchers."""
        _call_each(self._of_events, seen, events)

    def ended(self, seen: FlowRecord) -> None:
        """Call `ended` of all watchers."""
        _call_each(self._of_ends, seen)


def _call_each(watchers: Iterable[Callable[..., None]], *news: object) -> None:
    """Call each of `watchers`, a method of each watcher, with the arguments `news`. Log errors."""
    for hear in watchers:
        try:
            hear(*news)
        except Exception:  # the client must get its reply even if a watcher fails
            _log.exception("think: a watcher failed")


@dataclass(frozen=True)
class ExtraServices:
    """The objects of the addon that extras may use."""

    settings: Callable[[], Settings]
    """Returns the settings in force."""
    upstream_client: UpstreamClient
    """Sends probes to servers."""
    counters: dict[str, Counter[str]] = field(default_factory=dict)
    """Name -> a counter that extras share. For example, the extra `traces` counts in `spans`, and
    the extra `watch` shows this counter.
    """


def load_addons(services: ExtraServices, packages: Iterable[str]) -> list[object]:
    """Return the addons of the extras `packages`, without packages that the user has deleted."""
    there = filter(None, map(load, packages))
    return [addon for extra in there for addon in extra.addons(services)]
