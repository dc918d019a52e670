"""The page's rows of the exchanges in mitmweb's list, and their updates when a flow has changed."""

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

if TYPE_CHECKING:  # mitmproxy's own binary of mitmdump lacks this module.
    from mitmproxy.addons.view import View

SLICE = 0.01
"""Seconds of work on rows after which mitmproxy's loop may do other work. A list of thousands takes
many such slices.
"""


class Listed:
    """The page's rows, kept up to date between `open` and `close`.

    Attributes:
        rows: the rows by the ids of their flows. A row is never changed: a new one replaces it.
    """

    def __init__(self, view: "View") -> None:
        self._view = view
        self._signals: tuple[tuple[Any, Callable[..., None]], ...] = (
            (view.sig_view_add, self._changed),
            (view.sig_view_update, self._changed),
            (view.sig_view_remove, self._changed),
            (view.sig_view_refresh, self._all_changed),
        )
        self._sessions = Sessions(self._messages)
        self.rows: dict[str, Row] = {}
        self._stale: dict[str, None] = {}
        # Requests that are still arriving. mitmweb signals their end late, but a session that one
        # of them begins must exist before later rows are read.
        self._arriving: dict[str, None] = {}
        self._lock = asyncio.Lock()

    def open(self) -> None:
        """Subscribe to mitmweb's list of flows, and mark all of them as changed."""
        for signal, hear in self._signals:
            signal.connect(hear)
        self._all_changed()

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
        """Return the flows of all conversations, the newest first."""
        return [each for each in reversed(list(self._view)) if rows.is_listed(each)]

    def session(self, name: str) -> list[SessionExchange]:
        """Return the exchanges of the session, and of its branches, to which the exchange with this
        id belongs, in the order in which they began.
        """
        kin = [each for line in self._sessions.family(name) for each in line.exchanges]
        return [
            session.session_exchange(flow, self.rows[flow.id], content_of(self._request(flow)))
            for each in sorted(kin or [name], key=self._created_at)
            if (flow := self.find(each)) and flow.id in self.rows
        ]

    async def refresh(self) -> None:
        """Read the rows again whose flows may have changed, and let the loop run in between."""
        async with self._lock:
            self._stale |= {name: None for name in RUNNING_RECORDS if name in self.rows}
            begun = time.perf_counter()
            while self._stale:
                self._stale |= self._arriving
                for name in sorted(self._stale, key=self._created_at):
                    self._stale.pop(name, None)
                    self._read(name)
                    if time.perf_counter() - begun > SLICE:
                        await asyncio.sleep(0)
                        begun = time.perf_counter()

    def _read(self, name: str) -> None:
        listed = self.find(name)
        if listed is None:
            for each in (self.rows, self._arriving):
                each.pop(name, None)
            return
        before = self.rows.get(name)
        row = rows.row(listed, RUNNING_RECORDS.get(name), before)
        row |= self._session_fields(listed, str(row["client"]))
        if before != row:
            self.rows[name] = row

    def _session_fields(self, listed: HTTPFlow, client: str) -> Row:
        """Add the exchange to its session once its request has arrived. Return the row's fields
        `session` and `within`, the session of which this one is a branch; `{}` before.
        """
        if not self._sessions.of(listed.id) and (fields := self._fields(listed.id)):
            wish = housekeeping_of(fields, listed.request.path)
            added = self._sessions.add(listed.id, client, messages_of(fields), wish)
            self._stale |= dict.fromkeys(added)
        self._arriving.pop(listed.id, None)
        if listed.request.timestamp_end is None and listed.error is None:
            self._arriving[listed.id] = None
        of = self._sessions.of(listed.id)
        return {"session": of.name, "within": of.within} if of else {}

    def _messages(self, name: str) -> Messages:
        return messages_of(self._fields(name))

    def _fields(self, name: str) -> Mapping[str, object]:
        """Return the fields of the client's request; `{}` for a request without messages, and for
        one longer than `LONGEST_PROMPT`, which would hold up mitmproxy's loop.
        """
        listed = self.find(name)
        body = content_of(self._request(listed)) if listed else b""
        read = json_text.object_in(body) if len(body) <= LONGEST_PROMPT else {}
        return read if messages_of(read) else {}

    def _request(self, flow: HTTPFlow) -> Request:
        """Return the client's request. The flow of a running exchange has the request to the server
        in its place, which may be of another dialect.
        """
        running = RUNNING_RECORDS.get(flow.id)
        return running.sides.client_request or flow.request if running else flow.request

    def _created_at(self, name: str) -> float:
        """Return the time at which an exchange began, in which order a session grows."""
        listed = self._view.get_by_id(name)
        return listed.timestamp_created if listed else 0.0

    # mitmproxy's signals pass these arguments by name.
    def _changed(self, flow: flow.Flow, index: int = 0) -> None:  # noqa: ARG002
        self._stale[flow.id] = None

    def _all_changed(self) -> None:
        listed = [each.id for each in self._view]
        self._stale = dict.fromkeys([*listed, *self.rows])
