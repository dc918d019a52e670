"""Tokens of a request's parts, in the prompt that the server has made of it.

A chat template writes words as they are or as JSON, strips the blanks at their ends, and leaves
some out, such as earlier thoughts. So a part is looked for between its neighbours, the longest
first: long words stand at one place only, and short ones cannot be far from them.
"""

from bisect import bisect, bisect_left, insort
from collections.abc import Callable, Sequence
from itertools import accumulate

from converter.wire import json_text

type Words = Sequence[str]
"""What a part says, in order: a name and the strings of its JSON, or one text."""
type _Place = tuple[int, int]


def tokens(
    pieces: Sequence[bytes], tools: Sequence[Words], turns: Sequence[Words]
) -> tuple[list[int | None], list[int | None]]:
    """Return how many of a prompt's tokens are of each tool and of each part of a turn; None for
    what does not stand in it.
    """
    prompt = b"".join(pieces)
    borders = [0, *accumulate(map(len, pieces))]
    described = _joined(_places(prompt, tools))
    spans = sorted(place for place in described if place)
    for begin, end in spans:  # no turn's words are meant there
        prompt = prompt[:begin] + bytes(end - begin) + prompt[end:]

    def counts(places: Sequence[_Place | None]) -> list[int | None]:
        return [
            place and bisect_left(borders, place[1]) - bisect_left(borders, place[0])
            for place in places
        ]

    return counts(described), counts(_places(prompt, turns))


def _places(prompt: bytes, parts: Sequence[Words]) -> list[_Place | None]:
    """Return where each part stands: first the longest words of each, then all that it says."""
    longest = [max(words, key=len, default="") for words in parts]
    found, places = list[int](), dict[int, _Place]()
    for part in sorted(range(len(parts)), key=lambda part: -len(longest[part])):
        after = bisect(found, part)
        low = places[found[after - 1]][1] if after else 0
        high = places[found[after]][0] if after < len(found) else len(prompt)
        if place := _find(prompt.find, longest[part], low, high):
            places[part] = place
            insort(found, part)
    ends = [places[part][0] for part in found[1:]] + [len(prompt)]
    low = 0
    for part, high in zip(found, ends, strict=False):
        places[part] = _whole(prompt, parts[part], longest[part], places[part], (low, high))
        low = places[part][1]
    return [places.get(part) for part in range(len(parts))]


def _whole(prompt: bytes, words: Words, longest: str, place: _Place, room: _Place) -> _Place:
    """Return where all of a part stands, from its first word to its last."""
    (begin, end), (low, high) = place, room
    if words[0] != longest and (first := _find(prompt.rfind, words[0], low, begin)):
        begin = first[0]
    for word in words[words.index(longest) + 1 :]:
        if then := _find(prompt.find, word, end, high):
            end = then[1]
    return begin, end


def _find(
    search: Callable[[bytes, int, int], int], words: str, low: int, high: int
) -> _Place | None:
    plain = words.strip()
    for text in (plain, json_text.write(plain).decode()[1:-1]) if plain else ():
        written = text.encode(errors="replace")
        if (at := search(written, low, high)) >= 0:
            return at, at + len(written)
    return None


def _joined(places: Sequence[_Place | None]) -> list[_Place | None]:
    """Return the places of tools, each to the next one's: between them stands their JSON."""
    begins = [place[0] for place in places if place]
    return [place and (place[0], _after(begins, place)) for place in places]


def _after(begins: Sequence[int], place: _Place) -> int:
    following = bisect(begins, place[0])
    return begins[following] if following < len(begins) else place[1]
