"""The offered tools, and the notes on calls that were read from a reply's text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

CUT = "length"
"""The finish reason of a reply that was cut off at a limit."""
BY_ITSELF = ("stop", "tool_calls")
"""The finish reasons of a reply that the model itself has ended."""


SHOWN = 8
"""How many names of arguments a line of the log has at most."""
NO_FORM = "it does not go on as calls of its form do"
"""The reason in the client's error for a call in the text that has no clear meaning."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a request offers.

    Attributes:
        schemas: the JSON schemas of the tools' parameters, by the tools' names.
        parallel: True if a reply may have several calls.
        wants_json: True if the request asks for an answer in JSON.
    """

    schemas: Mapping[str, Mapping[str, object]]
    parallel: bool = True
    wants_json: bool = False


@dataclass(slots=True)
class CallsRead:
    """Notes on the calls that were read from the text of a reply.

    Attributes:
        held: how many characters of an incomplete call are held now.
        forms: how many whole calls were read, by the name of their form.
        thought: how many whole calls were read from the server's thinking, by the form's name.
        cut: the names of tools in calls that were emitted but were cut off within their arguments.
        text: the names of tools in calls that were cut off so early that they are emitted as text.
        repeated: the names of tools in calls that were dropped as repetitions of an earlier call.
        mended: the names of tools in calls whose arguments were not quite JSON, also in the calls
            that the server sent itself.
        typed: the names of arguments whose values were converted to a type of the schema, also in
            the calls that the server sent itself.
    """

    held: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    thought: Counter[str] = field(default_factory=Counter)
    cut: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)

    @property
    def hints(self) -> list[str]:
        """Lines for the log about calls that were read and types that were changed."""
        names = ", ".join([*dict.fromkeys(map(repr, self.typed))][:SHOWN])
        values = "value of a call" if len(self.typed) == 1 else "values of calls"
        typed = f"{len(self.typed)} {values} put in the schema's type: {names}"
        read = [*_counted(self.forms, "text"), *_counted(self.thought, "a thought")]
        return [*read, typed] if self.typed else read

    @property
    def notes(self) -> list[str]:
        """Lines for the log about calls that were cut, left out or mended."""
        cut = [f"the call of {name!r} in the text was cut off" for name in self.cut]
        text = [f"a call of {name!r} was cut off and stays text" for name in self.text]
        again = [
            f"a call of {name!r} repeats one in its thought: left out" for name in self.repeated
        ]
        mended = [
            f"the arguments of the call of {name!r} were not quite JSON and were mended"
            for name in self.mended
        ]
        return [*cut, *text, *again, *mended]


def _counted(forms: Counter[str], source: str) -> list[str]:
    """Return a line with the number of calls that were read from `source`, and their forms; an
    empty list if there are none.
    """
    number = forms.total()
    calls = "call" if number == 1 else "calls"
    return [f"{number} {calls} read from {source}: {', '.join(forms)}"] if number else []
