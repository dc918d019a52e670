"""The grammars with their marks."""

from converter.core.reading.tool_calls import grammars
from converter.core.reading.tool_calls.json_body import Header
from converter.core.reading.tool_calls.tag_body import Pairs, Tags

ALL = {name: made for name, made in vars(grammars).items() if name.isupper()}


def test_every_header_has_a_name() -> None:
    headers = [made for made in ALL.values() if isinstance(made, Header)]
    assert len(headers) > 3
    assert all("(?P<name>" in header.pattern for header in headers)


def test_what_opens_is_not_what_closes() -> None:
    tags = [made for made in ALL.values() if isinstance(made, Tags)]
    assert len(tags) > 6
    for made in tags:
        assert not {*made.heads, *made.parameters} & {*made.end, *made.ends}
    for pairs in (made for made in ALL.values() if isinstance(made, Pairs)):
        assert len({*pairs.key, *pairs.value}) == 4
