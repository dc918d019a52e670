"""Text that arrives in pieces, read as if it were all there."""

import re

import pytest

from converter.core.reading.tool_calls.source import Refused, Source, Step
from converter.core.wire.bounds import BLANKS_LIMIT


def run[T](source: Source, step: Step[T], *pieces: str) -> T | None:
    """Feed the pieces, and then the end, until the step has its result."""
    for piece in (*pieces, None):
        try:
            next(step)
        except StopIteration as stop:
            result: T = stop.value
            return result
        if piece is None:
            source.last = True
        else:
            source.feed(piece)
    with pytest.raises(StopIteration) as over:
        next(step)
    last: T = over.value.value
    return last


def test_what_is_taken_is_heard_and_gone() -> None:
    source, heard = Source(), list[str]()
    source.consumed = heard.append
    source.feed("abc")
    assert (source.take(2), source.take(0), source.rest, heard) == ("ab", "", "c", ["ab"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("  <a>x", ("<a>", 2)),
        ("<a>", None),
        ("<a>b>", ("<a>b>", 0)),
        ("\n<", None),
        ("", None),
        ("x", ("", 0)),
        ("<b", ("", 0)),
        (" " * (BLANKS_LIMIT + 1), ("", BLANKS_LIMIT + 1)),
    ],
)
def test_a_mark_is_looked_for_behind_blanks(text: str, found: tuple[str, int] | None) -> None:
    source = Source()
    source.feed(text)
    assert source.look(("<a>", "<a>b>")) == found


def test_at_the_end_what_is_there_decides() -> None:
    source = Source()
    source.feed("<a>")
    source.last = True
    assert source.look(("<a>", "<a>b>")) == ("<a>", 0)


@pytest.mark.parametrize("pieces", [("  <a>x",), (" ", " ", "<", "a", ">", "x")])
def test_a_mark_is_taken_with_the_blanks_before_it(pieces: tuple[str, ...]) -> None:
    source = Source()
    assert run(source, source.accept(("<a>", "<b>")), *pieces) == "<a>"
    assert "x".startswith(source.rest)


def test_no_mark_takes_nothing() -> None:
    source = Source()
    assert run(source, source.accept(("<a>",)), "  y") == ""
    assert source.rest == "  y"


@pytest.mark.parametrize("text", ["one </v> two </v>\n<p>", "one </v> two </v>"])
def test_an_end_counts_where_the_form_goes_on_behind_it(text: str) -> None:
    source, said = Source(), list[str]()
    assert (
        run(
            source,
            source.until({"</v>": lambda at: source.followed_by(["<p>"], at)}, said.append),
            *text,
        )
        == "</v>"
    )
    assert "".join(said) == "one </v> two "


def test_without_an_end_all_is_said() -> None:
    source, said = Source(), list[str]()
    assert run(source, source.until({"</v>": None}, said.append), *"one </") == ""
    assert "".join(said) == "one </"


def test_text_goes_on_before_its_end_is_known() -> None:
    source, said = Source(), list[str]()
    step: Step[str] = source.until({"</v>": None}, said.append)
    source.feed("one <")
    next(step)
    assert said == ["one "]


def test_where_words_come_out_as_they_are_the_step_tells_what_it_waits_for() -> None:
    source, said = Source(), list[str]()
    step = source.until({"</v>": None}, said.append, as_is=lambda: len(said) > 1)
    wakes = []
    for piece in ("one", " two", " <", "/v"):
        source.feed(piece)
        wakes.append(next(step))
    assert wakes == [None, *['<"\\\r\n\t'] * 3]
    assert next(Source().more("x")) == "x"


def test_a_short_text_ends_within_its_limit() -> None:
    source = Source()
    assert run(source, source.short(">", 5), *"name>") == "name"
    for text in ("longer>", "longer", "end"):
        other = Source()
        with pytest.raises(Refused):
            run(other, other.short(">", 5), *text)
        assert other.rest == "longer>"[: len(other.rest)] or other.rest == "end"


def test_more_waits_for_text_and_refuses_at_the_end() -> None:
    source = Source()
    assert run(source, source.more(), "a") is None
    source = Source()
    with pytest.raises(Refused):
        run(source, source.more())


def test_an_end_of_many_characters_that_begins_within_the_limit_counts_however_it_is_cut() -> None:
    for pieces in (["name</kind>"], list("name</kind>"), ["name</", "kind>"]):
        source = Source()
        assert run(source, source.short("</kind>", 4), *pieces) == "name"


def test_what_a_pattern_matches_is_taken_once_it_is_whole() -> None:
    name = re.compile(r"\w+(?=:)")
    source = Source()
    assert run(source, source.match(name, 5), "na", "me:")
    assert source.rest == ":"
    for text in ("longer:", "longer", "end"):
        other = Source()
        with pytest.raises(Refused):
            run(other, other.match(name, 5), text)


def test_text_before_an_end_is_taken_and_the_end_stays() -> None:
    source = Source()
    assert run(source, source.before(["</v>"], 4), "on", "e</", "v>") == "one"
    assert source.rest == "</v>"


@pytest.mark.parametrize(
    ("text", "last", "wanted"),
    [
        ("</v> <p>", False, True),
        ("</v></think>\n<p>", False, True),
        ("</v> <", False, None),
        ("</v> x", False, False),
        ("</v> ", False, None),
        ("</v> ", True, True),
        ("</v> <", True, False),
    ],
)
def test_a_mark_or_the_end_may_follow(text: str, last: bool, wanted: bool | None) -> None:
    source = Source()
    source.feed(text)
    source.last = last
    assert source.followed_by(["<p>"], len("</v>")) is wanted
