"""What a form begins and ends with."""

import pytest

from converter.parsing.tool_calls.form import Form
from converter.parsing.tool_calls.json_body import Json


@pytest.mark.parametrize(
    ("form", "firsts", "ends"),
    [
        (Form("a", Json()), ("{", "["), ()),
        (Form("a", Json(), ("<a>",), "</a>"), ("<a>",), ("</a>",)),
        (Form("a", Json(), ("<a>",), "</a>", alone=True), ("<a>", "{", "["), ("</a>",)),
        (Form("a", Json(), section=("<s>", "</s>")), ("{", "["), ("</s>",)),
        (Form("a", Json(), ("<a>",), "", ("<s>", "</s>")), ("<a>",), ("</s>",)),
    ],
)
def test_a_call_begins_with_its_mark_or_with_its_body(
    form: Form, firsts: tuple[str, ...], ends: tuple[str, ...]
) -> None:
    assert (form.firsts, form.ends) == (firsts, ends)


def test_in_a_section_a_call_may_begin_with_its_body() -> None:
    assert Form("a", Json(), ("<a>",), "", ("<s>", "</s>")).in_section == ("<a>", "{", "[")


@pytest.mark.parametrize(
    ("form", "pairs"),
    [
        (Form("a", Json()), ()),
        (Form("a", Json(), ("<a>",), "</a>"), (("<a>", "</a>"),)),
        (Form("a", Json(), section=("<s>", "</s>")), (("<s>", "</s>"),)),
        (
            Form("a", Json(), ("<a>", "<b>"), "</a>", ("<s>", "</s>")),
            (("<s>", "</s>"), ("<a>", "</a>"), ("<b>", "</a>")),
        ),
        (Form("a", Json(), ("to=",), "</a>", tool="f"), (("to=f", "</a>"),)),
    ],
)
def test_each_opener_has_what_closes_it(form: Form, pairs: tuple[tuple[str, str], ...]) -> None:
    assert form.pairs == pairs
