"""The marks that a form begins and ends with."""

import pytest

from converter.core.reading.tool_calls.call_form import CallForm
from converter.core.reading.tool_calls.json_body import Json


@pytest.mark.parametrize(
    ("form", "firsts", "ends"),
    [
        (CallForm("a", Json()), ("{", "["), ()),
        (CallForm("a", Json(), ("<a>",), "</a>"), ("<a>",), ("</a>",)),
        (CallForm("a", Json(), ("<a>",), "</a>", alone=True), ("<a>", "{", "["), ("</a>",)),
        (CallForm("a", Json(), section=("<s>", "</s>")), ("{", "["), ("</s>",)),
        (CallForm("a", Json(), ("<a>",), "", ("<s>", "</s>")), ("<a>",), ("</s>",)),
    ],
)
def test_a_call_begins_with_its_mark_or_with_its_body(
    form: CallForm, firsts: tuple[str, ...], ends: tuple[str, ...]
) -> None:
    assert (form.firsts, form.ends) == (firsts, ends)


def test_in_a_section_a_call_may_begin_with_its_body() -> None:
    assert CallForm("a", Json(), ("<a>",), "", ("<s>", "</s>")).in_section == ("<a>", "{", "[")


@pytest.mark.parametrize(
    ("form", "pairs"),
    [
        (CallForm("a", Json()), ()),
        (CallForm("a", Json(), ("<a>",), "</a>"), (("<a>", "</a>"),)),
        (CallForm("a", Json(), section=("<s>", "</s>")), (("<s>", "</s>"),)),
        (
            CallForm("a", Json(), ("<a>", "<b>"), "</a>", ("<s>", "</s>")),
            (("<s>", "</s>"), ("<a>", "</a>"), ("<b>", "</a>")),
        ),
        (CallForm("a", Json(), ("to=",), "</a>", tool="f"), (("to=f", "</a>"),)),
    ],
)
def test_each_opener_has_what_closes_it(form: CallForm, pairs: tuple[tuple[str, str], ...]) -> None:
    assert form.pairs == pairs
