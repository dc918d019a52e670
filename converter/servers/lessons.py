"""Lessons about a server, as processes tell each other: read, written, and of two the later."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import not_

from converter.model.initial_state import InitialState
from converter.servers.profiles import SERVERS, Server, by_name
from converter.servers.refusals import ODD, SCHEMA_WORDS
from converter.wire import json_text
from converter.wire.bounds import MOST_SHARED

AGE = 86_400.0
"""Seconds in which a lesson is taken from others: then a server is found out anew, because what it
refuses, or its model's template, may have changed.
"""
SERVER, REPEATS, PARSES = "server", "repeats", "parses"
PROMPT, BEGINS, THINKS, BLIND, REFUSES = "prompt ", "begins ", "thinks ", "blind ", "refuses "
"""Names of lessons; a blank has a digest behind it."""
UNTOLD = "untold"
_UNSURE = "?"


@dataclass(frozen=True, slots=True)
class Lesson:
    """A word, learnt `at` so many seconds since 1970."""

    at: float
    word: str


type Lessons = Mapping[str, Lesson]


def word_of(server: Server, certain: bool) -> str:
    """Return the word for what a server is."""
    return server.name if certain else server.name + _UNSURE


def named_server(word: str) -> tuple[Server, bool]:
    """Return the row that a word names, and whether it is certain."""
    return by_name(word.removesuffix(_UNSURE)), not word.endswith(_UNSURE)


_STATES = {state.value for state in InitialState} - {InitialState.AUTO.value}
_NAMES = {word_of(server, certain) for server in SERVERS for certain in (True, False)}
_WORDS: Mapping[str, Callable[[str], bool]] = {
    SERVER: _NAMES.__contains__,
    PROMPT: {*_STATES, UNTOLD, ""}.__contains__,
    BEGINS: _STATES.__contains__,
    REFUSES: lambda word: not {*word.splitlines()} - SCHEMA_WORDS - {ODD},
    **dict.fromkeys((REPEATS, PARSES, THINKS, BLIND), not_),
}
"""Kinds of lessons, and the test of their words."""
_DIGEST = re.compile("[0-9a-f]{64}|")


def read(value: bytes | None, now: float) -> dict[str, Lesson]:
    """Return the lessons that are written so, without those that are old or not to be read."""
    written = json_text.read_or_none(value or b"")
    told = written if isinstance(written, dict) else {}
    return {
        name: Lesson(min(one[0], now), one[1])
        for name, one in told.items()
        if _is_lesson(name, one) and one[0] > now - AGE
    }


def _is_lesson(name: str, told: object) -> bool:
    match told:
        case [int() | float(), str(word)]:
            kind, blank, digest = name.partition(" ")
            fits = _WORDS.get(kind + blank)
            return fits is not None and bool(_DIGEST.fullmatch(digest)) and fits(word)
    return False


def write(lessons: Lessons) -> bytes:
    """Return the newest of lessons as bytes."""
    newest = sorted(lessons.items(), key=lambda each: each[1].at)[-MOST_SHARED:]
    return json_text.write({name: [lesson.at, lesson.word] for name, lesson in newest})


def prevailing(one: Lessons, other: Lessons) -> Lessons:
    """Return of each name the later lesson; only those of the later where both name a server and
    not the same one.
    """
    first, second = one.get(SERVER), other.get(SERVER)
    if first and second and named_server(first.word)[0] is not named_server(second.word)[0]:
        return other if first.at < second.at else one
    later = {
        name: lesson
        for name, lesson in other.items()
        if name not in one or one[name].at < lesson.at
    }
    return {**one, **later}
