"""The calls of a reply's text: the tools that are offered, and the notes on what was read."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

CUT = "length"
"""The finish of a reply that had more to say."""
BY_ITSELF = ("stop", "tool_calls")
"""The finishes of a reply that ended by itself."""


SHOWN = 8
"""Names of arguments that the log shows."""
NO_FORM = "it does not go on as calls of its form do"


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a request offers: schemas by name, whether a reply may call several at once,
    and whether the user asked for an answer in JSON.
    """

    schemas: Mapping[str, Mapping[str, object]]
    parallel: bool = True
    wants_json: bool = False


@dataclass(slots=True)
class CallsRead:
    """The calls that were read from the text of a reply.

    `held`: the characters of one that is being written; `forms`: those that were whole, by the
    names of their forms; `thought`: the same for those in a thought. `cut`: the tools of those that
    were cut off after their arguments had begun; `text`: of those cut off before; `repeated`: of
    those that repeated a draft, and were left out; `mended`: of any calls whose arguments were not
    quite JSON; `typed`: the arguments of any calls whose values got the types of the schema.
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
        """The facts that a person may want to know, a line each."""
        names = ", ".join([*dict.fromkeys(map(repr, self.typed))][:SHOWN])
        values = "value of a call" if len(self.typed) == 1 else "values of calls"
        typed = f"{len(self.typed)} {values} put in the schema's type: {names}"
        read = [*_counted(self.forms, "text"), *_counted(self.thought, "a thought")]
        return [*read, typed] if self.typed else read

    @property
    def notes(self) -> list[str]:
        """The notes for a person, a line each."""
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
    number = forms.total()
    calls = "call" if number == 1 else "calls"
    return [f"{number} {calls} read from {source}: {', '.join(forms)}"] if number else []
