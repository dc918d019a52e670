"""`OpenPage` keeps the state of one page that is open in a browser: which exchanges the page shows,
and which changes it must still get (rows, replies, chunks). `handlers.py` sends the changes.

The page may show the steps of a reply, even while the reply comes. A step is one chunk from the
server, its time, and the bytes that the client got for it, as in a golden.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.http_messages import content_of
from converter.addon.keep.both_sides import BothSides
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.keep.side_reader import SideReader
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.shown import Values, news_json
from converter.extras.page.conversation import exchange_values, final_values
from converter.extras.page.listed import ListRows
from converter.extras.page.row import Row

NO_RECORDER = "expected converter/extras/recordings, which is not there"
"""The error for an action that needs the extra `recordings`, if that extra was deleted."""
MOST_CHOSEN = 2
"""The most exchanges that a page shows side by side."""
WINDOW = 500
"""The most steps (chunks with the client's bytes) that are sent to a page at once."""

type WireStep = tuple[float | None, bytes, bytes]
"""The seconds from the request to a chunk of the server, the chunk, and the bytes that the client
got for it. The time is None for bytes that belong to no single chunk, such as those that the client
got at the end of a reply.
"""


@dataclass(slots=True)
class _Chosen:
    """An exchange that the page shows."""

    flow_id: str
    """The id of the exchange's flow."""
    running_reader: SideReader | None = None
    """Reads the new bytes of the reply while it comes; None before the page has got the exchange,
    and when the reply has ended.
    """
    sent_row: Row | None = None
    """The row that `ListRows` had when the page last got the whole exchange. If it has another row
    now, the flow has changed, and the page gets the whole exchange again.
    """


@dataclass(slots=True)
class _WireView:
    """A reply whose steps the page shows: each chunk, and the bytes that the client got for it."""

    flow_id: str
    """The id of the reply's flow."""
    next_step: int
    """The index, in the steps of the reply, of the step to send next. With -1 the page gets the
    last `WINDOW` steps of a running reply, or the first `WINDOW` steps of a complete one.
    """
    all_steps: tuple[Sequence[WireStep], str] | None = None
    """All steps of a complete reply, and a text to show with them (empty if there is none). None
    while the reply is running, and until its steps have been read.
    """
    must_send: bool = True
    """True if the page must get a message: the page has just asked, or there are new steps."""


@dataclass
class OpenPage:
    """The state of one open page; collects the changes that the page must still get."""

    list_rows: ListRows
    """The rows of the exchanges in mitmweb's list."""
    message_came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the page has sent a message, so that `wait_for_message` returns at once."""
    _sent_rows: dict[str, Row] = field(default_factory=dict)
    """Id of a flow -> the row that the page has."""
    _chosen_exchanges: dict[str, _Chosen] = field(default_factory=dict)
    """Id of a flow -> the exchange that the page shows; at most `MOST_CHOSEN`."""
    _wire: _WireView | None = None
    """The reply whose chunks the page shows, with the client's bytes; None if it shows none."""

    def receive(self, message: object) -> None:
        """Store which exchanges the page shows (`{"choose": [ID, ...]}`; chunks are then no longer
        shown), or the exchange whose chunks it shows (`{"wire": {"id": ID, "from": INDEX}}`, or
        `{"wire": null}` to show no chunks). Ignore any other message. INDEX is
        `_WireView.next_step`.
        """
        match message:
            case {"choose": [*names]}:
                wanted = [name for name in names if isinstance(name, str)][:MOST_CHOSEN]
                self._chosen_exchanges = {name: _Chosen(name) for name in wanted}
                self._wire = None
            case {"wire": {"id": str(name), "from": int(begin)}}:
                whole = self._wire.all_steps if self._wire and self._wire.flow_id == name else None
                self._wire = _WireView(name, begin, whole)
            case {"wire": None}:
                self._wire = None
            case _:
                return
        self.message_came.set()

    async def wait_for_message(self, seconds: float) -> None:
        """Wait until the page sends a message, but at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.message_came.wait(), seconds)
        # Cleared here, not in `next_changes`: the loop of `handlers.Updates` calls that method only
        # when the page has read the last update. An event that stays set would end each wait at
        # once.
        self.message_came.clear()

    async def next_changes(self) -> Values:
        """Return the page's JSON on all changes since the last call: new and changed `rows` of the
        list, ids that are `gone` from it, changes of the exchanges that the page shows (`chosen`),
        and new steps of the reply whose chunks it shows (`wire`). A field without changes is left
        out.
        """
        await self.list_rows.refresh()
        chosen = [
            exchange
            for each in list(self._chosen_exchanges.values())
            if (exchange := await self._changes_of(each))
        ]
        listed, sent, now = self.list_rows.rows, self._sent_rows, time.time()
        fresh = [row for name, row in listed.items() if sent.get(name) is not row]
        rows = [{**row, "age": round(now - float(str(row["at"])), 3)} for row in fresh]
        news = {"rows": rows, "gone": [name for name in sent if name not in listed]}
        self._sent_rows = dict(listed)
        news |= {"chosen": chosen, "wire": await self._next_steps()}
        return {name: value for name, value in news.items() if value}

    async def _changes_of(self, chosen: _Chosen) -> Values | None:
        """Return the changes of an exchange that the page shows, None if nothing has changed.
        Return the whole exchange at the first call, and when the flow of a finished exchange has
        changed; `{"id": ID, "gone": True}` when mitmweb no longer lists the flow.
        """
        flow = self.list_rows.find(chosen.flow_id)
        if flow is None:
            del self._chosen_exchanges[chosen.flow_id]
            return {"id": chosen.flow_id, "gone": True}
        if chosen.running_reader:
            return await self._followed_changes(flow, chosen, chosen.running_reader)
        row = self.list_rows.rows.get(chosen.flow_id)
        if row is chosen.sent_row:
            return None
        running = RUNNING_RECORDS.get(chosen.flow_id)
        chosen.sent_row = row
        whole = await asyncio.to_thread(exchange_values, flow, running is not None)
        if running is None:
            return whole
        chosen.running_reader = SideReader(running)
        return {**whole, "said": await _news_in_thread(chosen.running_reader.news)}

    async def _followed_changes(
        self, flow: HTTPFlow, chosen: _Chosen, follower: SideReader
    ) -> Values | None:
        """Return what has come of a reply since the last call: new parts (`said`), and its `end`
        when it has ended. Return None if nothing has come. `follower` reads the new bytes. If the
        reply was not streamed, return the whole exchange when it has ended.
        """
        if RUNNING_RECORDS.get(chosen.flow_id) is follower.record:
            news = await _news_in_thread(follower.news)
            return {"id": chosen.flow_id, "said": news} if news else None
        chosen.running_reader = None
        # A reply that was not streamed has no parts: `follower` has read nothing.
        if not follower.record.sides.client_bytes:
            return await self._changes_of(chosen)
        news = await _news_in_thread(follower.close)
        chosen.sent_row = self.list_rows.rows.get(chosen.flow_id)
        return {"id": flow.id, "said": news, "end": final_values(flow, follower.transcript())}

    async def _next_steps(self) -> Values | None:
        """Return the next steps of the reply whose chunks the page shows, or None if it shows no
        chunks, has got all steps, or mitmweb no longer lists the flow. New steps of a running reply
        are returned as they come. Steps of a complete reply are returned when the page asks for
        them, `WINDOW` at a time.
        """
        view = self._wire
        flow = self.list_rows.find(view.flow_id) if view else None
        if view is None or flow is None:
            return None
        note = ""
        if running := RUNNING_RECORDS.get(view.flow_id):
            total = len(running.sides.client_lengths)
            begin = view.next_step if view.next_step >= 0 else max(0, total - WINDOW)
            steps: Sequence[WireStep] = running_steps(running.sides, begin)[:WINDOW]
            view.next_step, view.must_send = begin + len(steps), view.must_send or bool(steps)
        else:
            if view.all_steps is None:
                view.all_steps, view.must_send = await asyncio.to_thread(reply_steps, flow), True
            begin, (whole, note) = max(0, view.next_step), view.all_steps
            steps, total = whole[begin:], len(whole)
        due, view.must_send = view.must_send, False
        return {"id": view.flow_id, **window_values(steps, begin, total, note)} if due else None


async def _news_in_thread(read_news: Callable[[], list[News]]) -> list[Values]:
    """Call `read_news` in a thread, because it may have to read many new bytes of a reply. Return
    the new parts that it has read, as JSON values.
    """
    return await asyncio.to_thread(lambda: news_json(read_news()))


def window_values(
    steps: Sequence[WireStep], begin: int, total: int, note: str = ""
) -> dict[str, object]:
    """Return the page's JSON for the first `WINDOW` of these steps of a reply. `begin`: the index
    of the first of them in the reply; `total`: the number of all steps of the reply; `note`: a text
    to show with the steps.
    """
    rows = [[at, _text(came), _text(went)] for at, came, went in steps[:WINDOW]]
    return {"from": begin, "total": total, "rows": rows, "note": note}


def _text(sent: bytes) -> str:
    """Return bytes as text, with escapes for bytes that are not UTF-8."""
    return sent.decode(errors="backslashreplace")


def reply_steps(flow: HTTPFlow) -> tuple[Sequence[WireStep], str]:
    """Return all steps of a complete reply, and a note to show with them, empty if there is none.

    The extra `recordings` rewrites the reply again to get the steps. Without this extra, there is
    one step with all of the client's bytes.
    """
    recorder = ctx.master.addons.get("think-recorder")
    if recorder is None:
        got = content_of(flow.response)
        return [(None, got, got)], f"Only the client's bytes are kept: {NO_RECORDER}"
    steps: tuple[Sequence[WireStep], str] = recorder.wire_steps(flow)
    return steps


def running_steps(running: BothSides, begin: int) -> list[WireStep]:
    """Return the steps of a running reply from index `begin` on."""
    got, went = running.client_bytes or b"", pairwise([0, *running.client_lengths][begin:])
    steps = zip(running.chunks[begin:], running.cuts[begin:], went, strict=False)
    return [(at, chunk, bytes(got[start:end])) for chunk, (_, at), (start, end) in steps]
