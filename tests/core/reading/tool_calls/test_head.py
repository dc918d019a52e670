"""The heads of calls: where they are complete, wait, or fail."""

import pytest

from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.head import NAME_LIMIT, Head, head_of
from tests.support.tool_call_texts import TOOLS

ROWS = {form.name: form for form in reversed(FORMS)}
ROWS["args"] = next(form for form in FORMS if form.whole and form.name == "mistral-args")


@pytest.mark.parametrize(
    ("form", "text", "head"),
    [
        ("hermes", '{"name": "now"', Head.NAMED),
        ("hermes", '[{"id": 7, "function": {"name": "now"', Head.NAMED),
        ("hermes", '{"name": "now', Head.WAITING),
        ("hermes", '{"na', Head.WAITING),
        ("hermes", '{"arguments": {', Head.UNNAMED),
        ("hermes", '{"name": "other"', Head.UNOFFERED),
        ("hermes", "{oops}", Head.UNNAMED),
        ("hermes", "words", Head.NONE),
        ("json", '{"city": "Oslo"', Head.NONE),
        ("apertus", '{"now": ', Head.NAMED),
        ("qwen3-coder", "<function=now>\n<parameter=", Head.NAMED),
        ("qwen3-coder", "<function=now>\n", Head.WAITING),
        ("qwen3-coder", "<function=now> is how", Head.NONE),
        ("glm", "now\n<arg_key>", Head.NAMED),
        ("glm", "get_weathercity</arg_key>", Head.NAMED),
        ("glm", "now and then", Head.NONE),
        ("kimi", "functions.now:0<|tool_call_argument_begin|>{", Head.NAMED),
        ("kimi", "functions.now:0", Head.WAITING),
        ("kimi", "one, two", Head.NONE),
        ("python", "[now(", Head.NAMED),
        ("python", "[now](https", Head.NONE),
        ("lfm2", "[other(", Head.UNOFFERED),
        ("gemma", "call:now{", Head.NAMED),
        ("gemma", "call:now", Head.WAITING),
        ("minimax-m3", ']<]minimax[>[<invoke name="now">]<]minimax[>[now', Head.NAMED),
        ("args", "now[ARGS]{", Head.NAMED),
        ("args", "now[CALL_ID]a1[AR", Head.WAITING),
        ("args", "no", Head.WAITING),
        ("args", "now I", Head.NONE),
        ("args", "now{", Head.NONE),
        ("args", "other[ARGS]{", Head.NONE),
    ],
)
def test_a_head_is_complete_waits_or_fails(form: str, text: str, head: Head) -> None:
    assert head_of(ROWS[form], text, TOOLS) is head


def test_without_tools_any_name_is_of_none() -> None:
    assert head_of(ROWS["hermes"], '{"name": "now"', None) is Head.UNOFFERED


@pytest.mark.parametrize("form", ["hermes", "qwen3-coder", "glm", "kimi", "python", "gemma"])
def test_a_head_does_not_wait_for_ever(form: str) -> None:
    begun = {"hermes": '{"name": "', "qwen3-coder": "<function=", "python": "[", "gemma": "call:"}
    text = begun.get(form, "") + "a" * 2 * NAME_LIMIT
    assert head_of(ROWS[form], text, TOOLS) in (Head.NONE, Head.UNNAMED)
