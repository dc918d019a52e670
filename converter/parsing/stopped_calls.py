"""A tool call that a stop string of the request cut off: a stage that tells so at the reply's end.

llama.cpp stops in the middle of a call that it parses itself and calls the reply `tool_calls` all
the same (xllamacpp 2026.10), or `stop` where it leaves calls in the text, and names no
string. vLLM names the string, and says `tool_calls`. The arguments tell: they are cut off where
nothing in them is wrong. A call like that must not be run, and the reply did not end by itself.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.model.events import Event, Finish, ToolCall, WordKind
from converter.wire.partial_json import PartialJson

_WHOLE = ("stop", "tool_calls", "function_call")
"""The finishes of a reply that no limit and no filter cut off."""


class StoppedCalls:
    """Events of one choice in, events out. `strings`: the stop strings of the request."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._string = strings[0] if len(strings) == 1 else ""
        self._last = ToolCall(-1, "", "", "")
        self._arguments = PartialJson()  # of the last call

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event; a finish says `stop` if the last call lacks its end."""
        match event:
            case ToolCall():
                if self._is_new(event):
                    self._last, self._arguments = event, PartialJson()
                self._arguments.feed(event.arguments)
            case Finish() if self._is_cut and event.reason in _WHOLE:
                named = event.stop_sequence
                return [replace(event, reason="stop", stop_sequence=named or self._string)]
        return [event]

    @property
    def _is_cut(self) -> bool:
        return self._arguments.begun and not self._arguments.unfit

    def _is_new(self, event: ToolCall) -> bool:
        """Tell whether another call begins; some servers send all under one index."""
        other = event.id not in ("", self._last.id) or bool(event.name and not self._is_cut)
        return other or event.index != self._last.index

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return the words as they are: none of them matters here."""
        return kind, ""

    def close(self) -> Sequence[Event]:
        """Return nothing: nothing is held."""
        return []
