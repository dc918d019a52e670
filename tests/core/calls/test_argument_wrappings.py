"""Dress around arguments, in pieces of each length."""

import pytest

from converter.core.calls.arguments import Arguments

PARAMETERS = ("city", "path")
G = r"<|\"|>"
PLAIN = '{"city": "Oslo"}'
KINDS = {
    "none": (PLAIN, PLAIN),
    "wrapped": (f'{{"arguments": {PLAIN}}}', PLAIN),
    "wrapped in lines": ('{\n  "parameters" : { "city": "Oslo"}\n}', '{\n  "city": "Oslo"}'),
    "another key in the wrapping": ('{"arguments": {"town": 1}}', '{"arguments": {"town": 1}}'),
    "a key that only begins as one": ('{"argument": 1}', '{"argument": 1}'),
    "a text under such a key": ('{"input": "{"}', '{"input": "{"}'),
    "quotes": (f'{{"city": "{G}Oslo{G}"}}', PLAIN),
    "quotes around a key, and the first only": (f'{{"{G}city{G}": "{G}Oslo"}}', PLAIN),
    "quotes amid words": (f'{{"city": "a{G}b{G}"}}', f'{{"city": "a{G}b{G}"}}'),
    "quotes behind a quotation mark": (f'{{"city": "a\\"{G}b"}}', f'{{"city": "a\\"{G}b"}}'),
    "two strings": (
        f'{{"path": "{G}\\\\{G}", "city": "{G}<|{G}"}}',
        '{"path": "\\\\", "city": "<|"}',
    ),
    "an empty string": (f'{{"city": "{G}{G}"}}', '{"city": ""}'),
    "one quote": (f'{{"city": "{G}"}}', '{"city": ""}'),
}


@pytest.mark.parametrize("length", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(("written", "expected"), KINDS.values(), ids=KINDS)
def test_arguments_lose_their_dress(written: str, expected: str, length: int) -> None:
    read = Arguments(PARAMETERS)
    pieces = [read.feed(written[at : at + length]) for at in range(0, len(written), length)]
    assert "".join(pieces) == expected
    assert read.complete
    assert not read.unfit
    assert read.mended is (written != expected)


def test_a_wrapping_that_holds_more_has_no_meaning() -> None:
    read = Arguments(PARAMETERS)
    read.feed(f'{{"arguments": {PLAIN}, "path": "/"}}')
    assert read.unfit


def test_a_parameter_of_that_name_is_no_wrapping() -> None:
    written = f'{{"arguments": {PLAIN}}}'
    assert Arguments(("arguments", "city")).feed(written) == written


def test_text_goes_on_while_it_may_be_anything() -> None:
    read = Arguments(PARAMETERS)
    assert [read.feed(piece) for piece in ('{"', "ar", 'e": 1}')] == ['{"', "", 'are": 1}']
    read = Arguments(PARAMETERS)
    assert [read.feed(piece) for piece in ('{"city": "', "O<", "|")] == ['{"city": "', "O<", "|"]
    assert read.not_plain is not None


def test_text_waits_for_no_fast_path_where_a_quote_may_follow() -> None:
    read = Arguments(PARAMETERS)
    read.feed('{"city": "')
    assert read.not_plain is None
    read.feed("Oslo")
    assert read.not_plain is not None
