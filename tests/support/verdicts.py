"""The judge on the text of one candidate, by the name of its form."""

import json
from collections.abc import Mapping
from typing import Any

from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.judge import judge
from converter.core.reading.tool_calls.verdict import End, Failed, Verdict

ROWS = {form.name: form for form in reversed(FORMS)}


def verdict(
    text: str, tools: Mapping[str, Any], form: str = "hermes", end: End = End.CLOSER
) -> Verdict:
    return judge(ROWS[form], text, end, tools)


def outcome(
    text: str, tools: Mapping[str, Any], form: str = "hermes", end: End = End.CLOSER
) -> object:
    """Return the calls, each a name with its arguments, or the verdict on a text that is none."""
    parsed = verdict(text, tools, form, end)
    if parsed.failed:
        return parsed.failed.name if not parsed.calls else (*_calls(parsed), parsed.failed.name)
    assert not text[parsed.length :].strip()
    return [*_calls(parsed)]


def _calls(parsed: Verdict) -> list[tuple[str, Any]]:
    """Calls with their arguments, those of an open one as they are, a text that is no JSON."""
    built: list[tuple[str, Any]] = []
    for call in parsed.calls:
        if call.is_cut:
            try:
                json.loads(call.arguments)
            except ValueError:
                built.append((call.name, call.arguments))
            else:
                raise AssertionError(f"{call.arguments} is whole")
        else:
            built.append((call.name, json.loads(call.arguments)))
    return built


__all__ = ["ROWS", "End", "Failed", "outcome", "verdict"]
