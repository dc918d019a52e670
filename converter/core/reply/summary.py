"""`Summary` measures a reply: the length of its thinking and text, when they came, its calls, token
counts and finish. `describe_thinking` makes a line of it; `TIMES` are the names of its times.

The caller passes the events that reach the client, each with its time. No function here reads a
clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from converter.core.model.events import (
    Event,
    Failure,
    Finish,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reply.token_counts import counts_of

LONGEST_NAME = 300
"""The most characters of a model's name that are kept with the flow. There is a bound because a
server may send a name of any length.
"""

_COUNTED = ("model", "finish", "failure", "thoughts", "thinking", "text", "calls")
"""The attributes of `Summary` that `values` returns under their own names."""
ESTIMATED = "tokens_estimated"
"""The key of `Summary.values` whose value is True if the token counts are estimates."""
TIMES = ("first_byte", "first_thought", "first_text", "thinking_time", "end")
"""The keys of `Summary.values` whose values are times or durations. Code that shows a reply from a
file leaves them out, because it does not know when the reply's bytes came.
"""


@dataclass(slots=True)
class Summary:
    """Counts and times of one reply. The time of an event is in seconds since the request; None if
    there was no such event.
    """

    model: str = ""
    """The name of the model, as the client gets it."""
    finish: str = ""
    """The reason of the last finish; empty if none came."""
    failure: str = ""
    """The reason why the reply is not whole; empty for a whole reply."""
    thoughts: int = 0
    """The number of thoughts."""
    thinking: int = 0
    """How many characters all thoughts have."""
    text: int = 0
    """How many characters the text of the answer has."""
    calls: int = 0
    """The number of calls."""
    calling: int = 0
    """How many characters of text are held now because they may be a tool call."""
    read_from: list[str] = field(default_factory=list)
    """The names of the forms of the calls that were read from the text."""
    usage: Usage | None = None
    """The token counts that the client got; `None` if it got none."""
    timings: Mapping[str, object] = field(default_factory=dict)
    """The field `timings` of llama.cpp, with token counts and speeds; empty for other servers."""
    first_byte: float | None = None
    """The time of the first bytes."""
    first_thought: float | None = None
    """The time of the first thought's first text that is not blank."""
    first_text: float | None = None
    """The time of the answer's first text that is not blank."""
    thinking_time: float = 0.0
    """The seconds from a thought's first text to the event that ends the thought, summed over all
    thoughts.
    """
    end: float | None = None
    """The time of the last bytes."""
    _began: dict[int, float] = field(default_factory=dict)
    """The index of a choice -> the time at which its open thought began."""

    def arrived(self, at: float) -> None:
        """Record that bytes of the reply came at the time `at`, in seconds since the request."""
        self.first_byte = at if self.first_byte is None else self.first_byte
        self.end = at

    def feed(self, event: Event, at: float) -> None:
        """Count an event that came at the time `at`, in seconds since the request."""
        match event:
            case Thinking() if event.text:
                self._add_thinking(event, at)
            case Text() if event.text:
                self._add_text(event, at)
            case ToolCall():
                self._add_call(event, at)
            case ThinkingEnd() | Finish():
                self._end_thought(event.choice, at)
                self.finish = event.reason if isinstance(event, Finish) else self.finish
            case Usage():
                self.usage = event
            case Failure():
                self.failure = event.message
            case Start():
                timings = event.own.fields.get("timings") if event.own else None
                self.timings = timings if isinstance(timings, dict) else self.timings
                self.model = event.model[:LONGEST_NAME] or self.model
            case _:
                pass

    def close(self, at: float) -> None:
        """End the open thoughts at the time `at`, because the reply is over."""
        for choice in list(self._began):
            self._end_thought(choice, at)

    @property
    def counted(self) -> Usage | None:
        """The token counts: those that the client got (`usage`), else those in llama.cpp's
        `timings`; None without either. If `usage` lacks the cached tokens, they come from
        `timings`.
        """
        usage, timed = self.usage, counts_of(self.timings)
        if usage and timed and usage.cached is None:
            return replace(usage, cached=timed.cached)
        return usage or timed

    @property
    def is_unanswered(self) -> bool:
        """True if the model stopped by itself (`stop`) behind a thought, without an answer or a
        call.
        """
        answered = self.first_text is not None or self.calls
        return self.finish == "stop" and bool(self.thoughts) and not answered

    def values(self) -> dict[str, object]:
        """Return the counts and times that are known, for a flow's metadata, without empty texts.
        Most keys are names of attributes; token counts have keys such as `output_tokens`.
        """
        usage, tokens = self.counted, ("input", "output", "thinking", "cached")
        values = {
            **{name: getattr(self, name) for name in _COUNTED},
            "calling": self.calling or None,
            "calls_read_from": ", ".join(self.read_from),
            **{f"{name}_tokens": getattr(usage, name, None) for name in tokens},
            ESTIMATED: True if usage and usage.estimated else None,
            **{
                name: None if (at := getattr(self, name)) is None else round(at, 3)
                for name in TIMES
            },
        }
        return {name: value for name, value in values.items() if value not in (None, "")}

    def _add_thinking(self, event: Thinking, at: float) -> None:
        """Count the text of a thought. If no thought is open, text that is not blank begins one."""
        self.thinking += len(event.text)
        if event.choice not in self._began and not event.text.isspace():
            self._began[event.choice] = at
            self.thoughts += 1
            self.first_thought = at if self.first_thought is None else self.first_thought

    def _add_text(self, event: Text, at: float) -> None:
        """Count text of the answer. Text that is not blank ends the choice's open thought."""
        self.text += len(event.text)
        if not event.text.isspace():
            self._end_thought(event.choice, at)
            self.first_text = at if self.first_text is None else self.first_text

    def _add_call(self, event: ToolCall, at: float) -> None:
        """Count a piece of a call: only the piece with the call's name counts as a call, but each
        piece ends the choice's open thought.
        """
        self._end_thought(event.choice, at)
        self.calls += bool(event.name)
        if event.read_from and event.read_from not in self.read_from:
            self.read_from.append(event.read_from)

    def _end_thought(self, choice: int, at: float) -> None:
        """End the open thought of this choice, if there is one, and add its duration to
        `thinking_time`.
        """
        began = self._began.pop(choice, None)
        self.thinking_time += at - began if began is not None else 0.0


def describe_thinking(summary: Mapping[str, object]) -> str:
    """Return a line about a reply's thinking: `2 thoughts, 1,240 chars in 3.1 s`, or `no thought`.
    A time below `SHORTEST` is left out. `summary`: the result of `Summary.values`.
    """
    count, characters, seconds = map(summary.get, ("thoughts", "thinking", "thinking_time"))
    if not count:
        return "no thought"
    text = f"{count} thought{'s' if count != 1 else ''}, {characters:,} chars"
    timed = isinstance(seconds, float) and seconds >= SHORTEST
    return f"{text} in {seconds:.1f} s" if timed else text


SHORTEST = 0.05
"""The shortest thinking time that is shown, in seconds. A shorter one means nothing: the reply came
whole, and all its events at once.
"""
