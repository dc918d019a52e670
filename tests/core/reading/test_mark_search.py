"""The search for marks in a text that arrives in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.mark_search import Mark, MarkSearch, PhraseSearch
from converter.core.reading.rows import LINE, SENTENCE
from tests.support.strategies import HALF_TAGS, TAGS, law


def opening(*literals: str) -> MarkSearch:
    return MarkSearch(dict.fromkeys(literals, Mark.OPEN))


def test_the_earliest_mark_is_matched() -> None:
    marks = opening("<think>", "[THINK]")
    match = marks.search("a[THINK]<think>")
    assert match
    assert match[0] == "[THINK]"


def test_no_marks_find_nothing_and_hold_nothing() -> None:
    marks = opening()
    assert marks.search("<think>") is None
    assert marks.begun_length("<think", 0) == 0


@law(150)
@given(
    st.lists(st.sampled_from([*TAGS, *HALF_TAGS, "a"]), max_size=4).map("".join), st.integers(0, 3)
)
def test_undecided_is_the_longest_end_that_begins_a_mark(text: str, begin: int) -> None:
    begin = min(begin, len(text))
    marks = opening(*TAGS)
    ends = [text[offset:] for offset in range(begin, len(text))]
    expected = [end for end in ends if any(tag.startswith(end) and tag != end for tag in TAGS)]
    assert marks.begun_length(text, begin) == (len(expected[0]) if expected else 0)


SUFFIXED = ["<think:SUFFIX>", "</think:SUFFIX>", "<think>"]


@pytest.mark.parametrize("suffix", ["a", "0a1b2c3d", "A-_9", "x" * 32, "SUFFIX"])
def test_a_suffix_is_any_word(suffix: str) -> None:
    match = opening(*SUFFIXED).search(f"a<think:{suffix}>b")
    assert match
    assert opening(*SUFFIXED).read_mark(match[0]) == (Mark.OPEN, "<think:SUFFIX>", suffix)


@pytest.mark.parametrize("suffix", ["", " ", "a b", "x" * 33, "é", "<"])
def test_what_is_no_word_is_no_suffix(suffix: str) -> None:
    assert opening(*SUFFIXED).search(f"a<think:{suffix}>b") is None


@pytest.mark.parametrize("begun", ["<", "<thi", "<think:", "<think:a", "</think:" + "x" * 32])
def test_a_suffix_that_may_still_come_is_undecided(begun: str) -> None:
    assert opening(*SUFFIXED).begun_length(f"a{begun}", 0) == len(begun)
    assert opening(*SUFFIXED).begun_length(f"a{begun}?", 0) == 0


def test_a_suffix_that_is_too_long_is_decided() -> None:
    assert opening(*SUFFIXED).begun_length("<think:" + "x" * 33, 0) == 0


GAPPED = ["<|channel|>final…<|message|>", "<|channel|>final<|message|>"]


@pytest.mark.parametrize(
    "gap", [" ", "\n", " json", " <|constrain|>json", "<|constrain|>", "-" * 48]
)
def test_a_gap_is_what_stands_in_a_header(gap: str) -> None:
    written = f"<|channel|>final{gap}<|message|>"
    match = opening(*GAPPED).search(f"a{written}b")
    assert match
    assert opening(*GAPPED).read_mark(match[0]) == (Mark.OPEN, GAPPED[0], "")
    for length in range(1, len(written)):
        assert opening(*GAPPED).begun_length(f"a{written[:length]}", 0) == length


@pytest.mark.parametrize("gap", ["s", " to=run", "-" * 49, " <|end|>", " <b>", "<|constrain|>" * 2])
def test_what_is_no_header_is_no_gap(gap: str) -> None:
    written = f"<|channel|>final{gap}"
    assert opening(*GAPPED).search(f"{written}<|message|>") is None
    assert opening(*GAPPED).begun_length(written, 0) == 0


def test_a_header_that_may_be_an_answer_is_not_torn() -> None:
    marks = opening(*GAPPED)
    assert marks.is_torn("<|channel|>final <|constrain|>js")
    assert marks.is_torn("<|channel|>final\n<|mess")
    assert not marks.is_torn("<|channel|>final It is")
    assert not marks.is_torn("<|channel|>finals")


def test_with_a_suffix_passed_only_that_counts() -> None:
    marks = MarkSearch({"</think:SUFFIX>": Mark.CLOSE}, "ab")
    match = marks.search("</think:a></think:abc></think:ab>")
    assert match
    assert match.start() == 22
    assert marks.begun_length("</think:a", 0) == 9
    assert marks.begun_length("</think:b", 0) == 0


def phrases() -> PhraseSearch:
    marks = {f"{SENTENCE}now i'll": Mark.PHRASE_END, f"{LINE}# ": Mark.PHRASE_END}
    return PhraseSearch({**marks, "<think>": Mark.OPEN, "n<": Mark.SILENT})


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a now I’LL b", f"{SENTENCE}now i'll"),
        ("a # b", f"{LINE}# "),
        ("now <think>now i'll", "<think>"),
    ],
)
def test_a_phrase_is_matched_in_any_case_beside_marks(text: str, spelled: str) -> None:
    match = phrases().search(text)
    assert match
    assert phrases().read_mark(match[0])[1:] == (spelled, "")


@pytest.mark.parametrize("text", ["know i'll", "now i'llx", "now  i'll", "NOW ı'll", "<THINK>"])
def test_text_that_is_like_a_phrase_is_none(text: str) -> None:
    assert phrases().search(text) is None


@pytest.mark.parametrize(
    ("text", "held", "places"),
    [
        ("a No", "No", {SENTENCE}),
        ("a now i'll", "now i'll", {SENTENCE}),
        ("a n", "n", set()),  # which may become another mark
        ("a know", "", set()),
        ("a #", "#", {LINE}),
        ("a # ", "", set()),
        ("a <thi", "<thi", set()),
    ],
)
def test_the_beginning_of_a_phrase_waits_and_tells_its_offsets(
    text: str, held: str, places: set[str]
) -> None:
    assert phrases().begun_length(text, 0) == len(held)
    assert phrases().positions(held or "x") == places


def test_any_word_may_begin_a_phrase() -> None:
    assert phrases().may_begin("x")
    assert not phrases().may_begin(" \n")
