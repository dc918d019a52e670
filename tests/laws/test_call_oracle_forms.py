"""The slow reading has rows for every form; that it reads them, `test_call_oracle` shows."""

import pytest

from converter.core.reading.tool_calls.forms import FORMS
from laws.call_oracle_forms import ROWS, WHOLE
from laws.call_oracle_readers import Row
from tests.support.tool_call_texts import WRITTEN


def test_every_form_has_its_row() -> None:
    assert {form.name for form in FORMS if not form.whole} == {row.form for row in ROWS}
    assert {form.name for form in FORMS if form.whole} == {row.form for row in WHOLE}


def test_every_row_is_that_of_some_way_of_writing() -> None:
    assert {row.form for row in (*ROWS, *WHOLE)} == {written.form for written in WRITTEN.values()}


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.form == name)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("hermes", 'a <tool_call>\n{"name": "f"}', 2),
        ("hermes", "<tool_call>f", None),
        ("hermes", '<tool_calls>{"name": "f"}', 0),
        ("kimi", "<|tool_calls_section_begin|>f:0<|tool_call_argument_begin|>{}", 0),
        ("kimi", "f:0<|tool_call_argument_begin|>{}", None),
        ("dsml-tools", '<｜DSML｜invoke name="f">', 0),
        ("bullet", "● <function=f> and so", None),
        ("harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}", 0),
        ("harmony", "<|channel|>commentary to=functions.f and {}", None),
        ("mistral-args", "[TOOL_CALLS]f[CALL_ID]a1[ARGS]{}", 0),
        ("deepseek", "<｜tool▁call▁begin｜>f<｜tool▁call▁end｜>{}", 0),
        ("deepseek", "<｜tool▁call▁begin｜><｜tool▁call▁end｜>f{}", None),
    ],
)
def test_a_call_begins_at_its_marks(name: str, text: str, place: int | None) -> None:
    found = _row(name).find(text, 0)
    assert (found.start() if found else None) == place
