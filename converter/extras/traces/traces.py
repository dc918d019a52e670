"""`Traces`, an addon, has an OpenTelemetry span sent for each reply to a chat request while the
option `think_traces` has a URL. `spans.py` makes the spans, `sender.py` sends them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx

from converter.addon.exchange.settings import Settings
from converter.addon.extra_packages import load_optional
from converter.addon.keep.flow_record import FlowRecord, outcome_of
from converter.addon.watcher import OptionWatcher
from converter.core.model.events import Event

if TYPE_CHECKING:
    from converter.extras.traces.sender import Sender
    from converter.extras.traces.spans import TracedText

SECONDS_AT_THE_END = 3.0
"""The most seconds that mitmproxy, when it ends, waits until the last spans are sent."""


class Traces(OptionWatcher):
    """An addon that sends a span for each chat reply while `think_traces` has a URL. `chosen`: a
    function that returns the settings in force. `counts`: the addon counts its spans there,
    as `sent` or `dropped`.
    """

    name = "think-traces"
    followed_options = frozenset(("think_traces", "think_traces_words"))

    def __init__(self, chosen: Callable[[], Settings], counts: Counter[str]) -> None:
        self._chosen, self._counts = chosen, counts
        self._texts: dict[str, TracedText] = {}
        self._sender: Sender | None = None
        self._sends_text = False

    def follow(self) -> None:
        """Send the spans of further replies to the URL that `think_traces` has now; send none if it
        is empty. Raises ValueError if OpenTelemetry's packages are missing.
        """
        url, self._sends_text = self._chosen().traces, self._chosen().traces_words
        if url == (self._sender.url if self._sender else ""):
            return
        self.done()
        if url:
            module: Any = load_optional("traces", "sender", "traces", "think_traces")
            self._sender = module.Sender(url, self._counts)

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Add the events to the content of the reply's span, if `think_traces_words` is on."""
        if self._sends_text and self._sender:
            self._texts.setdefault(seen.flow.id, self._sender.text_type()).feed(events)

    def ended(self, seen: FlowRecord) -> None:
        """Have the span of a finished reply sent, if its request was a chat request."""
        text = self._texts.pop(seen.flow.id, None)
        if self._sender and seen.exchange.endpoint.is_chat:
            self._sender.add_span(seen, outcome_of(seen.flow, seen.reply_summary), text)

    def done(self) -> None:
        """Have the last spans sent. Wait for them only if mitmproxy ends, not if the script is
        reloaded or the option has changed.
        """
        if self._sender:
            self._sender.send_last(SECONDS_AT_THE_END if ctx.master.should_exit.is_set() else 0)
        self._sender = None
