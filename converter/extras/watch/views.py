"""`Views` adds the content views `Thinking` and `Thinking server` to mitmproxy. They show a request
or reply as a readable conversation; `converter.addon.transcript.text` writes the text.

mitmproxy chooses the view `Thinking` for model traffic; the view shows the client's request and
reply. `Thinking server` shows the request to the server and the server's reply. They are in the
flow's backup, which mitmproxy's *Revert* restores. A flow without a backup has one request and one
reply, and both views show these. A view never fails: bytes that cannot be read are shown as they
are, at the end.
"""

import logging
import re
from collections.abc import Iterator, Mapping

from mitmproxy import contentviews, ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.contentviews import Contentview, Metadata, SyntaxHighlight
from mitmproxy.http import HTTPFlow, Request, Response

from converter.addon.http_messages import content_of
from converter.addon.keep.flow_record import notes_of
from converter.addon.keep.notes import LET_GO
from converter.addon.keep.shown_flow import backup_of, facts_of, reading_of, sent_of
from converter.addon.mitmproxy_internals import flow_list
from converter.addon.transcript import reply, request, text
from converter.addon.transcript.turns import Transcript
from converter.core.dialects.table import find_endpoint
from converter.core.wire import json_text
from converter.core.wire.beginnings import FirstBytes, beginning_of
from converter.core.wire.cut_json import complete_part
from converter.core.wire.printable import visible
from converter.extras.watch.live_view import RUNNING

_log = logging.getLogger(__name__)

STREAM_LIMIT = 8 << 20
"""The most bytes of a stream that a view reads. A stream of 8 MB has 32,000 tokens, and takes two
seconds to read.
"""
WHOLE_LIMIT = 1 << 20
"""The most bytes that a view reads of a body that is no stream: some 250,000 tokens of text. If the
text has many short lines, they take as long to read as `STREAM_LIMIT` bytes of a stream.
"""
TEXT_LIMIT = 300_000
"""The most characters of a view's text. mitmproxy searches the text for control characters, and
needs half a second for a million characters.
"""
LINES_LIMIT = 4_800
"""The most lines of a view's text: fewer than mitmweb shows (`LINES`), so that the end is
visible.
"""
WHERE_ALL_IS = "The page /think and think.show have all."
"""The sentence after a note that a view has left text out: where the whole text can be read."""
_FIRST, _LAST = 2 / 3, 1 / 3
"""If a text is too long for a view, its first lines get two thirds of the limit, its last lines one
third.
"""
LINES = 5000
"""The lines of a view that mitmproxy shows at once. mitmproxy's default is 512, less than a long
thought, so that the answer after it would be hidden.
"""
_AROUND = 9
"""How many lines the console shows beside a reply's body and headers: the flow, tabs and help, and
the view's line with the number of hidden lines.
"""
_LEAST_LINES = 5
"""The fewest lines of a running reply that the console shows, however small its window is."""
_LET_GO = "# The server's own bytes are not kept any more: think_limits bounds the memory.\n"
"""The text of the view `Thinking server` if the server's bytes are no longer kept."""


class ThinkingView(Contentview):
    """The view `Thinking`: the request that the client sent, and the reply that it got."""

    name = "Thinking"
    syntax_highlight: SyntaxHighlight = text.HIGHLIGHT
    priority = 10.0
    """Higher than the priority of each view of mitmproxy's, so that mitmproxy chooses this view."""
    of_server = False
    """True if the view shows the request that the server got and the reply that it sent; False if
    it shows the client's.
    """

    def render_priority(self, data: bytes, metadata: Metadata) -> float:
        """Return `priority` for model traffic, else -1, so that mitmproxy chooses another view. A
        body that is HTML is no model traffic.
        """
        message, flow = metadata.http_message, metadata.flow
        if (
            not isinstance(flow, HTTPFlow)
            or message is None
            or beginning_of(data) is FirstBytes.PAGE
        ):
            return -1
        endpoint = find_endpoint(flow.request.method, flow.request.path)
        of_request = isinstance(message, Request)
        ours = endpoint and (endpoint[0].is_request if of_request else endpoint[0].is_chat)
        return self.priority if ours else -1

    def prettify(self, data: bytes, metadata: Metadata) -> str:
        """Return the message's body, `data`, as a transcript. The transcript of a running reply has
        the content that has come so far.
        """
        flow = metadata.flow
        live = RUNNING.get(flow.id) if flow else None
        try:
            if live and isinstance(metadata.http_message, Response):
                written = _view_text(live.transcript(self.of_server), live.facts)
                return last_rows(written, *_visible_size(metadata.http_message))
            return self._complete_text(data, metadata)
        except Exception:  # Our own fault: show the bytes as they came.
            _log.exception("think: the view %s failed", self.name)
            return visible(data.decode(errors="backslashreplace"))

    def _complete_text(self, data: bytes, metadata: Metadata) -> str:
        """Return the view's text for a complete request or reply. `data`: the body that mitmproxy
        shows. For the view `Thinking server` the body that the server got or sent is read instead.
        """
        flow, message = metadata.flow, metadata.http_message
        if self.of_server and isinstance(flow, HTTPFlow) and notes_of(flow).get(LET_GO):
            return _LET_GO
        if self.of_server:
            other = sent_of(flow) if isinstance(message, Request) else backup_of(flow)
            data, message = (content_of(other), other) if other else (data, message)
        chosen, expected = reading_of(flow, self.of_server)
        begun = readable_beginning(data)
        read, every = (f"{len(body) / (1 << 20):.1f}" for body in (begun, data))
        left_out = f"# The first {read} of {every} MB. {WHERE_ALL_IS}\n"
        note = left_out if begun is not data else ""
        if isinstance(message, Request):
            return note + _view_text(request.read(begun, chosen), {})
        content_type = (
            message.headers.get("content-type", "") if message else metadata.content_type or ""
        )
        answer = reply.read(begun, chosen, content_type, expected=expected)
        return note + _view_text(answer, facts_of(flow))


class ThinkingServerView(ThinkingView):
    """The view `Thinking server`: the request that the server got, and the reply that it sent."""

    # mitmweb has a view's name in a URL, whose route matches no parentheses: a view named
    # "Thinking (server)" would not work.
    name = "Thinking server"
    priority = -1.0
    """Lower than all others: mitmproxy never chooses this view, only a person does."""
    of_server = True


class Views:
    """An addon that adds the views to mitmproxy, and sets mitmproxy's options for them."""

    name = "think-views"

    def load(self, _: Loader) -> None:
        """Add the views to mitmproxy, unless an earlier load of the script has added them."""
        for kind in (ThinkingView, ThinkingServerView):
            if not isinstance(contentviews.registry.get(kind.name.lower()), kind):
                contentviews.add(kind())

    def running(self) -> None:
        """Have mitmweb's list show the comments of flows, and mitmproxy show `LINES` lines of a
        view at once. Options that the user has set stay as they are.
        """
        options = ctx.options
        if flow_list() is not None and not options.has_changed("content_view_lines_cutoff"):
            options.update(content_view_lines_cutoff=LINES)
        if "web_columns" in options and not options.has_changed("web_columns"):
            options.update(web_columns=[*options.web_columns, "comment"])


def _view_text(transcript: Transcript, facts: Mapping[str, object]) -> str:
    """Return a transcript as a view's text, with long lines broken. `facts`: the reply's counts and
    times, for its end. If the text is too long for a view, its middle is left out.
    """
    return shorten_text(wrap_lines(text.write(transcript, facts)))


def last_rows(written: str, columns: int, lines: int) -> str:
    """Return the last lines of a text that fit into `lines` rows of `columns` characters on the
    screen, below a line with the number of hidden lines. Return the whole text if it fits, or if
    `lines` is 0.
    """
    every = written.removesuffix("\n").split("\n")
    kept, room = len(every), lines
    while kept and (room := room - 1 - max(0, len(every[kept - 1]) - 1) // columns) >= 0:
        kept -= 1
    return (
        f"# {kept} lines above, until the reply is complete\n" + "\n".join(every[kept:]) + "\n"
        if kept and lines
        else written
    )


def _visible_size(response: Response) -> tuple[int, int]:
    """Return how many columns and lines the console shows of a running reply. In mitmweb, where a
    view can be scrolled, the number of lines is 0, which means no limit.

    The console scrolls to the top of a flow at each change, so the last lines of a longer text
    would never be visible.
    """
    ui = getattr(ctx.master, "ui", None)
    if ui is None:
        return WIDTH, 0
    columns, rows = ui.get_cols_rows()
    rows = rows if ctx.options.console_layout == "single" else rows // 2
    return max(1, columns), max(_LEAST_LINES, rows - _AROUND - len(response.headers.fields))


def readable_beginning(body: bytes) -> bytes:
    """Return the beginning of a body, up to a view's limit, in a form that can be read: whole
    frames of a stream, or a JSON object that is closed where it is cut. If there is no such form,
    return the bytes up to the limit. Return a body within the limit unchanged.
    """
    is_object = beginning_of(body) is FirstBytes.JSON
    limit = WHOLE_LIMIT if is_object else STREAM_LIMIT
    if len(body) <= limit:
        return body
    cut = body[:limit]
    if not is_object:
        return cut[: cut.rfind(b"\n\n") + 2 or limit]
    closed = complete_part(cut.decode(errors="ignore"), cut_string=True).encode()
    return closed if json_text.readable(closed) else cut


def shorten_text(written: str) -> str:
    """Return a text's first and last lines, with a line between that tells how many characters are
    left out. Return a short text unchanged.
    """
    if len(written) <= TEXT_LIMIT and written.count("\n") <= LINES_LIMIT:
        return written
    first = written[: int(_FIRST * TEXT_LIMIT)].split("\n")[:-1][: int(_FIRST * LINES_LIMIT)]
    last = written[-int(_LAST * TEXT_LIMIT) :].split("\n")[1:][-int(_LAST * LINES_LIMIT) :]
    ends = "\n".join(first), "\n".join(last)
    between = len(written) - sum(map(len, ends))
    note = f"# {between:,} characters are left out here. {WHERE_ALL_IS}"
    return f"{ends[0]}\n{note}\n{ends[1]}"


WIDTH = 72
"""The columns of a line. mitmweb's page, if it is 1280 pixels wide, shows 72 columns beside its
list.
"""
_INDENT = "  "
"""The text before each further piece of a broken line, so that it does not look like a new line."""
_PREFIX = re.compile(r"[ ]*+(?:#│? )?+")
"""Matches the beginning of a line: blanks, and the mark `# ` or `#│ `. When a long line is broken,
each further piece begins with the same text.
"""


def wrap_lines(written: str) -> str:
    """Return a transcript's text with its long lines broken, because mitmweb's page does not wrap
    lines.

    Each further piece of a line begins with the line's mark (`#│ ` in a thought), so that it has
    the same colour, and is indented further. An empty line gets a blank, because the page shows an
    empty line without height.
    """
    body = written.removesuffix("\n")
    if not body:
        return written
    pieces = (piece for line in body.split("\n") for piece in _line_pieces(line or " "))
    return "\n".join(pieces) + written[len(body) :]


def _line_pieces(line: str) -> Iterator[str]:
    """Yield a line in pieces of at most `WIDTH` columns, broken at blanks. Only a word that is
    longer than a piece is cut.
    """
    prefix = _PREFIX.match(line)
    begin = prefix.end() if prefix else 0
    lead = line[:begin]
    further = lead + _INDENT
    while len(line) - begin > (room := max(WIDTH - len(lead), WIDTH // 2)):
        blank = line.rfind(" ", begin + 1, begin + room + 1)
        if line.startswith('":', blank - 2):  # No break between a key in JSON and its value.
            blank = (line.rfind(", ", begin, blank) + 1) or blank
        end = blank if blank > begin else begin + room
        yield lead + line[begin:end]
        lead, begin = further, end + (blank > begin)
    yield lead + line[begin:]
