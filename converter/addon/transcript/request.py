"""Read a request of any dialect as a transcript for people; `blocks` makes the turns. Invalid
requests, which the translation would refuse, are shown too, with all their fields.
"""

from collections.abc import Mapping
from contextlib import suppress

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import reading_of
from converter.addon.exchange.settings import Settings
from converter.addon.transcript.accumulator import Accumulator
from converter.addon.transcript.blocks import Split, parts_of, turns_of
from converter.addon.transcript.facts import as_text
from converter.addon.transcript.turns import Field, Part, ShownTurn, Transcript
from converter.core.dialects.reasoning_fields import has_value
from converter.core.model import events
from converter.core.model.raw_messages import MESSAGE_FIELDS, SYSTEM_FIELDS
from converter.core.reading.reading import Expected
from converter.core.reply.chain import Stages
from converter.core.reply.stages import STAGES
from converter.core.wire import json_text

_DEFAULTS = settings.read()
"""The settings if the user sets no option."""
_TOOLS = ("tools", "functions")
"""Names of the fields that list the offered tools."""
_SHOWN_AS_TURNS = frozenset((*SYSTEM_FIELDS, *MESSAGE_FIELDS))
"""Names of the fields that are shown as turns; all other fields are settings."""
_LONGEST_SETTING = 200
"""The most characters of a setting that is shown in a line above the turns. A longer setting (a
schema, a prompt) is shown after the turns.
"""


def read(body: bytes, chosen: Settings | None = None) -> Transcript:
    """Return the transcript of a request's body. If the body is no JSON object, the transcript has
    it as unread text (`Transcript.rest`). `chosen`: the settings in force; None: the defaults.
    """
    with suppress(json_text.UnreadableError, RecursionError):
        value = json_text.read(body) if body.strip() else {}
        if isinstance(value, dict):
            return read_fields(value, chosen)
    return Transcript(rest=(body.decode(errors="backslashreplace"),))


def read_fields(body: Mapping[str, object], chosen: Settings | None = None) -> Transcript:
    """Return the transcript of a request. `body`: the fields of its body. `chosen`: the settings in
    force; None: the defaults.
    """
    split = _make_splitter(chosen or _DEFAULTS, body.get("model"))
    systems = [body[name] for name in SYSTEM_FIELDS if has_value(body.get(name))]
    turns = [ShownTurn("system", tuple(parts_of(system))) for system in systems]
    turns += [turn for name in MESSAGE_FIELDS for turn in turns_of(body.get(name), split)]
    # All other fields are settings. The value of a `short` one fits in a line, that of a `long` one
    # does not.
    short: dict[str, object] = {}
    long: list[Part] = []
    # These settings have a fixed place: three come first, the tools last. All others stay in the
    # client's order between them.
    order = {"model": 0, "thinking": 1, "max_tokens": 2, "tools": 4}
    fields = (name for name in body if name not in _SHOWN_AS_TURNS)
    for name in sorted(fields, key=lambda name: order.get(name, 3)):
        value = body[name]
        names = map(tool_name, value) if name in _TOOLS and isinstance(value, list) else ()
        shown = ", ".join(filter(None, names)) or ("" if value in (None, [], {}) else value)
        is_long = len(as_text(shown)) > _LONGEST_SETTING and name != "tools"
        if len(name) > _LONGEST_SETTING or is_long:
            long.append(Field(name, value))
        elif shown != "":
            short[name] = shown
    turns += [ShownTurn("settings", tuple(long))] if long else []
    return Transcript(tuple(turns), short)


def tool_name(tool: object) -> str:
    """Return the name of an offered tool from its definition, in the JSON of any dialect; its type
    if it has no name; empty if it has neither.
    """
    if not isinstance(tool, dict):
        return ""
    inner = tool.get(str(tool.get("type")))
    name = inner.get("name") if isinstance(inner, dict) else tool.get("name")
    return str(name or tool.get("type") or "")


def _make_splitter(chosen: Settings, model: object) -> Split:
    """Return a function that cuts an assistant's text into parts of thinking and of text, at the
    marks of thoughts. The settings and the model's name decide which marks are read.
    """
    reading = reading_of(chosen, Expected(model=str(model or "")), whole=True)

    def split(text: str) -> list[Part]:
        """Return the parts of one assistant's text."""
        stages, accumulator = Stages(STAGES, reading), Accumulator()
        for event in [*stages.feed(events.Text(text)), *stages.close()]:
            accumulator.feed(event)
        return list(accumulator.parts())

    return split
