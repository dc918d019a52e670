"""Words are found in what was asked and said, wherever a stream was cut, in any case."""

import asyncio

import pytest
from mitmproxy.http import HTTPFlow

from converter.shell.page import search
from converter.shell.page.search import Search
from tests.support.addon_flows import ASKED, CHAT, EVENT_STREAM, request, response
from tests.support.frames import stream
from tests.support.kept_flows import kept


@pytest.fixture(scope="module")
def flows() -> list[HTTPFlow]:
    said = {"Where is Oslo?": ("<think>Nor", "way</think>", "ÜBER there"), "Hi": ("hel", "lo")}
    made = [
        kept(
            request(CHAT, {**ASKED, "messages": [{"role": "user", "content": asked}]}),
            response(EVENT_STREAM),
            *stream(*pieces),
        )
        for asked, pieces in said.items()
    ]
    for flow in made:
        flow.live = False
    return made


def find(flows: list[HTTPFlow], words: str, using: Search | None = None) -> list[int]:
    found = asyncio.run((using or Search()).find(flows, words))
    return [number for number, flow in enumerate(flows) if flow.id in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("oslo", [0]),
        ("norway", [0]),
        ("über THERE", [0]),
        ("hello", [1]),
        ("oslo hello", []),
        ("", [0, 1]),
    ],
)
def test_all_words_must_stand_in_it(flows: list[HTTPFlow], words: str, expected: list[int]) -> None:
    assert find(flows, words) == expected


@pytest.mark.slow
def test_a_conversation_is_read_once(
    flows: list[HTTPFlow], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = Search()
    assert find(flows, "oslo", searched) == [0]
    monkeypatch.setattr(search, "_said_in", lambda _: pytest.fail("read twice"))
    assert find(flows, "hello", searched) == [1]


def test_what_does_not_fit_is_read_again(
    flows: list[HTTPFlow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_LIMIT", 5)
    searched = Search()
    assert [find(flows, "oslo", searched) for _ in range(2)] == [[0], [0]]
    assert searched._size <= 5


def test_what_still_comes_is_read_again(
    flows: list[HTTPFlow], monkeypatch: pytest.MonkeyPatch
) -> None:
    coming, said, searched = flows[0].copy(), iter(["one", "one two"]), Search()
    coming.live = True
    monkeypatch.setattr(search, "_said_in", lambda _: next(said))
    assert [find([coming], "two", searched) for _ in range(2)] == [[], [0]]
