"""`call_in_name` repairs a call whose arguments the server has sent in the call's name:
`"name": "get_weather({\\"city\\": \\"Oslo\\"})"`.

Servers send such names if their own parser of calls fails. The text in the name is read with the
same functions as a call in a reply's text.
"""

import re
from collections.abc import Iterator

from converter.core.calls.schema_values import Schemas
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.judge import judge
from converter.core.reading.tool_calls.verdict import End

_ROWS = {row.name: row for row in FORMS}
"""name of a form of calls -> its row."""
_FORMS = ("hermes", "mistral-args", "lfm2", "gemma", "glm", "qwen3-coder")
"""The names of the forms in which servers were seen to put calls into the field of the name."""
_LONGEST = 65_536
"""The most characters of a name that is searched for a call. A longer name is left as it is: even a
call that writes a file is shorter.
"""
_IN_BRACKETS = re.compile(r"(\s*[\w.:/-]+\s*)\((\s*\{.*\}\s*)\)\s*", re.DOTALL)
"""The pattern of a call as in a program: `get_weather({"city": "Oslo"})`."""
_IN_TAGS = re.compile(r"(?:<?function=)?([^<>]+)>?\s*(<.*)?", re.DOTALL)
"""The pattern of a tool's name, and behind it tags of arguments; `<function=` may be missing."""


def call_in_name(name: str, tools: Schemas) -> tuple[str, str]:
    """Read the call that a server has put into the field `name`. Return the tool's name, and the
    arguments as JSON: `get_weather({"city": "Oslo"})` -> `get_weather`, `{"city": "Oslo"}`.

    Return two empty strings unless `name` consists of exactly one whole call of an offered tool,
    with arguments or braces: a bare name is no call.
    """
    for row, text in _possible_calls(name) if len(name) <= _LONGEST else ():
        verdict = judge(row, text, End.CLOSER, tools, last=True)
        if len(verdict.calls) == 1 and not verdict.failed and not text[verdict.length :].strip():
            call = verdict.calls[0]
            if not (call.is_cut or call.text_before) and ("{" in name or call.arguments != "{}"):
                return call.name, call.arguments
    return "", ""


def _possible_calls(name: str) -> Iterator[tuple[CallRow, str]]:
    """Yield each form of `_FORMS`, once or several times, with a text made from `name` that may be
    the body of a call in this form.

    The form's openers and closers are left out. Marks of the body that the server may have removed
    are added: for `qwen3-coder`, `get_weather` -> `<function=get_weather> ... </function>`.
    """
    for row in map(_ROWS.__getitem__, _FORMS):
        text = name.strip()
        for mark in row.opens:
            text = text.removeprefix(mark)
        for mark in row.ends:
            text = text.removesuffix(mark)
        if match := _IN_BRACKETS.fullmatch(text):
            yield row, match.expand(r"\1\2")
        yield row, f"[{text}]" if row.name == "lfm2" else text
        if row.name == "qwen3-coder" and (tags := _IN_TAGS.fullmatch(text)):
            inner = (tags[2] or "").removesuffix("</function>")
            yield row, f"<function={tags[1]}>\n{inner}\n</function>"
