"""Watchers: extras that show, count, keep or send on the contents of exchanges. None of them
changes a byte of a reply.

`think_addon.py` lists their packages. Each such package of `converter/extras` has a module `extra`
with a function `addons(services)`, which returns addons of mitmproxy. Some of these are watchers,
and are told of exchanges too.
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
    """The contract of a watcher. All calls are made in mitmproxy's loop, and none may wait. A
    watcher stores its data of an exchange under `seen.flow.id`, and drops them in `ended`.

    A watcher says `class Mine(Watcher)`, and has the methods that it needs.
    """

    def asked(self, seen: FlowRecord) -> None:
        """Take note that the server is about to get a request."""

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Take the events that the client is sent: when a stream begins, with each piece of it, and
        once for a whole reply. `events` may be empty. `seen.rewriter` has the thoughts that ended
        in it.
        """

    def ended(self, seen: FlowRecord) -> None:
        """Take note, once, that an exchange is over: it was whole, broke off, or the server refused
        it. Watchers before `FlowKeeper` in the list may add to `seen.hints`, which the flow is to
        show. Those behind it find the flow as people will see it.
        """


class OptionWatcher(Watcher):
    """A watcher that works as the options `moved_by` say, from mitmproxy's start on. A ValueError
    of `follow` has mitmproxy refuse a changed option, and end its start with one line of the log.
    """

    moved_by: frozenset[str]
    _runs = False

    def configure(self, updated: set[str]) -> None:
        """Follow changed options."""
        if self._runs and updated & self.moved_by:
            try:
                self.follow()
            except ValueError as error:
                raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """Follow the options from now on."""
        self._runs = True
        try:
            self.follow()
        except ValueError as error:
            _log.error("think: %s", error)

    def follow(self) -> None:
        """Work as the options in force say."""
        raise NotImplementedError


class Watchers:
    """All watchers, in their order. A fault of one costs a line of the log and nothing else."""

    def __init__(self, watchers: Iterable[Watcher]) -> None:
        every = list(watchers)
        self._of_requests = [each.asked for each in every if type(each).asked is not Watcher.asked]
        self._of_events = [each.heard for each in every if type(each).heard is not Watcher.heard]
        self._of_ends = [each.ended for each in every if type(each).ended is not Watcher.ended]

    def asked(self, seen: FlowRecord) -> None:
        """Tell all watchers of a request."""
        _tell(self._of_requests, seen)

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Give all watchers the events that the client is sent."""
        _tell(self._of_events, seen, events)

    def ended(self, seen: FlowRecord) -> None:
        """Tell all watchers that an exchange is over."""
        _tell(self._of_ends, seen)


def _tell(watchers: Iterable[Callable[..., None]], *news: object) -> None:
    for hear in watchers:
        try:
            hear(*news)
        except Exception:  # a watcher's fault must not cost the client a piece of its reply
            _log.exception("think: a watcher failed")


@dataclass(frozen=True)
class ExtraServices:
    """The things that extras may use.

    Attributes:
        chosen: returns the settings in force.
        client: probes servers.
        counts: numbers of one extra that another shows, by their kind.
    """

    chosen: Callable[[], Settings]
    client: UpstreamClient
    counts: dict[str, Counter[str]] = field(default_factory=dict)


def addons(services: ExtraServices, packages: Iterable[str]) -> list[object]:
    """Return the addons of the extras that are there."""
    there = filter(None, map(load, packages))
    return [addon for extra in there for addon in extra.addons(services)]
