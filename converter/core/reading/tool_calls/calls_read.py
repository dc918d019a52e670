"""`CallsRead` counts the calls that were read from the text of a reply, keeps the names of their
tools, and writes lines about them for the log. `Tools` has the tools that the request offers, and
`CUT` and `BY_ITSELF` are finish reasons.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

CUT = "length"
"""The finish reason of a reply that was cut off at a limit."""
BY_ITSELF = ("stop", "tool_calls")
"""The finish reasons of a reply that the model has ended itself."""
SHOWN = 8
"""The most names of arguments in one line of the log."""
NO_FORM = "it does not go on as calls of its form do"
"""The reason in the error that the client gets for a call without a clear meaning in the text."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a request offers."""

    schemas: Mapping[str, Mapping[str, object]]
    """Name of a tool -> the JSON schema of its parameters."""
    parallel: bool = True
    """True if a reply may have several calls."""
    wants_json: bool = False
    """True if the request asks for an answer in JSON."""


@dataclass(slots=True)
class CallsRead:
    """Counts and names of the calls that were read from the text of a reply."""

    held_characters: int = 0
    """How many characters of an incomplete call are held now."""
    text_forms: Counter[str] = field(default_factory=Counter)
    """Name of a form -> how many complete calls of this form were read from the reply's text. A
    call within a thought of this text is counted only if it was emitted as a call.
    """
    thought_forms: Counter[str] = field(default_factory=Counter)
    """Name of a form -> how many complete calls of this form were read by `ThoughtCalls`: from
    thoughts that the server sent in a field, and from closed thoughts.
    """
    cut_calls: list[str] = field(default_factory=list)
    """The tools' names in calls that were emitted but were cut off within their arguments."""
    calls_left_text: list[str] = field(default_factory=list)
    """The tools' names in calls that were cut off so early that they are emitted as text."""
    repetitions: list[str] = field(default_factory=list)
    """The tools' names in calls that were dropped, because they repeat a call in the reply's
    thought.
    """
    mended_calls: list[str] = field(default_factory=list)
    """The tools' names in calls whose arguments the assembler mended (`Arguments.mended`): mostly
    calls that the server sent itself. For calls that were read from text, `judge` has mended the
    JSON before, and this is not noted here.
    """
    typed_arguments: list[str] = field(default_factory=list)
    """The names of arguments whose values the assembler converted to a type of the schema
    (`ArgumentValues`), one for each value, in calls of the server and in calls from text. Values
    that stand between marks, and so have no type of their own, get it from `judge` and do not
    count.
    """

    @property
    def hints(self) -> list[str]:
        """Lines for the log, level INFO: how many calls were read in which forms, and the arguments
        whose values were converted to the schema's type.
        """
        names = ", ".join([*dict.fromkeys(map(repr, self.typed_arguments))][:SHOWN])
        values = "value of a call" if len(self.typed_arguments) == 1 else "values of calls"
        typed = f"{len(self.typed_arguments)} {values} put in the schema's type: {names}"
        read = _count_lines(self.text_forms, "text") + _count_lines(self.thought_forms, "a thought")
        return [*read, typed] if self.typed_arguments else read

    @property
    def notes(self) -> list[str]:
        """Lines for the log about calls that need the user's attention: calls that were cut off,
        left out as repetitions, or had arguments that the assembler mended.
        """
        cut = [f"the call of {name!r} in the text was cut off" for name in self.cut_calls]
        text = [f"a call of {name!r} was cut off and stays text" for name in self.calls_left_text]
        again = [
            f"a call of {name!r} repeats one in its thought: left out" for name in self.repetitions
        ]
        mended = [
            f"the arguments of the call of {name!r} were not quite JSON and were mended"
            for name in self.mended_calls
        ]
        return [*cut, *text, *again, *mended]


def _count_lines(forms: Counter[str], source: str) -> list[str]:
    """Return a list with the line `2 calls read from text: hermes`; an empty list if no call was
    read.

    `forms`: name of a form -> number of calls. `source`: the source that the line names (`text`).
    """
    number = forms.total()
    calls = "call" if number == 1 else "calls"
    return [f"{number} {calls} read from {source}: {', '.join(forms)}"] if number else []
