"""A whole call, or arguments, within the name of a server's call, as servers' own readers leave
them: read as the same call would be in a text.
"""

import re
from collections.abc import Iterator

from converter.core.calls.open_calls import Schemas
from converter.core.model.events import Text, ToolCall
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.tool_calls.place import Expectations

_FORMS = (
    "{}",
    "<tool_call>{}</tool_call>",
    "[TOOL_CALLS]{}",
    "<|tool_call_start|>[{}]<|tool_call_end|>",
    "<|tool_call>{}<tool_call|>",
    "<tool_call>\n<function={}>\n</function>\n</tool_call>",
    "<tool_call>{}</function></tool_call>",
)
"""The marks that a server's reader may have taken off."""
_LONGEST = 65_536
"""Characters of a name that are read; a file that a tool is to write is shorter."""
_IN_BRACKETS = re.compile(r"(\s*[\w.:/-]+\s*)\((\s*\{.*\}\s*)\)\s*", re.DOTALL)
_IN_TAGS = re.compile(r"([\w.:/-]+)\s*(<.*)", re.DOTALL)


def call_in_name(written: str, tools: Schemas) -> tuple[str, str]:
    """Return the offered name and the arguments, JSON text, of the only call in a name; two empty
    texts where there is none, or words beside it.
    """
    for text in _texts(written):
        engine = Engine(
            mark_table((), reads_calls=True), asked=Expectations(tools, in_sentences=False)
        )
        events = [*engine.feed(text), *engine.flush("stop")]
        beside = "".join(event.text for event in events if isinstance(event, Text))
        calls = engine.calls.read
        if len(calls) == 1 and calls[0].done and not beside.strip():
            pieces = [event.arguments for event in events if isinstance(event, ToolCall)]
            arguments = "".join(pieces)
            if "{" in written or arguments != "{}":
                return calls[0].name, arguments
    return "", ""


def _texts(written: str) -> Iterator[str]:
    bare = found.expand(r"\1\2") if (found := _IN_BRACKETS.fullmatch(written)) else written
    for form in _FORMS if len(written) <= _LONGEST else ():
        yield form.replace("{}", bare)
    if tags := _IN_TAGS.fullmatch(written):
        yield f"<tool_call>\n<function={tags[1]}>\n{tags[2]}\n</function>\n</tool_call>"
