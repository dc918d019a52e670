"""Known servers and their models: the kind of each server, how its prompts end, where a guess was
wrong, which models think, what was refused.

Each is a lesson: a word under a name, learnt at some time. `converter.addon.probes.upstream_client`
asks the servers, replies teach the rest; `converter.addon.memory.shared_lessons` takes lessons from
process to process, as they are read and written here.
"""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import not_
from typing import Any, NamedTuple

from converter.addon.servers import initial_state, refusals
from converter.addon.servers.initial_state import Facts
from converter.addon.servers.profiles import SERVERS, Server, by_name
from converter.addon.servers.refusals import ODD, SCHEMA_KEYS
from converter.addon.servers.refused_fields import are_paths, fields_of, without_fields
from converter.addon.servers.unread_replies import RENDERED
from converter.core.dialects.request_facts import COUNTING
from converter.core.dialects.server_fields import Use, used_as
from converter.core.model.initial_state import InitialState
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound

MOST_LESSONS = Bound(1000, "entries", "what is known of servers; models of a list", "the oldest go")
"""One machine has a few; a client that makes names up must not fill the memory."""
MOST_SHARED = Bound(300, "lessons", "what processes tell each other of one server", "the oldest go")
"""Some for each model and each refused schema; all of them are read at once."""
MOST_FIELDS = 50
"""Fields that one server refuses of a model's requests: clients have a few of their own."""
AGE = 86_400.0
"""Seconds in which a lesson is taken from others: then a server is found out anew, because what it
refuses, or its model's template, may have changed.
"""
SERVER, REPEATS, PARSES = "server", "repeats", "parses "
PROMPT, BEGINS, THINKS, REFUSES = "prompt ", "begins ", "thinks ", "refuses "
FIELDS, UNREAD = "fields ", "unread "
"""Names of lessons; a blank has a digest behind it."""
_LACKS = {name: part.lesson for name, part in refusals.PARTS.items() if part.lesson}
"""Parts that are left out of all requests for a model, and the lesson of each."""
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
_TESTS: Mapping[str, Callable[[str], bool]] = {
    SERVER: _NAMES.__contains__,
    PROMPT: {*_STATES, UNTOLD, ""}.__contains__,
    BEGINS: _STATES.__contains__,
    REFUSES: lambda word: not {*word.splitlines()} - SCHEMA_KEYS - {ODD},
    FIELDS: are_paths,
    **dict.fromkeys((REPEATS, PARSES, THINKS, UNREAD, *_LACKS.values()), not_),
}
"""Kinds of lessons, and the test of their words."""
_DIGEST = re.compile("[0-9a-f]{64}|")


def read(value: bytes | None, now: float) -> dict[str, Lesson]:
    """Return the lessons that are written so, without those that are old or not to be read."""
    stored: dict[str, Any] = json_text.object_in(value or b"")
    return {
        name: Lesson(min(one[0], now), one[1])
        for name, one in stored.items()
        if _is_lesson(name, one) and one[0] > now - AGE
    }


def _is_lesson(name: str, stored: object) -> bool:
    match stored:
        case [int() | float(), str(word)]:
            kind, blank, digest = name.partition(" ")
            fits = _TESTS.get(kind + blank)
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


type Key = tuple[Upstream, str]
"""A server, and a digest of the other grounds: names and switches may be of any length."""


class Bounded[Name, Value](OrderedDict[Name, Value]):
    """A dictionary of the newest `MOST_LESSONS` entries; writing one makes it the newest."""

    def __setitem__(self, name: Name, value: Value) -> None:
        super().__setitem__(name, value)
        self.move_to_end(name)
        if len(self) > MOST_LESSONS:
            self.popitem(last=False)


class Upstream(NamedTuple):
    """A server's API: where it is, and the prefix of its paths. A tuple, because some twenty
    look-ups of a request hash it, which a dataclass does in Python.

    `direct`: not behind another proxy, which probes would go around.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    direct: bool = True

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


_SWITCHES = used_as(Use.BEGINNING)
_SORTED = json.JSONEncoder(sort_keys=True, default=str)


def switch_of(body: Mapping[str, object]) -> str:
    """Return the parts of a request that decide where its reply begins, as a key: replies to the
    same key begin alike.
    """
    switches = {name: body[name] for name in _SWITCHES if name in body}
    return _SORTED.encode(switches)


def prompt_key(upstream: Upstream, body: Mapping[str, object]) -> Key:
    """Return the traits that prompts of one end share: server, model and thinking switches."""
    return upstream, _digest(str(body.get("model")), switch_of(body))


def _model(body: Mapping[str, object]) -> str:
    return _digest(str(body.get("model")))


def _digest(*parts: str) -> str:
    joined = "\0".join(parts)
    # a request may say anything, and what is remembered must stay small
    return _of_short(joined) if len(joined) <= _SHORT else _of(joined)


def _of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_SHORT = 1024
"""Characters of a model's name and its switches, of which the digest is remembered."""
_of_short = lru_cache(maxsize=64)(_of)


class KnownServers:
    """The memory of one proxy. `now`: in seconds since 1970."""

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        self._now = now
        self._lessons: Bounded[tuple[Upstream, str], Lesson] = Bounded()
        self._news: Bounded[tuple[Upstream, str], None] = Bounded()
        self._doubted: Bounded[Upstream, None] = Bounded()

    def recognised(self, upstream: Upstream, server: Server, certain: bool = True) -> None:
        """Remember the kind of a server, and nothing else of another that was there before."""
        if self.server(upstream) not in (None, server):
            for name in self._of(upstream):
                del self._lessons[upstream, name]
        self._doubted.pop(upstream, None)
        self._learn(upstream, SERVER, word_of(server, certain), renewed=True)

    def server(self, upstream: Upstream) -> Server | None:
        """Return the server's row, None until it has been recognised."""
        word = self._word(upstream, SERVER)
        return None if word is None else named_server(word)[0]

    def doubt(self, upstream: Upstream) -> None:
        """Remember that the server was gone: another may come back."""
        self._doubted[upstream] = None

    def answered(self, upstream: Upstream) -> None:
        """Remember that a server has replied. An uncertain server may tell more now: `transformers
        serve` 5.24 lists its model only once the model is loaded.
        """
        word = self._word(upstream, SERVER)
        if word is not None and not named_server(word)[1]:
            self.doubt(upstream)

    def is_due(self, upstream: Upstream, certain: float, uncertain: float) -> bool:
        """Return True if the server's last answer about itself is older than so many seconds."""
        lesson = self._lessons.get((upstream, SERVER))
        if lesson is None or upstream in self._doubted:
            return True
        seconds = certain if named_server(lesson.word)[1] else uncertain
        return self._now() - lesson.at >= seconds

    def saw_repeated_opener(self, upstream: Upstream) -> None:
        """Remember that servers of this kind repeat the template's opener in their text."""
        self._learn(upstream, REPEATS)

    def saw_thinking(self, upstream: Upstream, body: Mapping[str, object]) -> None:
        """Remember that the server takes this model's thinking out of the text itself; behind a
        router another model may be served by another server.
        """
        self._learn(upstream, PARSES + _model(body))

    def takes_thinking_out(self, upstream: Upstream, model: str) -> bool:
        """Return True if the server has been seen to take this model's thinking out of the text."""
        return self._word(upstream, PARSES + _digest(model)) is not None

    def saw_prompt(
        self, upstream: Upstream, body: Mapping[str, object], state: InitialState | None
    ) -> None:
        """Remember where such a prompt ends; None: the server cannot tell."""
        name = PROMPT + prompt_key(upstream, body)[1]
        self._learn(upstream, name, state.value if state else UNTOLD)

    def has_prompt(self, key: Key) -> bool:
        """Return True if the server has been asked where prompts of this key end."""
        return bool(self._word(key[0], PROMPT + key[1]))

    def correct(self, upstream: Upstream, body: Mapping[str, object], state: InitialState) -> None:
        """Remember where a reply began, after a guess. If the server had reported another state,
        forget that, so that a probe asks again: the model has another template now.
        """
        _, digest = prompt_key(upstream, body)
        reported = _state(self._word(upstream, PROMPT + digest))
        if reported and reported.inside != state.inside:
            self._learn(upstream, PROMPT + digest)
        self._learn(upstream, BEGINS + digest, state.value)

    def saw_thought(self, upstream: Upstream, body: Mapping[str, object]) -> None:
        """Remember that the model thinks unasked."""
        self._learn(upstream, THINKS + _model(body))

    def thinks(self, upstream: Upstream, body: Mapping[str, object]) -> bool:
        """Return True if the model is known to think by itself."""
        seen = self._word(upstream, THINKS + _model(body)) is not None
        named = initial_state.model(Facts(body))
        return seen or (named is not None and named.inside)

    def thinks_first(
        self, upstream: Upstream, body: Mapping[str, object], chosen: InitialState
    ) -> bool:
        """Return True if a thought comes before the answer, in the text or in a field. `chosen`:
        where replies begin by the user's option.
        """
        if chosen is not InitialState.AUTO:
            return chosen.inside
        facts = self.facts(upstream, body)
        return initial_state.begins_in_thought(facts, self.thinks(upstream, body))

    def saw_refusal(
        self, upstream: Upstream, body: Mapping[str, object], names: frozenset[str]
    ) -> None:
        """Remember the parts of a request that the server refuses, and takes a request without."""
        self._learn(upstream, REFUSES)
        for part in _LACKS.keys() & names:
            self._learn(upstream, _LACKS[part] + _model(body))
        if RENDERED in names:
            self._learn(upstream, UNREAD + _model(body))
        # vLLM refuses the field of a request that is not streamed, and takes it with a stream
        of_streams = frozenset(() if body.get("stream") is True else (COUNTING,))
        if fields := fields_of(names) - of_streams:
            name = FIELDS + _model(body)
            before = (self._word(upstream, name) or "").splitlines()
            self._learn(upstream, name, "\n".join(sorted(fields | {*before})[:MOST_FIELDS]))
        for schema, keys in refusals.refused_schemas(body, names).items():
            self._learn(upstream, REFUSES + schema, "\n".join(sorted(keys)))

    def spared(
        self, upstream: Upstream, body: Mapping[str, object], may_lack: frozenset[str]
    ) -> Mapping[str, object]:
        """Return a request without what the server has refused, of the parts that it `may_lack`;
        the same one if that is nothing.
        """
        if self._word(upstream, REFUSES) is None:
            return body
        model = _model(body)
        for part, lesson in _LACKS.items():
            if part in may_lack and self._word(upstream, lesson + model) is not None:
                body = refusals.PARTS[part].without(body)
        fields = self._word(upstream, FIELDS + model) if refusals.FIELDS in may_lack else None
        body = without_fields(body, frozenset(fields.splitlines())) if fields else body

        def refused(schema: str) -> frozenset[str]:
            return frozenset((self._word(upstream, REFUSES + schema) or "").splitlines())

        return refusals.without_schemas(body, refused) if refusals.SCHEMAS in may_lack else body

    def is_unread(self, upstream: Upstream, body: Mapping[str, object]) -> bool:
        """Return True if the server's own reader throws replies of this model away."""
        refuses = self._word(upstream, REFUSES) is not None
        return refuses and self._word(upstream, UNREAD + _model(body)) is not None

    def takes(self, upstream: Upstream, body: Mapping[str, object], name: str) -> bool:
        """Return True if a field may be added to a request, because no refusal of it is known."""
        if self._word(upstream, REFUSES) is None:
            return True
        refused = self._word(upstream, FIELDS + _model(body)) or ""
        return name not in refused.splitlines()

    def facts(self, upstream: Upstream, body: Mapping[str, object]) -> Facts:
        """Return the facts that the rules may go by for the reply to this request."""
        digest = prompt_key(upstream, body)[1]
        parses = self.takes_thinking_out(upstream, str(body.get("model")))
        repeats = self._word(upstream, REPEATS) is not None
        prompt, begins = (self._word(upstream, kind + digest) for kind in (PROMPT, BEGINS))
        return Facts(body, parses, repeats, _state(prompt), _state(begins))

    def news(self, upstream: Upstream) -> Lessons:
        """Return what was learnt of a server since this was asked."""
        new = [each for each in self._news if each[0] == upstream]
        for each in new:
            del self._news[each]
        return {each[1]: self._lessons[each] for each in new if each in self._lessons}

    def untold(self, upstream: Upstream, news: Lessons) -> None:
        """Take news back that nobody has heard."""
        self._news.update({(upstream, name): None for name in news})

    def take(self, upstream: Upstream, lessons: Lessons) -> None:
        """Take over what others have learnt: of each lesson the latest."""
        before = self._of(upstream)
        left = prevailing(before, lessons)
        for name in before.keys() - left.keys():
            del self._lessons[upstream, name]
        for name, lesson in left.items():
            if before.get(name) is not lesson:
                self._lessons[upstream, name] = lesson

    def _of(self, upstream: Upstream) -> Lessons:
        return {name: one for (where, name), one in self._lessons.items() if where == upstream}

    def _learn(
        self, upstream: Upstream, name: str, word: str = "", *, renewed: bool = False
    ) -> None:
        before = self._lessons.get((upstream, name))
        self._lessons[upstream, name] = Lesson(self._now(), word)
        if renewed or before is None or before.word != word:
            self._news[upstream, name] = None

    def _word(self, upstream: Upstream, name: str) -> str | None:
        if (lesson := self._lessons.get((upstream, name))) is None:
            return None
        self._lessons.move_to_end((upstream, name))
        return lesson.word


def _state(word: str | None) -> InitialState | None:
    return InitialState(word) if word and word != UNTOLD else None
