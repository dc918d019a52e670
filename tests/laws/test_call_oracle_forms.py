"""The slow reading has rows for every form; that it reads them, `test_call_oracle` shows."""

from converter.core.reading.tool_calls.forms import FORMS
from laws.call_oracle_forms import ROWS, WHOLE
from tests.support.tool_call_texts import WRITTEN


def test_every_form_has_its_row() -> None:
    assert {form.name for form in FORMS if not form.whole} == {row.form for row in ROWS}
    assert {form.name for form in FORMS if form.whole} == {row.form for row in WHOLE}


def test_every_row_is_that_of_some_sample() -> None:
    assert {row.form for row in (*ROWS, *WHOLE)} == {written.form for written in WRITTEN.values()}
