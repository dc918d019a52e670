"""`KnownServers` keeps a proxy's lessons (facts learned) about its servers: their kinds, how
prompts end, where replies really began, which models think, which traits of requests were refused.
`Upstream` is the address of a server; `BoundedDict` keeps only the newest entries.

A lesson has a name, a short text (its word), and the time at which it was learned. Examples:
`server` -> `vllm`, and `thinks DIGEST` -> an empty word (DIGEST is a hash of the model's name).

`converter.addon.probes.upstream_client` learns lessons from probes, the steps of an exchange learn
them from replies. `converter.addon.memory.shared_lessons` copies lessons between processes, in the
bytes that `write_lessons` makes and `read_lessons` reads.
"""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import not_
from typing import Any, NamedTuple

from converter.addon.servers import initial_state, refusals
from converter.addon.servers.initial_state import Facts
from converter.addon.servers.profiles import SERVERS, Server, by_name
from converter.addon.servers.refused_fields import FIELD
from converter.core.dialects.request_facts import COUNTING
from converter.core.dialects.server_fields import Use, fields_with_use
from converter.core.model.initial_state import InitialState
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound

MOST_LESSONS = Bound(1000, "entries", "lessons about servers; models of a list", "the oldest go")
"""How many lessons about all servers are kept, and how many models of a server's list. A machine
has a few servers. The bound keeps a client that invents names of models from filling the memory.
"""
MOST_SHARED = Bound(300, "lessons", "shared lessons about one server", "the oldest go")
"""How many lessons about one server are shared. A server has a few lessons for each model and each
refused schema. The store that processes share has all lessons about one server in one entry.
"""
MOST_REFUSED = 75
"""How many refused traits one lesson may list: those of a model, of a tool or of a response format.
"""
AGE = 86_400.0
"""Seconds after which a stored lesson is ignored, because the server may have been updated, or its
model may have another template.
"""
SERVER, REPEATS, PARSES = "server", "repeats", "parses "
PROMPT, BEGINS, THINKS, REFUSES = "prompt ", "begins ", "thinks ", "refuses "
"""Names of lessons, or prefixes of names. A prefix ends with a blank, and a digest follows:

- `server`: the word is the kind of the server, as `server_word` writes it.
- `repeats`: a reply may begin with a copy of the opener that ends the prompt.
- `prompt DIGEST`, `begins DIGEST`: of a model's name and the switches of thinking.
- `parses DIGEST`, `thinks DIGEST`: of a model's name.
- `refuses DIGEST`: of a model's name, and the lesson's word lists the refused traits, a line each;
  or of a tool or response format, and the word lists the refused keywords of its schema.
- `refuses ` without a digest: the server has refused some request because of a trait.
"""
UNREPORTED = "untold"
"""The word of a `PROMPT` lesson about a server that does not report how prompts end."""
_UNSURE = "?"
"""The end of a `SERVER` lesson's word, if the kind of the server is not certain: `vllm?`."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A fact about a server, and when it was learned. The lesson is stored under the fact's name,
    such as `server`; its word is the fact itself, such as `vllm`.
    """

    at: float
    """The time when the fact was learned, in seconds since 1970."""
    word: str
    """The fact, such as `vllm`; empty if the lesson's name alone is the fact."""


type Lessons = Mapping[str, Lesson]
"""Name of a lesson -> the lesson, for one server."""


def server_word(server: Server, certain: bool) -> str:
    """Return the word of the `SERVER` lesson: the name of the server's row in `SERVERS`, with `?`
    behind it if the kind of the server is not certain.
    """
    return server.name if certain else server.name + _UNSURE


def server_of_word(word: str) -> tuple[Server, bool]:
    """Return the row of `SERVERS` that the word of a `SERVER` lesson names, and True if the kind of
    the server is certain: `vllm?` -> the row of vLLM and False.
    """
    return by_name(word.removesuffix(_UNSURE)), not word.endswith(_UNSURE)


_STATES = {state.value for state in InitialState} - {InitialState.AUTO.value}
"""The states in which a reply may begin: the words of `BEGINS` lessons, and words of `PROMPT`
lessons.
"""
_NAMES = {server_word(server, certain) for server in SERVERS for certain in (True, False)}
"""The words of `SERVER` lessons: `vllm`, `vllm?`, ..."""
_IS_VALID: Mapping[str, Callable[[str], bool]] = {
    SERVER: _NAMES.__contains__,
    PROMPT: {*_STATES, UNREPORTED, ""}.__contains__,
    BEGINS: _STATES.__contains__,
    REFUSES: lambda word: all(map(refusals.is_trait_name, word.splitlines())),
    **dict.fromkeys((REPEATS, PARSES, THINKS), not_),
}
"""Name or prefix of a lesson -> function that returns True if a stored word is valid for it."""
_DIGEST = re.compile("[0-9a-f]{64}|")
"""Matches the digest in a lesson's name; also an empty text, for a name without a digest."""


def read_lessons(value: bytes | None, now: float) -> dict[str, Lesson]:
    """Return the lessons in `value`, an entry of a store that `write_lessons` wrote. Lessons that
    are invalid or older than `AGE` are left out. `now`: seconds since 1970.
    """
    stored: dict[str, Any] = json_text.object_in(value or b"")
    lessons = {}
    for name, value_stored in stored.items():
        kind, blank, digest = name.partition(" ")
        fits = _IS_VALID.get(kind + blank)
        match value_stored:
            case [int() | float() as at, str(word)] if fits and _DIGEST.fullmatch(digest):
                if fits(word) and at > now - AGE:
                    lessons[name] = Lesson(min(at, now), word)
    return lessons


def write_lessons(lessons: Lessons) -> bytes:
    """Return the newest `MOST_SHARED` of these lessons as JSON: `{name: [time, word]}`."""
    newest = sorted(lessons.items(), key=lambda each: each[1].at)[-MOST_SHARED:]
    return json_text.write({name: [lesson.at, lesson.word] for name, lesson in newest})


def merge_lessons(one: Lessons, other: Lessons) -> Lessons:
    """Return the lessons `one` and `other`, such as those of two processes, as one mapping. Of two
    lessons with the same name, the later one prevails. If `one` and `other` name different kinds of
    server at the address, return only the mapping that learned the kind later.
    """
    first, second = one.get(SERVER), other.get(SERVER)
    if first and second and server_of_word(first.word)[0] is not server_of_word(second.word)[0]:
        return other if first.at < second.at else one
    later = {
        name: lesson
        for name, lesson in other.items()
        if name not in one or one[name].at < lesson.at
    }
    return {**one, **later}


type Key = tuple[Upstream, str]
"""A server, and a digest of a model's name and the switches of thinking. A digest, because names
and switches may be of any length.
"""


class BoundedDict[Name, Value](OrderedDict[Name, Value]):
    """A dictionary of the newest `MOST_LESSONS` entries. An entry that is written becomes the
    newest.
    """

    def __setitem__(self, name: Name, value: Value) -> None:
        super().__setitem__(name, value)
        self.move_to_end(name)
        if len(self) > MOST_LESSONS:
            self.popitem(last=False)


class Upstream(NamedTuple):
    """The address of a server's API.

    A tuple, because an address is hashed some twenty times for each request, and the hash of a
    dataclass is slow Python code.
    """

    scheme: str
    """`http` or `https`."""
    host: str
    """A host name or an IP address."""
    port: int
    """The TCP port."""
    prefix: str = ""
    """The part of the path before the dialect's own paths, such as `/openai`."""
    direct: bool = True
    """True if mitmproxy connects to the server itself; False if it connects to an upstream proxy.
    Then the server's kind and the end of its prompts are not probed, because probes would bypass
    that proxy.
    """

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


_SWITCHES = fields_with_use(Use.BEGINNING)
"""Names of the fields of a request that decide where its reply begins."""
_SORTED = json.JSONEncoder(sort_keys=True, default=str)
"""Writes JSON with sorted keys, so that equal objects become the same text."""


def switches_as_json(body: Mapping[str, object]) -> str:
    """Return the fields of a request that decide where its reply begins, as JSON with sorted keys.
    If two requests have the same JSON, one model's replies to them begin in the same state.
    """
    switches = {name: body[name] for name in _SWITCHES if name in body}
    return _SORTED.encode(switches)


def prompt_key(upstream: Upstream, body: Mapping[str, object]) -> Key:
    """Return the key of a request: server, model and switches of thinking. The prompts of requests
    with the same key end alike.
    """
    return upstream, _digest(str(body.get("model")), switches_as_json(body))


def _model_digest(body: Mapping[str, object]) -> str:
    """Return the digest of the name of a request's model, as lessons have it in their names."""
    return _digest(str(body.get("model")))


def _digest(*parts: str) -> str:
    """Return the SHA-256 of some texts as 64 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class KnownServers:
    """The lessons that one proxy has about its servers. `now` returns the time as seconds since
    1970.
    """

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        self._now = now
        self._lessons: BoundedDict[tuple[Upstream, str], Lesson] = BoundedDict()
        self._news: BoundedDict[tuple[Upstream, str], None] = BoundedDict()
        self._doubted: BoundedDict[Upstream, None] = BoundedDict()

    def learn_server(self, upstream: Upstream, server: Server, certain: bool = True) -> None:
        """Remember the kind of a server. If the address had a server of another kind before, forget
        all lessons about the address. `certain`: False if another row may fit the server when it is
        probed again (`probes.is_certain`).
        """
        if self.server(upstream) not in (None, server):
            for name in self._lessons_of(upstream):
                del self._lessons[upstream, name]
        self._doubted.pop(upstream, None)
        self._learn(upstream, SERVER, server_word(server, certain), renewed=True)

    def server(self, upstream: Upstream) -> Server | None:
        """Return the server's row of `SERVERS`, `None` until the server has been recognised."""
        word = self._read_word(upstream, SERVER)
        return None if word is None else server_of_word(word)[0]

    def doubt(self, upstream: Upstream) -> None:
        """Have the server recognised again, because it could not be reached for a time, and another
        server may have taken its address.
        """
        self._doubted[upstream] = None

    def doubt_if_uncertain(self, upstream: Upstream) -> None:
        """Have a server whose kind is uncertain recognised again, because it has replied and may
        now report more. `transformers serve` 5.24 lists its model only once the model is loaded.
        """
        word = self._read_word(upstream, SERVER)
        if word is not None and not server_of_word(word)[1]:
            self.doubt(upstream)

    def needs_recognition(self, upstream: Upstream, certain: float, uncertain: float) -> bool:
        """Return True if probes have to find out the server's kind: it is unknown, in doubt, or was
        learned too long ago. A certain kind is trusted for `certain` seconds, an uncertain kind for
        `uncertain` seconds.
        """
        lesson = self._lessons.get((upstream, SERVER))
        if lesson is None or upstream in self._doubted:
            return True
        seconds = certain if server_of_word(lesson.word)[1] else uncertain
        return self._now() - lesson.at >= seconds

    def learn_repeated_opener(self, upstream: Upstream) -> None:
        """Remember that the server may begin its text with the opener that ends the prompt."""
        self._learn(upstream, REPEATS)

    def learn_thinking_field(self, upstream: Upstream, body: Mapping[str, object]) -> None:
        """Remember that the server sends this model's thinking in a field of its own. The lesson
        is about one model, because a router may send another model's requests to another server.
        """
        self._learn(upstream, PARSES + _model_digest(body))

    def sends_thinking_field(self, upstream: Upstream, model: str) -> bool:
        """Return True if the server has sent this model's thinking in a field of its own before."""
        return self._read_word(upstream, PARSES + _digest(model)) is not None

    def learn_prompt_state(
        self, upstream: Upstream, body: Mapping[str, object], state: InitialState | None
    ) -> None:
        """Remember in which state the request's prompt ends, for all requests with the same
        `prompt_key`; `None`: the server cannot report the prompt.
        """
        name = PROMPT + prompt_key(upstream, body)[1]
        self._learn(upstream, name, state.value if state else UNREPORTED)

    def has_prompt(self, key: Key) -> bool:
        """Return True if there is a lesson about how prompts with this key end: the state at their
        end, or that the server does not report it.
        """
        return bool(self._read_word(key[0], PROMPT + key[1]))

    def learn_initial_state(
        self, upstream: Upstream, body: Mapping[str, object], state: InitialState
    ) -> None:
        """Remember where the reply to this request really began. If a probe had found another state
        at the prompt's end, forget the probe's result, so that the server is asked again, because
        its template must have changed.
        """
        _, digest = prompt_key(upstream, body)
        reported = _state_named(self._read_word(upstream, PROMPT + digest))
        if reported and reported.inside != state.inside:
            self._learn(upstream, PROMPT + digest)
        self._learn(upstream, BEGINS + digest, state.value)

    def learn_thinking_model(self, upstream: Upstream, body: Mapping[str, object]) -> None:
        """Remember that the request's model thinks although no instruction tells it to think."""
        self._learn(upstream, THINKS + _model_digest(body))

    def thinks(self, upstream: Upstream, body: Mapping[str, object]) -> bool:
        """Return True if the request's model thinks although its prompt has no instruction to
        think. An earlier reply has shown it, or the model's row in `TEMPLATES` opens a thought for
        this request.
        """
        seen = self._read_word(upstream, THINKS + _model_digest(body)) is not None
        named = initial_state.state_by_model(Facts(body))
        return seen or (named is not None and named.inside)

    def thinks_first(
        self, upstream: Upstream, body: Mapping[str, object], chosen: InitialState
    ) -> bool:
        """Return True if the reply is expected to begin with a thought, whether the server sends it
        in the text or in a field. `chosen`: the value of the user's option `think_start`.
        """
        if chosen is not InitialState.AUTO:
            return chosen.inside
        facts = self.facts(upstream, body)
        return initial_state.begins_in_thought(facts, self.thinks(upstream, body))

    def learn_refusal(
        self, upstream: Upstream, body: Mapping[str, object], names: frozenset[str]
    ) -> None:
        """Remember that the server refused the traits `names` of this request (`pictures`, `field
        seed`). `PICTURES_ONCE` is not remembered, nor is the field `stream_options` if the request
        wants no stream. To be called if these traits are surely the cause: the server has accepted
        the request without them, or its failure shows them.
        """
        keys = names & refusals.KEYWORDS
        traits = names - keys - {refusals.PICTURES_ONCE}
        for schema in refusals.refused_schemas(body, keys):
            self._learn_refused(upstream, schema, keys)
            traits |= {refusals.SCHEMAS}
        if body.get("stream") is not True:
            # vLLM refuses `stream_options` only in a request for a whole reply, so that this
            # refusal must not be remembered for requests of streams
            traits -= {FIELD + COUNTING}
        if traits:
            self._learn_refused(
                upstream, _model_digest(body), traits | self.refused_traits(upstream, body)
            )

    def without_refused_traits(
        self, upstream: Upstream, body: Mapping[str, object], removable: frozenset[str]
    ) -> Mapping[str, object]:
        """Return the request `body`, but leave out the traits that the server has refused before,
        if their names are in `removable`. Return `body` itself if nothing changes.
        """
        if not (names := self.refused_traits(upstream, body)):
            return body
        body = refusals.without_traits(body, names, removable)
        if refusals.SCHEMAS in names & removable:
            body = refusals.without_schema_keywords(
                body, partial(self._refused_by_digest, upstream)
            )
        return body

    def refused_traits(self, upstream: Upstream, body: Mapping[str, object]) -> frozenset[str]:
        """Return the names of the traits of requests (`pictures`, `field seed`) that the server has
        refused in earlier requests to the same model.
        """
        if self._read_word(upstream, REFUSES) is None:
            return frozenset()
        return self._refused_by_digest(upstream, _model_digest(body))

    def _refused_by_digest(self, upstream: Upstream, digest: str) -> frozenset[str]:
        """Return the traits that the lesson `refuses DIGEST` lists; empty if there is no such
        lesson. `digest`: the digest of a model's name, of a tool or of a response format.
        """
        return frozenset((self._read_word(upstream, REFUSES + digest) or "").splitlines())

    def _learn_refused(self, upstream: Upstream, digest: str, names: frozenset[str]) -> None:
        """Remember that the server refuses the traits `names`. `digest`: the digest of a model's
        name, of a tool or of a response format.
        """
        self._learn(upstream, REFUSES)
        self._learn(upstream, REFUSES + digest, "\n".join(sorted(names)[:MOST_REFUSED]))

    def takes_field(self, upstream: Upstream, body: Mapping[str, object], name: str) -> bool:
        """Return False if the server has refused the field `name` in requests to this model."""
        return FIELD + name not in self.refused_traits(upstream, body)

    def facts(self, upstream: Upstream, body: Mapping[str, object]) -> Facts:
        """Return the facts from which `initial_state` decides where the reply will begin."""
        digest = prompt_key(upstream, body)[1]
        parses = self.sends_thinking_field(upstream, str(body.get("model")))
        repeats = self._read_word(upstream, REPEATS) is not None
        prompt, begins = (self._read_word(upstream, kind + digest) for kind in (PROMPT, BEGINS))
        return Facts(body, parses, repeats, _state_named(prompt), _state_named(begins))

    def take_new_lessons(self, upstream: Upstream) -> Lessons:
        """Return the lessons about a server that are new since the last call of this method, for
        other processes. The next call does not return them again.
        """
        new = [each for each in self._news if each[0] == upstream]
        for each in new:
            del self._news[each]
        return {each[1]: self._lessons[each] for each in new if each in self._lessons}

    def mark_as_new(self, upstream: Upstream, lessons: Lessons) -> None:
        """Make `take_new_lessons` return these lessons once more. To be called if it has returned
        them, but they could not be passed on to other processes.
        """
        self._news.update({(upstream, name): None for name in lessons})

    def add_lessons(self, upstream: Upstream, lessons: Lessons) -> None:
        """Merge the lessons that other processes have about a server into the lessons here, by the
        rules of `merge_lessons`.
        """
        before = self._lessons_of(upstream)
        left = merge_lessons(before, lessons)
        for name in before.keys() - left.keys():
            del self._lessons[upstream, name]
        for name, lesson in left.items():
            if before.get(name) is not lesson:
                self._lessons[upstream, name] = lesson

    def _lessons_of(self, upstream: Upstream) -> Lessons:
        """Return all lessons about a server."""
        return {name: one for (where, name), one in self._lessons.items() if where == upstream}

    def _learn(
        self, upstream: Upstream, name: str, word: str = "", *, renewed: bool = False
    ) -> None:
        """Store a lesson with the present time. If there was none of this name, if its word has
        changed, or if `renewed` is True, mark it as new, so that other processes get it.
        """
        before = self._lessons.get((upstream, name))
        self._lessons[upstream, name] = Lesson(self._now(), word)
        if renewed or before is None or before.word != word:
            self._news[upstream, name] = None

    def _read_word(self, upstream: Upstream, name: str) -> str | None:
        """Return the word of the lesson with this name, `None` if there is no such lesson. The
        lesson becomes the newest entry, which is dropped last.
        """
        if (lesson := self._lessons.get((upstream, name))) is None:
            return None
        self._lessons.move_to_end((upstream, name))
        return lesson.word


def _state_named(word: str | None) -> InitialState | None:
    """Return the state that the word of a `PROMPT` or `BEGINS` lesson names; `None` if it names
    none.
    """
    return InitialState(word) if word and word != UNREPORTED else None
