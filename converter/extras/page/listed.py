"""`ListRows` keeps the rows of the page's list up to date: one row for each exchange with a model
in mitmweb's list. `row.py` reads a row's values from a flow, `sessions.py` puts exchanges into
sessions, and `open_page.py` finds which rows a browser must still get.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mitmproxy import flow
from mitmproxy.http import HTTPFlow, Request

from converter.addon.bounds import LONGEST_PROMPT
from converter.addon.http_messages import content_of
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.core.model.housekeeping import housekeeping_of
from converter.core.model.raw_messages import messages_of
from converter.core.wire import json_text
from converter.extras.page import row as rows
from converter.extras.page import session
from converter.extras.page.row import Row
from converter.extras.page.session import SessionExchange
from converter.extras.page.sessions import Messages, Sessions

if TYPE_CHECKING:
    # Imported for types only: mitmproxy's released binary of mitmdump lacks this module.
    from mitmproxy.addons.view import View

SLICE = 0.01
"""Seconds of work on rows after which mitmproxy's loop gets a turn. A list of thousands of rows
needs many such slices.
"""


class ListRows:
    """The page's rows, kept up to date between `open` and `close`."""

    def __init__(self, view: "View") -> None:
        self._view = view
        self._signals: tuple[tuple[Any, Callable[..., None]], ...] = (
            (view.sig_view_add, self._mark_changed),
            (view.sig_view_update, self._mark_changed),
            (view.sig_view_remove, self._mark_changed),
            (view.sig_view_refresh, self._mark_all_changed),
        )
        self._sessions = Sessions(self._messages)
        self.rows: dict[str, Row] = {}
        """The rows by the ids of their flows. A row is never changed: a new one replaces it."""
        self._stale: dict[str, None] = {}
        # The ids of flows whose requests are still arriving, as keys. Requests must be put into
        # sessions in the order in which they began, but mitmweb signals the arrival of a request
        # late. So each refresh looks at these flows, even if mitmweb has signalled nothing.
        self._arriving: dict[str, None] = {}
        self._lock = asyncio.Lock()

    def open(self) -> None:
        """Subscribe to mitmweb's list of flows, and mark all of them as changed."""
        for signal, hear in self._signals:
            signal.connect(hear)
        self._mark_all_changed()

    def close(self) -> None:
        """Unsubscribe from the list, and drop all rows."""
        for signal, hear in self._signals:
            signal.disconnect(hear)
        for each in (self.rows, self._stale, self._arriving):
            each.clear()
        self._sessions = Sessions(self._messages)

    def find(self, name: str) -> HTTPFlow | None:
        """Return the flow with this id, None if it is not listed or is no conversation."""
        listed = self._view.get_by_id(name)
        return listed if rows.is_listed(listed) else None

    def flows(self) -> list[HTTPFlow]:
        """Return the flows of all conversations in mitmweb's list, the last of the list first."""
        return [each for each in reversed(list(self._view)) if rows.is_listed(each)]

    def session_exchanges(self, name: str) -> list[SessionExchange]:
        """Return the exchanges of the session to which the exchange with the id `name` belongs, and
        of all sessions related to it (`Sessions.related_sessions`), in the order in which the
        exchanges began. An exchange without a session is returned alone. Return `[]` if mitmweb no
        longer lists any of them.
        """
        kin = [each for line in self._sessions.related_sessions(name) for each in line.exchange_ids]
        return [
            session.session_exchange(flow, self.rows[flow.id], content_of(self._request(flow)))
            for each in sorted(kin or [name], key=self._created_at)
            if (flow := self.find(each)) and flow.id in self.rows
        ]

    async def refresh(self) -> None:
        """Update the rows of flows that may have changed. After each `SLICE` of work mitmproxy's
        loop gets a turn.
        """
        async with self._lock:
            self._stale |= {name: None for name in RUNNING_RECORDS if name in self.rows}
            begun = time.perf_counter()
            while self._stale:
                self._stale |= self._arriving
                for name in sorted(self._stale, key=self._created_at):
                    self._stale.pop(name, None)
                    self._update_row(name)
                    if time.perf_counter() - begun > SLICE:
                        await asyncio.sleep(0)
                        begun = time.perf_counter()

    def _update_row(self, name: str) -> None:
        """Update the row of the exchange with the id `name`; remove the row if mitmweb no longer
        lists the flow. Add the exchange to its session if its request has arrived.

        The row of an exchange in a session has two more fields: `session`, the session's name, and
        `within`, the name of the session of which that session is a branch (empty for none).
        """
        listed = self.find(name)
        if listed is None:
            for each in (self.rows, self._arriving):
                each.pop(name, None)
            return
        before = self.rows.get(name)
        row = rows.row(listed, RUNNING_RECORDS.get(name), before)
        if not self._sessions.session_of(name) and (fields := self._request_fields(name)):
            wish = housekeeping_of(fields, listed.request.path)
            added = self._sessions.add(name, str(row["client"]), messages_of(fields), wish)
            self._stale |= dict.fromkeys(added)
        self._arriving.pop(name, None)
        if listed.request.timestamp_end is None and listed.error is None:
            self._arriving[name] = None
        if of := self._sessions.session_of(name):
            row |= {"session": of.name, "within": of.parent_name}
        if before != row:
            self.rows[name] = row

    def _messages(self, name: str) -> Messages:
        """Return the messages in the client's request of the exchange with the id `name`."""
        return messages_of(self._request_fields(name))

    def _request_fields(self, name: str) -> Mapping[str, object]:
        """Return the fields of the client's request of the exchange with the id `name`. Return `{}`
        for a request without messages, or one longer than `LONGEST_PROMPT`: to read it would stop
        mitmproxy's loop too long.
        """
        listed = self.find(name)
        body = content_of(self._request(listed)) if listed else b""
        read = json_text.object_in(body) if len(body) <= LONGEST_PROMPT else {}
        return read if messages_of(read) else {}

    def _request(self, flow: HTTPFlow) -> Request:
        """Return the request that the client sent. Until the server's response begins,
        `flow.request` is the request to the server, which may be of another dialect.
        """
        running = RUNNING_RECORDS.get(flow.id)
        return running.sides.client_request or flow.request if running else flow.request

    def _created_at(self, name: str) -> float:
        """Return when the exchange with the id `name` began, 0 if mitmweb no longer lists it.
        Exchanges are read in the order of this time.
        """
        listed = self._view.get_by_id(name)
        return listed.timestamp_created if listed else 0.0

    # mitmproxy's signals pass `flow` and `index` by these names.
    def _mark_changed(self, flow: flow.Flow, index: int = 0) -> None:  # noqa: ARG002
        """Have the next refresh look at a flow that mitmweb has added, changed or removed."""
        self._stale[flow.id] = None

    def _mark_all_changed(self) -> None:
        """Have the next refresh look at all flows of the list and at all rows."""
        listed = [each.id for each in self._view]
        self._stale = dict.fromkeys([*listed, *self.rows])
