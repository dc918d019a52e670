"""The tables that the engine follows: its states, the marks that count in each, the step for each
mark, and the outcome of a candidate by its place and by what follows.

An answer goes HEAD -> ANSWERING -> (a mark) -> BEHIND -> ANSWERING ..., a thought OPENED ->
THINKING -> (its closer) -> ENDED. One that the chat template has opened begins at BEGINNING. A
whole reply of which nothing is known goes the way of an answer through states of its own, because
the first mark tells whether the words before it were a thought.

In a `Candidate` the table sleeps, and behind its calls CALLED follows. Some candidates are calls
only if the right text follows (`OUTCOMES`).

A call ends a thought that has no closer, but the thought may go on behind it: CALLED_INSIDE ->
RESUMED. Its closer there tells that the call was a draft: the thought goes on from before it
(`Draft`). Without a closer the words there were the answer.

Where phrases are looked for, an answer goes ANSWERING -> PHRASED -> ANSWERING: its words there are
a thought, and all else counts as in an answer.

A pair that the table lacks is ordinary text.
"""

import enum
from collections.abc import Mapping

from converter.core.reading.beginning import Mode
from converter.core.reading.mark_search import Mark


class State(enum.Enum):
    """The part of a reply that the engine reads."""

    HEAD = enum.auto()  # the answer has said nothing yet: a closer here closes nothing
    BEHIND = enum.auto()  # behind a mark, and nothing but blanks since
    ENDED = enum.auto()  # directly behind a thought: its closer said again closes nothing
    ANSWERING = enum.auto()
    PHRASED = enum.auto()  # the same, but a phrase has told that the words are a thought
    UNDECIDED_HEAD = enum.auto()
    UNDECIDED = enum.auto()
    UNDECIDED_BEHIND = enum.auto()
    BEGINNING = enum.auto()  # in a thought that the template opened; it has said nothing yet
    OPENED = enum.auto()  # in a thought whose opener came; it has said nothing yet
    THINKING = enum.auto()
    CALLED = enum.auto()  # behind a call: another may follow, and a closer here closes nothing
    CALLED_INSIDE = enum.auto()  # behind one that stands in a thought
    RESUMED = enum.auto()  # words behind it: a thought, if its closer comes
    __hash__ = object.__hash__  # Enum's own is written in Python, and each mark looks rows up


class Group(enum.Enum):
    """The effects of marks on the state: marks with the same effect are a group."""

    OPENERS = enum.auto()
    FIRST_OPENERS = enum.auto()  # those that count only where a message begins
    AGAIN = enum.auto()  # openers that say nothing within a thought
    CLOSERS = enum.auto()
    LONE_CLOSERS = enum.auto()  # those that mean something without an opener
    LEFT_CLOSERS = enum.auto()  # those of thoughts that came in a field
    DROPPED_CLOSERS = enum.auto()  # those that are no text though they close nothing
    IGNORED = enum.auto()
    CALLS = enum.auto()
    THOUGHT_CALLS = enum.auto()  # those that end a thought
    CALL_ENDS = enum.auto()
    PHRASES = enum.auto()
    PHRASE_ENDS = enum.auto()


_MARKED = (Group.IGNORED, Group.OPENERS)
_PHRASED = (*_MARKED, Group.CALLS, Group.LONE_CLOSERS)
_IN_TEXT = (*_PHRASED, Group.PHRASES)
_AT_START = (*_IN_TEXT, Group.FIRST_OPENERS)
_IN_THOUGHT = (Group.THOUGHT_CALLS, *_MARKED, Group.CLOSERS, Group.FIRST_OPENERS)
COUNTING: Mapping[State, tuple[Group, ...]] = {
    State.HEAD: (Group.LEFT_CLOSERS, *_AT_START),
    State.BEHIND: (*_AT_START, Group.DROPPED_CLOSERS),
    State.ENDED: (*_AT_START, Group.DROPPED_CLOSERS),
    State.ANSWERING: (*_IN_TEXT, Group.DROPPED_CLOSERS),
    State.PHRASED: (*_PHRASED, Group.PHRASE_ENDS),
    State.UNDECIDED_HEAD: _AT_START,
    State.UNDECIDED: _IN_TEXT,
    State.UNDECIDED_BEHIND: _AT_START,
    State.BEGINNING: _IN_THOUGHT,
    State.OPENED: _IN_THOUGHT,
    State.THINKING: (Group.THOUGHT_CALLS, Group.AGAIN, Group.CLOSERS),
    State.CALLED: (*_AT_START, Group.THOUGHT_CALLS),
    State.CALLED_INSIDE: (
        Group.CALL_ENDS,
        Group.CLOSERS,
        *_MARKED,
        Group.CALLS,
        Group.FIRST_OPENERS,
        Group.THOUGHT_CALLS,
    ),
    State.RESUMED: (Group.THOUGHT_CALLS, Group.CLOSERS),
}
"""The marks that count in each state but a call's; where a mark is of two groups, the later one
tells its effect.
"""

FIRST_STATE = {
    Mode.ANSWERING: State.HEAD,
    Mode.CLOSED: State.BEHIND,  # the prompt has closed the thought: a closer here is words
    Mode.THINKING: State.BEGINNING,
    Mode.GUESSED: State.BEGINNING,
    Mode.UNDECIDED: State.UNDECIDED_HEAD,
}
UNDECIDED = frozenset((State.UNDECIDED_HEAD, State.UNDECIDED, State.UNDECIDED_BEHIND))
_UNPHRASED = (State.HEAD, State.BEHIND, State.ENDED, State.CALLED, State.ANSWERING, *UNDECIDED)
IN_TEXT = frozenset((*_UNPHRASED, State.PHRASED))
IN_THOUGHT = frozenset((State.BEGINNING, State.OPENED, State.THINKING, State.RESUMED))
EMITTED_AS_THINKING = IN_THOUGHT | {State.PHRASED}
BEHIND_CALL = frozenset((State.CALLED, State.CALLED_INSIDE, State.RESUMED))
MAY_BE_DRAFT = frozenset((State.CALLED_INSIDE, State.RESUMED))
"""States behind a call that a thought holds, until that thought has an end."""
_OPENING = (*IN_TEXT, State.CALLED_INSIDE)
_SILENT_IN_ANSWER = (State.HEAD, State.BEHIND, State.ENDED, State.CALLED)
_SILENT_IN_THOUGHT = (State.BEGINNING, State.OPENED, State.THINKING)
_SILENT_IN_TEXT = (*_SILENT_IN_ANSWER, State.UNDECIDED_HEAD, State.UNDECIDED_BEHIND)
NEXT_STATE = {
    **{(state, Mark.OPEN): State.OPENED for state in _OPENING},
    **{(state, Mark.WITH_ATTRIBUTES): State.THINKING for state in _OPENING},
    **{(state, Mark.WHOLE): State.BEHIND for state in _OPENING},
    **{(state, Mark.TOOL): State.CALLED for state in IN_TEXT},
    **{(state, Mark.TOOL): State.CALLED_INSIDE for state in (*IN_THOUGHT, State.CALLED_INSIDE)},
    **{(state, Mark.CLOSE): State.ENDED for state in IN_THOUGHT},
    # the words before were a thought
    (State.UNDECIDED, Mark.CLOSE): State.ENDED,
    (State.UNDECIDED_BEHIND, Mark.CLOSE): State.ENDED,
    **{(state, Mark.PHRASE): State.PHRASED for state in _UNPHRASED},
    (State.PHRASED, Mark.PHRASE_END): State.ANSWERING,
    (State.PHRASED, Mark.CLOSE): State.ENDED,  # the template has opened it
    (State.PHRASED, Mark.SILENT): State.PHRASED,
    (State.PHRASED, Mark.FRAME_END): State.BEHIND,
    # said again: by the server or model what the template has opened, or by the model at once
    (State.BEGINNING, Mark.OPEN): State.OPENED,
    (State.BEGINNING, Mark.WITH_ATTRIBUTES): State.THINKING,
    (State.OPENED, Mark.OPEN): State.OPENED,
    (State.OPENED, Mark.LABEL): State.OPENED,
    **{(state, Mark.CLOSE): state for state in (State.HEAD, State.CALLED, State.ENDED)},
    (State.UNDECIDED_HEAD, Mark.CLOSE): State.HEAD,
    (State.CALLED_INSIDE, Mark.CLOSE): State.CALLED,
    (State.ENDED, Mark.UNMATCHED): State.ENDED,
    (State.BEHIND, Mark.UNMATCHED): State.BEHIND,
    (State.ANSWERING, Mark.UNMATCHED): State.BEHIND,
    **{(state, Mark.SILENT): state for state in (*_SILENT_IN_THOUGHT, *_SILENT_IN_TEXT)},
    (State.CALLED_INSIDE, Mark.SILENT): State.CALLED,
    (State.ANSWERING, Mark.SILENT): State.BEHIND,
    (State.UNDECIDED, Mark.SILENT): State.UNDECIDED_BEHIND,
    **{(state, Mark.FRAME): State.BEHIND for state in _SILENT_IN_ANSWER},
    (State.HEAD, Mark.FRAME_END): State.BEHIND,
    (State.BEHIND, Mark.FRAME_END): State.BEHIND,
    (State.ANSWERING, Mark.FRAME_END): State.BEHIND,
    (State.CALLED_INSIDE, Mark.TOOL_END): State.CALLED_INSIDE,
    **{(state, Mark.TEXT): State.ANSWERING for state in _SILENT_IN_ANSWER},
    (State.CALLED_INSIDE, Mark.TEXT): State.RESUMED,
    (State.UNDECIDED_HEAD, Mark.TEXT): State.UNDECIDED,
    (State.UNDECIDED_BEHIND, Mark.TEXT): State.UNDECIDED,
    (State.BEGINNING, Mark.TEXT): State.THINKING,
    (State.OPENED, Mark.TEXT): State.THINKING,
}
SILENT_SO_FAR = frozenset(state for state, mark in NEXT_STATE if mark is Mark.TEXT)


class Stands(enum.Enum):
    """The place of a candidate."""

    ALONE = enum.auto()  # at a break, or behind a special token: it is a call, whatever follows
    IN_SENTENCE = enum.auto()
    AS_REPLY = enum.auto()  # a form without marks: it must be the whole reply
    IN_THOUGHT = enum.auto()
    ENDS_THOUGHT = enum.auto()  # the same, of models that call in a thought and close it then


class Follows(enum.Enum):
    """The text behind a candidate, as far as it matters."""

    END = enum.auto()  # of the reply, or of the thought without its closer
    LINE_END = enum.auto()
    CALL = enum.auto()
    THOUGHT = enum.auto()
    TEXT = enum.auto()
    CLOSER = enum.auto()  # of the thought around it
    TEXT_AND_CLOSER = enum.auto()


class Becomes(enum.Enum):
    """The outcome of a candidate whose text says calls."""

    CALL = enum.auto()
    DRAFT = enum.auto()  # it stays a part of the thought
    TEXT = enum.auto()


OUTCOMES: Mapping[tuple[Stands, Follows], Becomes] = {
    (Stands.IN_SENTENCE, Follows.END): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.LINE_END): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.CALL): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.TEXT): Becomes.TEXT,
    # marks that are no text may stand before the end
    (Stands.AS_REPLY, Follows.END): Becomes.CALL,
    (Stands.AS_REPLY, Follows.THOUGHT): Becomes.CALL,
    (Stands.AS_REPLY, Follows.TEXT): Becomes.TEXT,
    (Stands.IN_THOUGHT, Follows.END): Becomes.CALL,
    (Stands.IN_THOUGHT, Follows.CLOSER): Becomes.DRAFT,
    (Stands.IN_THOUGHT, Follows.TEXT_AND_CLOSER): Becomes.DRAFT,
    (Stands.ENDS_THOUGHT, Follows.END): Becomes.CALL,
    (Stands.ENDS_THOUGHT, Follows.CLOSER): Becomes.CALL,
    (Stands.ENDS_THOUGHT, Follows.TEXT_AND_CLOSER): Becomes.DRAFT,
}
