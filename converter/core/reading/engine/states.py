"""The tables that the engine follows: the marks that count in each state (`COUNTING`), the next
state for each state and mark (`NEXT_STATE`), and the outcome of a candidate (`OUTCOMES`).

- Answer: HEAD -> ANSWERING -> (a mark) -> BEHIND -> ANSWERING ...
- Thought: OPENED -> THINKING -> (its closer) -> ENDED. If the chat template has opened the thought,
  it begins in BEGINNING instead of OPENED.
- Whole reply of which it is not known whether it begins in a thought: the three UNDECIDED states
  take the place of HEAD, ANSWERING and BEHIND. The first mark decides whether the text before it
  was a thought.
- Call: while a `Candidate` is held, the tables are not used. Behind its calls the state is CALLED.
- Call in a thought: CALLED_INSIDE -> (more text) -> RESUMED. If the thought's closer follows, the
  call was a draft and is a part of the thought (`Draft`). Else the call has ended the thought, and
  the text behind the call is the answer.
- Phrases, if they are read: ANSWERING -> PHRASED -> ANSWERING. Text in PHRASED is a thought; marks
  count as in an answer.

A mark without an entry for the state is ordinary text.
"""

import enum
from collections.abc import Mapping

from converter.core.reading.beginning import Mode
from converter.core.reading.mark_search import Mark


class State(enum.Enum):
    """The states of the engine.

    Attributes:
        HEAD: at the beginning of the answer. A closer is dropped.
        BEHIND: in the answer, behind a mark, with only blanks since.
        ENDED: directly behind a thought. A repeated closer is dropped.
        ANSWERING: in the answer.
        PHRASED: in a thought that a phrase has begun.
        UNDECIDED_HEAD, UNDECIDED, UNDECIDED_BEHIND: as HEAD, ANSWERING and BEHIND, in a reply of
            which it is not known whether it begins in a thought.
        BEGINNING: at the beginning of a thought that the chat template has opened.
        OPENED: at the beginning of a thought, behind its opener.
        THINKING: in a thought.
        CALLED: behind a call. Another may follow. A closer is dropped.
        CALLED_INSIDE: behind a call in a thought.
        RESUMED: in text behind a call in a thought.
    """

    HEAD = enum.auto()
    BEHIND = enum.auto()
    ENDED = enum.auto()
    ANSWERING = enum.auto()
    PHRASED = enum.auto()
    UNDECIDED_HEAD = enum.auto()
    UNDECIDED = enum.auto()
    UNDECIDED_BEHIND = enum.auto()
    BEGINNING = enum.auto()
    OPENED = enum.auto()
    THINKING = enum.auto()
    CALLED = enum.auto()
    CALLED_INSIDE = enum.auto()
    RESUMED = enum.auto()
    # The hash of `Enum` is slow Python code, and each mark is looked up in the tables.
    __hash__ = object.__hash__


class Group(enum.Enum):
    """The groups of marks; marks of a group have the same effect.

    Attributes:
        OPENERS: openers of thoughts.
        FIRST_OPENERS: openers that count only at the beginning of a message.
        AGAIN: openers that are dropped within a thought.
        CLOSERS: closers of thoughts.
        LONE_CLOSERS: closers that count without an opener too.
        LEFT_CLOSERS: closers that a server may have left in the text, when it sends the thought in
            a field.
        DROPPED_CLOSERS: closers that are dropped if they have no opener.
        IGNORED: marks that are always dropped.
        CALLS: marks that may begin a call.
        THOUGHT_CALLS: marks of calls that end a thought.
        CALL_ENDS: closers of calls.
        PHRASES, PHRASE_ENDS: phrases that begin and end a thought.
    """

    OPENERS = enum.auto()
    FIRST_OPENERS = enum.auto()
    AGAIN = enum.auto()
    CLOSERS = enum.auto()
    LONE_CLOSERS = enum.auto()
    LEFT_CLOSERS = enum.auto()
    DROPPED_CLOSERS = enum.auto()
    IGNORED = enum.auto()
    CALLS = enum.auto()
    THOUGHT_CALLS = enum.auto()
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
"""The groups of marks that count in each state. If a mark is in two groups, its effect is that of
the later one.
"""

FIRST_STATE = {
    Mode.ANSWERING: State.HEAD,
    Mode.CLOSED: State.BEHIND,  # the prompt has closed the thought, so that a closer is text
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
"""The states behind a call in a thought, in which it is not decided whether the call is a draft."""
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
    # The text before the closer was a thought.
    (State.UNDECIDED, Mark.CLOSE): State.ENDED,
    (State.UNDECIDED_BEHIND, Mark.CLOSE): State.ENDED,
    **{(state, Mark.PHRASE): State.PHRASED for state in _UNPHRASED},
    (State.PHRASED, Mark.PHRASE_END): State.ANSWERING,
    (State.PHRASED, Mark.CLOSE): State.ENDED,  # the chat template has opened the thought
    (State.PHRASED, Mark.SILENT): State.PHRASED,
    (State.PHRASED, Mark.ANSWER_CLOSE): State.BEHIND,
    # A repeated opener: the server or the model repeats the chat template's, or the model its own.
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
    **{(state, Mark.ANSWER_OPEN): State.BEHIND for state in _SILENT_IN_ANSWER},
    (State.HEAD, Mark.ANSWER_CLOSE): State.BEHIND,
    (State.BEHIND, Mark.ANSWER_CLOSE): State.BEHIND,
    (State.ANSWERING, Mark.ANSWER_CLOSE): State.BEHIND,
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
    """The position of a candidate.

    Attributes:
        ALONE: at a break of the text, or with a special token as its mark. It is a call, whatever
            follows.
        IN_SENTENCE: in the middle of a sentence.
        AS_REPLY: at the beginning of a reply, in a form whose calls must be the whole reply.
        IN_THOUGHT: in a thought.
        ENDS_THOUGHT: in a thought, in a form with which models call and then close the thought.
    """

    ALONE = enum.auto()
    IN_SENTENCE = enum.auto()
    AS_REPLY = enum.auto()
    IN_THOUGHT = enum.auto()
    ENDS_THOUGHT = enum.auto()


class Follows(enum.Enum):
    """The kind of the text behind a candidate.

    Attributes:
        END: the end of the reply; for a candidate in a thought, also an end without a closer.
        LINE_END: a line end.
        CALL: another call.
        THOUGHT: the opener of a thought.
        TEXT: other text.
        CLOSER: the closer of the thought around the candidate.
        TEXT_AND_CLOSER: text, and then this closer.
    """

    END = enum.auto()
    LINE_END = enum.auto()
    CALL = enum.auto()
    THOUGHT = enum.auto()
    TEXT = enum.auto()
    CLOSER = enum.auto()
    TEXT_AND_CLOSER = enum.auto()


class Becomes(enum.Enum):
    """The outcome of a candidate whose text is a whole call.

    Attributes:
        CALL: it is a call.
        DRAFT: it is a part of the thought.
        TEXT: it is text.
    """

    CALL = enum.auto()
    DRAFT = enum.auto()
    TEXT = enum.auto()


OUTCOMES: Mapping[tuple[Stands, Follows], Becomes] = {
    (Stands.IN_SENTENCE, Follows.END): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.LINE_END): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.CALL): Becomes.CALL,
    (Stands.IN_SENTENCE, Follows.TEXT): Becomes.TEXT,
    # Marks that are dropped may stand between the candidate and the end.
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
