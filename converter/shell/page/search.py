"""Words looked for in what was asked and said. Each conversation is read once, in a thread, one at
a time.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import fields

from mitmproxy.http import HTTPFlow

from converter.shell.page.conversation import transcript_of
from converter.transcript.turns import Field, Media, Part
from converter.wire.bounds import SEARCH_LIMIT


class Search:
    """The words of conversations, remembered while the page is open."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, float], str] = {}
        self._size = 0

    async def find(self, flows: Iterable[HTTPFlow], words: str) -> list[str]:
        """Return the ids of those in which all words stand, in any case."""
        wanted = words.casefold().split()
        names = []
        for flow in flows:
            key = flow.id, flow.request.timestamp_start  # a flow that is asked again is another
            text = self._said.get(key)
            if text is None:
                text = await asyncio.to_thread(_said_in, flow)
                if not flow.live:
                    self._remember(key, text)
            if all(word in text for word in wanted):
                names.append(flow.id)
        return names

    def _remember(self, key: tuple[str, float], words: str) -> None:
        if key not in self._said and self._size + len(words) <= SEARCH_LIMIT:
            self._said[key] = words
            self._size += len(words)


def _said_in(flow: HTTPFlow) -> str:
    whole, _ = transcript_of(flow)
    parts = [part for turn in whole.turns for part in turn.parts]
    return "\n".join([*(words for part in parts for words in _words(part)), *whole.rest]).casefold()


def _words(part: Part) -> Iterable[str]:
    if isinstance(part, Media):
        return [part.words]
    if isinstance(part, Field):
        return [part.name, str(part.value)]
    return [str(getattr(part, each.name)) for each in fields(part)]
