"""The slow reading knows every form; that it reads them, `test_call_oracle` shows."""

from converter.core.reading.tool_calls import forms
from laws.call_oracle_forms import FORMS, ROWS, WHOLE
from tests.support.tool_call_texts import WRITTEN


def test_every_form_has_its_row() -> None:
    assert {form.name for form in forms.FORMS} == FORMS


def test_every_row_is_that_of_some_way_of_writing() -> None:
    marked = {written.form for written in WRITTEN.values() if not written.whole}
    whole = {written.form for written in WRITTEN.values() if written.whole}
    assert ({row.form for row in ROWS}, {row.form for row in WHOLE}) == (marked, whole)
