"""Fields of a head, changed in one walk."""

from mitmproxy.http import Headers

from converter.shell.head_fields import change, leave_out

FIELDS = ((b"Host", b"a"), (b"X-Api-Key", b"1"), (b"accept", b"x"), (b"x-api-key", b"2"))


def test_a_field_keeps_its_place_and_its_spelling() -> None:
    headers = Headers(FIELDS)
    change(headers, {b"host": b"b", b"accept": b"y"})
    assert headers.fields == (
        (b"Host", b"b"),
        (b"X-Api-Key", b"1"),
        (b"accept", b"y"),
        (b"x-api-key", b"2"),
    )


def test_a_field_with_one_value_is_there_once() -> None:
    headers = Headers(FIELDS)
    change(headers, {b"x-api-key": b"3"})
    assert headers.get_all("x-api-key") == ["3"]


def test_a_field_without_a_value_goes_and_a_new_one_comes_last() -> None:
    headers = Headers(FIELDS)
    change(headers, {b"x-api-key": None, b"none": None, b"new": b"1"})
    assert headers.fields == ((b"Host", b"a"), (b"accept", b"x"), (b"new", b"1"))


def test_what_mitmproxy_would_make_of_it_is_the_same() -> None:
    ours, theirs = Headers(FIELDS), Headers(FIELDS)
    change(ours, {b"x-api-key": None, b"host": b"c", b"new": b"1"})
    del theirs["x-api-key"]
    theirs["host"], theirs["new"] = "c", "1"
    assert ours == theirs


def test_fields_are_left_out_by_their_names() -> None:
    headers = Headers(FIELDS)
    leave_out(headers, lambda name: name.startswith(b"x-"))
    assert headers.fields == ((b"Host", b"a"), (b"accept", b"x"))


def test_a_head_of_which_nothing_goes_stays_the_same() -> None:
    headers = Headers(FIELDS)
    before = headers.fields
    leave_out(headers, lambda _: False)
    assert headers.fields is before
