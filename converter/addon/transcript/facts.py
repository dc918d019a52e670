"""Write facts (name -> value) as text: the lines at the end of a reply's transcript with its model,
finish, tokens and times (`fact_lines`), and the value of any fact or setting (`as_text`).
"""

from collections.abc import Callable, Mapping

from converter.addon.transcript.turns import Facts
from converter.core.reply.summary import ESTIMATED, SHORTEST, TIMES
from converter.core.wire.printable import compact

_WITHOUT_LINE = ("failure", "text", "calls")
"""The names of facts that get no line, because the transcript itself shows the failure, the text
and the calls.
"""


def merge_facts(own: Facts, more: Facts | None) -> Facts:
    """Return two mappings of a reply's facts as one. `own`: those that the transcript has from the
    reply's bytes. `more`: those that were recorded while the reply came; None if there are none. If
    both have a fact, `own` has the value that counts; only times are taken from `more`.
    """
    return {
        **own,
        **{name: value for name, value in (more or {}).items() if name in TIMES or name not in own},
    }


def fact_lines(facts: Facts) -> list[tuple[str, str]]:
    """Return the label and the text of each line. The facts of `_ROWS` come first (`("tokens",
    "1,200 in, 40 out")`), then a line for each other fact, with the fact's name as its label. Facts
    that are None or in `_WITHOUT_LINE` get no line.
    """
    rows = [(label, text) for label, _, say in _ROWS if (text := say(facts))]
    names_in_rows = {name for _, names, _ in _ROWS for name in names} | set(_WITHOUT_LINE)
    more = [
        (name.replace("_", " "), as_text(value))
        for name, value in facts.items()
        if name not in names_in_rows and value is not None
    ]
    return [*rows, *more]


def as_text(value: object) -> str:
    """Return the value of a setting or a fact as text: a string as it is, any other value as JSON
    on one line.
    """
    return value if isinstance(value, str) else compact(value)


def _text_of_fact(name: str) -> Callable[[Facts], str]:
    """Return a function that takes a reply's facts and returns the fact `name` as text; empty if it
    is unknown.
    """
    return lambda facts: str(facts.get(name) or "")


def _stop_text(facts: Facts) -> str:
    """Return why the reply ended: `stop`; if at the stop string `END`, `stop_sequence, at END`."""
    reason, at = str(facts.get("finish") or ""), facts.get("stop_sequence")
    return f"{reason}, at {at}" if at else reason


def _tokens_text(facts: Facts) -> str:
    """Return the counts of tokens: `1,200 in (1,000 cached), 40 out`; empty if none is known."""
    if not (_number_of_fact(facts, "input_tokens") or _number_of_fact(facts, "output_tokens")):
        return ""  # 0 means unknown in a reply of the Messages API, which must have a number
    parts = [_count_with_share(facts, "input_tokens", "in", "cached_tokens", "cached")]
    parts += [_count_with_share(facts, "output_tokens", "out", "thinking_tokens", "thinking")]
    about = "about " if facts.get(ESTIMATED) else ""
    return about + ", ".join(filter(None, parts))


def _count_with_share(facts: Facts, name: str, word: str, inner: str, inner_word: str) -> str:
    """Return a count, and how many of it are of a special kind: `1,200 in (1,000 cached)`; empty if
    the count is unknown. `name`, `inner`: the names of the two facts. `word`, `inner_word`: the
    words after the two numbers (`in`, `cached`).
    """
    count, among = _number_of_fact(facts, name), _number_of_fact(facts, inner)
    if count is None:
        return ""
    return f"{count:,} {word}" + (f" ({among:,} {inner_word})" if among else "")


def _thoughts_text(facts: Facts) -> str:
    """Return the number of thoughts and their length: `2, 1,500 characters`; empty for none."""
    count, characters = _number_of_fact(facts, "thoughts"), _number_of_fact(facts, "thinking")
    return f"{count}, {characters or 0:,} characters" if count else ""


def _times_text(facts: Facts) -> str:
    """Return the times since the request at which something began or ended: `first byte 0.20 s, end
    3.10 s`.
    """
    named = {
        "first byte": "first_byte",
        "thought": "first_thought",
        "text": "first_text",
        "end": "end",
    }
    return ", ".join(
        f"{label} {at:.2f} s"
        for label, name in named.items()
        if (at := _number_of_fact(facts, name)) is not None
    )


def _thinking_time_text(facts: Facts) -> str:
    """Return how long the model thought: `2.5 s`; empty if unknown, or less than `SHORTEST`."""
    seconds = _number_of_fact(facts, "thinking_time")
    return f"{seconds:.1f} s" if seconds and seconds >= SHORTEST else ""


def _speed_text(facts: Facts) -> str:
    """Return how many tokens a second the server sent, as text; empty if this is unknown, as for a
    reply that came at once, without a stream.
    """
    count, end = _number_of_fact(facts, "output_tokens"), _number_of_fact(facts, "end")
    begin = _number_of_fact(facts, "first_byte") or 0
    if not count or end is None or end - begin < SHORTEST:
        return ""
    return f"{count / (end - begin):.1f} tokens per second"


def _number_of_fact(facts: Mapping[str, object], name: str) -> float | int | None:
    """Return the fact `name` if it is a number, else None."""
    value = facts.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


_ROWS: tuple[tuple[str, tuple[str, ...], Callable[[Facts], str]], ...] = (
    ("model", ("model",), _text_of_fact("model")),
    ("stop", ("finish", "stop_sequence"), _stop_text),
    ("broke off", ("broke_off",), _text_of_fact("broke_off")),
    (
        "tokens",
        ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens", ESTIMATED),
        _tokens_text,
    ),
    ("thoughts", ("thoughts", "thinking"), _thoughts_text),
    ("times", ("first_byte", "first_thought", "first_text", "end"), _times_text),
    ("thinking time", ("thinking_time",), _thinking_time_text),
    ("speed", (), _speed_text),
)
"""The lines in their order: a line's label, the names of the facts that it shows, and the function
that returns its text.
"""
