"""`Sessions` puts exchanges of the page's list into sessions (conversations), and finds a session's
branches, such as a sub-agent's conversation. `listed.py` calls it; `session.py` writes a session as
JSON.

A conversation is one session: each request repeats the messages before and adds some. It stays the
same session after its client had it summarised, and has replaced earlier messages by the summary. A
branch of a session is a conversation that a tool call of the session began (a sub-agent's), or a
request for the session's title. Sessions are recognised by the client's name and the texts of
messages (`fingerprint_of`), because no header names them.

The opening of a request is its messages before the model's first turn.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile

from converter.core.model.housekeeping import COMPACTION, TITLE, goes_on_from_summary
from converter.core.model.raw_messages import (
    SYSTEM,
    content_texts,
    entries_of,
    fingerprint_of,
    role_of,
    shared_count,
    strings_of,
)
from converter.core.wire import json_text

type Messages = Sequence[object]

_COMPARED_SESSIONS = 8
"""The most sessions that are kept for one key of an opening (`_prefix_keys`), the newest ones. A
request is compared with the sessions of each of its keys. Without this bound a thousand sessions
with one question would need a million comparisons.
"""
_KEPT_REQUESTS = 8
"""The most requests whose parsed messages are kept in memory. Any other request is parsed again
when a new request is compared with it.
"""
_SEARCHED_LEVELS = 3
"""How many levels of a call's nested arguments are searched for the prompt of a sub-agent."""
_REMEMBERED = 8
"""For each client, the most sessions whose first questions are remembered, and the most requests
for a title that wait for their session. A request for a title quotes the first question of its
session, and may come before or after the session begins.
"""
_LONGEST_QUESTION, _LONGEST_TITLE = 500, 20_000
"""How many characters are compared: of a session's first question, and of a request for a title,
which quotes this question.
"""


@dataclass(slots=True, eq=False)
class Session:
    """A conversation of a client with a model, or a branch of a conversation."""

    name: str
    """The id of its first exchange."""
    begin_order: int
    """The number of exchanges that were added before its first one. Sessions are sorted by it."""
    fewest_messages: int
    """The number of messages in its shortest request since the client last put a summary in place
    of earlier messages.
    """
    newest_exchange_id: str
    """The id of its newest exchange."""
    parent_name: str = ""
    """The name of the session of which it is a branch; empty if it is no branch."""
    exchange_ids: list[str] = field(default_factory=list)
    """The ids of its exchanges."""


class Sessions:
    """Puts exchanges into sessions. `add` must be called in the order in which the exchanges began.
    `read_messages`: a function of an exchange's id; it returns the messages of that exchange.
    """

    def __init__(self, read_messages: Callable[[str], Messages]) -> None:
        self._messages = lru_cache(_KEPT_REQUESTS)(read_messages)
        # Id of an exchange -> its session.
        self._of = dict[str, Session]()
        # Key of an opening (`_prefix_keys`) -> the newest sessions that begin with this opening.
        self._openings = dict[int, deque[Session]]()
        # Key of a text (`_find_parent`) -> the sessions in whose opening the user says this text.
        self._begun = dict[int, list[Session]]()
        # Key of a text -> the newest session with this text in a tool call. A later session in
        # whose opening the user says the text counts as a sub-agent's, started by this call.
        self._callers = dict[int, Session]()
        # Client -> the first question of each of its newest sessions, with the session.
        self._questions_of = dict[str, deque[tuple[str, Session]]]()
        # Client -> the text of each request for a title that waits for its session (`_add_title`),
        # with the session that consists of this request.
        self._titles = dict[str, deque[tuple[str, Session]]]()
        # Client -> the session that it last asked the model to summarise.
        self._summed_up = dict[str, Session]()

    def session_of(self, exchange: str) -> Session | None:
        """Return the session of an exchange, None if the exchange was not added."""
        return self._of.get(exchange)

    def related_sessions(self, exchange: str) -> list[Session]:
        """Return the sessions related to an exchange, in the order in which they began: the topmost
        session of which its own is a branch, and all branches of that, also branches of branches.
        Return `[]` if the exchange was not added.
        """
        if (session := self._of.get(exchange)) is None:
            return []
        root = self._root(session)
        kin = {each for each in self._of.values() if self._root(each) is root}
        return sorted(kin, key=lambda each: each.begin_order)

    def _root(self, session: Session) -> Session:
        """Return the topmost session of which `session` is a branch, or `session` itself."""
        while session.parent_name:
            session = self._of[session.parent_name]
        return session

    def add(self, exchange: str, client: str, messages: Messages, wish: str = "") -> list[str]:
        """Put an exchange into the session that it continues, or into a new session. A request that
        continues no session by its messages, but whose opening has a summary, continues the session
        that its client last had summarised.

        Return the ids of exchanges whose rows must change, because the new exchange has made their
        sessions branches.

        `client`: the client's name and version. `messages`: the request's messages. `wish`: `TITLE`
        or `COMPACTION` if the client asks for a title or a summary for its own use, else empty.
        """
        opening = [*takewhile(lambda each: role_of(each) in (*SYSTEM, "user"), messages)]
        new = Session(exchange, len(self._of), len(messages), exchange)
        if wish == TITLE:
            self._add_title(new, client, opening)
            return []
        keys, taken = _prefix_keys(client, opening), list[str]()
        session, same = self._continued_session(keys, messages, len(opening))
        if session is None:
            from_summary = any(map(goes_on_from_summary, opening))
            session = (self._summed_up.pop(client, None) if from_summary else None) or new
            session.fewest_messages = len(messages)
            self._openings.setdefault(keys[-1], deque(maxlen=_COMPARED_SESSIONS)).append(session)
        if session is new:
            self._find_parent(session, client, opening)
            taken = self._adopt_titles(session, client, opening)
        if wish == COMPACTION:
            self._summed_up[client] = session
        session.fewest_messages = min(session.fewest_messages, len(messages))
        session.newest_exchange_id = exchange
        self._append_exchange(exchange, session)
        return taken + self._note_calls(session, client, messages[same:])

    def _append_exchange(self, exchange: str, session: Session) -> None:
        """Add an exchange to a session, as its last."""
        session.exchange_ids.append(exchange)
        self._of[exchange] = session

    def _add_title(self, title: Session, client: str, opening: Messages) -> None:
        """Add a request for a title, as the new session `title`. Its messages, `opening`, quote the
        first question of another session; `title` becomes a branch of that session (of several, the
        one with the longest question). If no remembered question is quoted, `title` waits for a
        session (`_adopt_titles`).
        """
        texts = [text for message in opening for text in content_texts(message)]
        text = "\n".join(texts)[:_LONGEST_TITLE]
        titled = [pair for pair in self._questions_of.get(client, ()) if pair[0] in text]
        if titled:
            title.parent_name = max(reversed(titled), key=lambda pair: len(pair[0]))[1].name
        else:
            self._titles.setdefault(client, deque(maxlen=_REMEMBERED)).append((text, title))
        self._append_exchange(title.name, title)

    def _adopt_titles(self, session: Session, client: str, opening: Messages) -> list[str]:
        """Make waiting requests for a title branches of a new `session`, if they quote its first
        question; return their ids. They wait because a client may ask for a title before it begins
        the session. `opening`: the session's messages before the model's first turn; its longest
        text that the user wrote counts as the first question.
        """
        texts = map(str.strip, _user_texts(opening))
        # A text that begins with a tag counts as added by the client.
        questions = (text for text in texts if not text.startswith("<"))
        question = max(questions, key=len, default="")[:_LONGEST_QUESTION]
        if not question:
            return []
        self._questions_of.setdefault(client, deque(maxlen=_REMEMBERED)).append((question, session))
        titles = self._titles.get(client, deque())
        mine = [pair for pair in titles if question in pair[0]]
        for pair in mine:
            titles.remove(pair)
            pair[1].parent_name = session.name
        return [pair[1].name for pair in mine]

    def _continued_session(
        self, keys: Sequence[int], messages: Messages, opening: int
    ) -> tuple[Session | None, int]:
        """Return the session that a request continues, and the number of messages that both share.
        Return None and 0 if the request begins a session.

        `keys`: the keys of the request's opening (`_prefix_keys`). `messages`: the request's
        messages, of which the first `opening` are before the model's first turn.

        The request is compared with the newest request of each session. It continues the session
        with which it shares the most messages at the beginning; if several share as many, the
        last of them in the order of `keys`, and under one key the newest. It must share at least as
        many messages as the session's shortest request has. If it has no turn of the model, it must
        also have more messages than that shortest request, because two sessions may begin with the
        same question.
        """
        best, most = None, 0
        for session in (each for key in keys for each in self._openings.get(key, ())):
            if len(messages) > min(session.fewest_messages, opening):
                same = shared_count(self._messages(session.newest_exchange_id), messages)
                if same >= max(session.fewest_messages, most):
                    best, most = session, same
        return best, most

    def _find_parent(self, session: Session, client: str, opening: Messages) -> None:
        """Make a new `session` a branch of the earlier session that started it as a sub-agent, if
        there is one. The earlier session, of the same client, has a string in a tool call's
        arguments that equals a text of the user in `opening`, the new session's messages before the
        model's first turn. Remember these texts for calls that come later (`_note_calls`).
        """
        for plain in filter(None, map(_comparable, _user_texts(opening))):
            key = hash((client, plain))  # `_note_calls` makes the same key for a call's string.
            self._begun.setdefault(key, []).append(session)
            if caller := self._callers.get(key):
                session.parent_name = caller.name

    def _note_calls(self, session: Session, client: str, messages: Messages) -> list[str]:
        """Remember the strings in the tool calls of a session's new `messages`: a later session
        that begins with such a string is a sub-agent's, and so a branch of `session`. Sub-agents'
        sessions that began after `session`, and are no branches yet, become branches now; return
        the ids of their exchanges.
        """
        taken = list[str]()
        for text in (text for message in messages for text in _call_strings(message)):
            key = hash((client, _comparable(text)))
            self._callers[key] = session
            for begun in self._begun.get(key, ()):
                if not begun.parent_name and begun.begin_order > session.begin_order:
                    begun.parent_name = session.name
                    taken += begun.exchange_ids
        return taken


def _prefix_keys(client: str, opening: Messages) -> list[int]:
    """Return keys by which sessions with the same first messages are looked up: one for the client
    alone, one for the client and the first message of the opening, one for the first two ... If a
    client has added messages to the opening since the session began, a key of fewer messages still
    matches the session.
    """
    keys = [hash(client)]
    for message in opening:
        keys.append(hash((keys[-1], fingerprint_of(message))))
    return keys


def _user_texts(opening: Messages) -> Iterator[str]:
    """Yield the texts of the user's messages in the opening."""
    questions = (message for message in opening if role_of(message) == "user")
    return (text for message in questions for text in content_texts(message))


def _comparable(text: str) -> str:
    """Return the beginning of a text, without dates, reminders and billing lines, which a client
    changes from request to request. Texts are compared in this form.
    """
    return fingerprint_of({"content": text}).strip()


def _call_strings(message: object) -> Iterator[str]:
    """Yield the strings in the arguments of a message's tool calls, in whatever dialect, down to
    `_SEARCHED_LEVELS`.
    """
    for call in entries_of(message):
        function = call.get("function", call)
        if isinstance(function, Mapping):
            value = function.get("arguments", function.get("input"))
            read = json_text.read_or_none(value.encode()) if isinstance(value, str) else value
            yield from strings_of(read, _SEARCHED_LEVELS)
