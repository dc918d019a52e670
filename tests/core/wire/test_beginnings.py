import codecs

import pytest

from converter.core.wire.beginnings import SNIFFED, FirstBytes, beginning_of


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"data: {}", FirstBytes.FIELD),
        (b"event: ping", FirstBytes.FIELD),
        (b"id: 3", FirstBytes.FIELD),
        (b"retry: 10", FirstBytes.FIELD),
        (b": ping", FirstBytes.FIELD),
        (b'{"a": 1}', FirstBytes.JSON),
        (b"[]", FirstBytes.JSON),
        (b"<html>", FirstBytes.PAGE),
        (b"upstream gone", FirstBytes.OTHER),
        (b"database", FirstBytes.OTHER),
        (b"ok", FirstBytes.OTHER),
    ],
)
@pytest.mark.parametrize("before", [b"", b" \n\r\n\t", codecs.BOM_UTF8, codecs.BOM_UTF8 + b"\n"])
def test_the_first_bytes_tell_what_a_reply_is(raw: bytes, kind: FirstBytes, before: bytes) -> None:
    assert beginning_of(before + raw) is kind
    emitted = [beginning_of((before + raw)[:end]) for end in range(len(before + raw) + 1)]
    assert {*emitted} == {None, kind}  # cut anywhere, nothing else is told
    assert emitted == sorted(emitted, key=lambda each: each is not None)  # nor taken back


@pytest.mark.parametrize("raw", [b"", b" ", b"dat", b"data", b"retr", codecs.BOM_UTF8[:2]])
def test_too_little_tells_nothing_but_at_the_end(raw: bytes) -> None:
    assert beginning_of(raw) is None
    assert beginning_of(raw, last=True) is FirstBytes.OTHER


def test_blanks_without_end_are_no_beginning() -> None:
    assert beginning_of(b" " * (SNIFFED - 1)) is None
    assert beginning_of(b" " * SNIFFED + b"{}") is FirstBytes.OTHER
