"""The states of the engine (`State`) and the tables that it follows. `COUNTING` has the marks that
count in a state, `NEXT_STATE` the state behind a mark. `COUNTED` decides whether a candidate is a
call: it is looked up by where the candidate stands (`Stands`) and what follows it (`Follows`).

The usual sequences of states:

- An answer: HEAD -> ANSWERING -> (a mark) -> BEHIND -> ANSWERING ...
- A thought: OPENED -> THINKING -> (its closer) -> ENDED. If the chat template has opened the
  thought, the first state is BEGINNING instead of OPENED.
- A reply that may begin in an answer or in a thought: the three UNDECIDED states take the place of
  HEAD, ANSWERING and BEHIND. The first mark that is not just dropped decides whether the text
  before it was a thought.
- A call: while a `Candidate` is held, it gets all text, and the state stays. Behind its calls, the
  state is CALLED.
- A call in a thought: CALLED_INSIDE -> (more text) -> RESUMED. The text behind the call decides
  whether the call has ended the thought, or was a draft and is a part of the thought. `Draft` tells
  the cases.
- A thought that one phrase begins and another phrase ends, if phrases are read: ANSWERING ->
  PHRASED -> ANSWERING. In PHRASED, tags and calls count as in an answer, because a phrase is no
  sure sign of a thought.

A mark without an entry in `NEXT_STATE` for the present state is ordinary text.
"""

import enum
from collections.abc import Mapping

from converter.core.reading.beginning import Mode
from converter.core.reading.mark_search import Mark


class State(enum.Enum):
    """The states of the engine: where the text that is read next stands in the reply."""

    HEAD = enum.auto()
    """At the beginning of the answer, before its text. A closer of a thought is dropped here; one
    of `Lone.TEXT` is text, unless a thought came in a field.
    """
    BEHIND = enum.auto()
    """In the answer. Nothing but blanks has come since the last mark; in `Mode.CLOSED`, since the
    reply's beginning.
    """
    ENDED = enum.auto()
    """Behind the closer of a thought. Nothing but blanks has come since. A further closer is
    dropped; one of `Lone.TEXT` is text.
    """
    ANSWERING = enum.auto()
    """In the text of the answer."""
    PHRASED = enum.auto()
    """In the text of a thought that a phrase ("Let me think") has begun."""
    UNDECIDED_HEAD = enum.auto()
    """At the beginning of a reply that may begin in an answer or in a thought."""
    UNDECIDED = enum.auto()
    """In the text of a reply that may have begun in an answer or in a thought. The next mark
    decides, unless it is only dropped: a closer shows that the reply began in a thought, any other
    mark that it began in an answer.
    """
    UNDECIDED_BEHIND = enum.auto()
    """Behind a dropped mark in a reply that may have begun in an answer or in a thought. Nothing
    but blanks has come since this mark.
    """
    BEGINNING = enum.auto()
    """At the beginning of a thought whose opener stands in the prompt, because the chat template
    has written it there.
    """
    OPENED = enum.auto()
    """At the beginning of a thought, behind its opener and before its text."""
    THINKING = enum.auto()
    """In the text of a thought."""
    CALLED = enum.auto()
    """Behind a call. Nothing but blanks has come since. Another call may follow. A closer of a
    thought is dropped.
    """
    CALLED_INSIDE = enum.auto()
    """Behind a call in a thought. Nothing but blanks has come since. It is not decided yet whether
    the call has ended the thought.
    """
    RESUMED = enum.auto()
    """In text behind a call in a thought. It is not decided yet whether the text is a part of the
    thought, or the call has ended the thought.
    """
    # The hash of `Enum` is slow Python code, and a state is hashed at each mark of a reply, to look
    # it up in the tables.
    __hash__ = object.__hash__


class Group(enum.Enum):
    """The groups of marks. Marks of a group count in the same states."""

    OPENERS = enum.auto()
    """Openers of thoughts that count anywhere in an answer."""
    FIRST_OPENERS = enum.auto()
    """Openers of thoughts that count only where a message begins (`Counts.AT_START`)."""
    AGAIN = enum.auto()
    """Openers that are dropped if they stand within a thought (`ThoughtRow.again`)."""
    CLOSERS = enum.auto()
    """All closers of the families that are read, for the states in which a thought is open."""
    LONE_CLOSERS = enum.auto()
    """Closers of thoughts that also count if no opener stands before them. They belong to families
    whose `lone` is not `Lone.TEXT`. Closers that are also ignored marks belong to `IGNORED`.
    """
    LEFT_CLOSERS = enum.auto()
    """Closers of thoughts that a server may have left in the text, although it sends the thoughts
    in a field.
    """
    DROPPED_CLOSERS = enum.auto()
    """Closers of thoughts that are dropped if they have no opener (`Lone.NOTHING`). Closers that
    are also ignored marks belong to `IGNORED`.
    """
    IGNORED = enum.auto()
    """Marks that are dropped, except in Markdown code (`Row.ignored`)."""
    CALLS = enum.auto()
    """Marks that may begin a call."""
    THOUGHT_CALLS = enum.auto()
    """Marks that may begin a call also within a thought. Such a call may end the thought."""
    CALL_ENDS = enum.auto()
    """Closers of calls and of sections of calls."""
    PHRASES = enum.auto()
    """Phrases that begin a thought, such as "let me think"."""
    PHRASE_ENDS = enum.auto()
    """Phrases that end a thought which a phrase has begun."""


_COMMON = (Group.IGNORED, Group.OPENERS)
"""Groups of marks that count in an answer, at the beginning of a thought, and directly behind a
call in a thought.
"""
_PHRASED = (*_COMMON, Group.CALLS, Group.LONE_CLOSERS)
"""The groups of marks that count both in an answer and in a thought that a phrase has begun."""
_IN_ANSWER = (*_PHRASED, Group.PHRASES)
"""The groups of marks that count anywhere in an answer, not only at its beginning."""
_AT_START = (*_IN_ANSWER, Group.FIRST_OPENERS)
"""The groups of marks that count where a message begins."""
_AT_THOUGHT_HEAD = (Group.THOUGHT_CALLS, *_COMMON, Group.CLOSERS, Group.FIRST_OPENERS)
"""The groups of marks that count at the beginning of a thought, before its text."""
COUNTING: Mapping[State, tuple[Group, ...]] = {
    State.HEAD: (Group.LEFT_CLOSERS, *_AT_START),
    State.BEHIND: (*_AT_START, Group.DROPPED_CLOSERS),
    State.ENDED: (*_AT_START, Group.DROPPED_CLOSERS),
    State.ANSWERING: (*_IN_ANSWER, Group.DROPPED_CLOSERS),
    State.PHRASED: (*_PHRASED, Group.PHRASE_ENDS),
    State.UNDECIDED_HEAD: _AT_START,
    State.UNDECIDED: _IN_ANSWER,
    State.UNDECIDED_BEHIND: _AT_START,
    State.BEGINNING: _AT_THOUGHT_HEAD,
    State.OPENED: _AT_THOUGHT_HEAD,
    State.THINKING: (Group.THOUGHT_CALLS, Group.AGAIN, Group.CLOSERS),
    State.CALLED: (*_AT_START, Group.THOUGHT_CALLS),
    State.CALLED_INSIDE: (
        Group.CALL_ENDS,
        Group.CLOSERS,
        *_COMMON,
        Group.CALLS,
        Group.FIRST_OPENERS,
        Group.THOUGHT_CALLS,
    ),
    State.RESUMED: (Group.THOUGHT_CALLS, Group.CLOSERS),
}
"""state -> the groups of marks that count in it. If a mark is in two of these groups, it has the
kind that the later one gives it. The table is not used in the JSON of an answer
(`MarkTable.json_search`), nor, in the states of `IN_THOUGHT`, for a thought that an opener has
begun (`mark_table.thought_search`).
"""

FIRST_STATE = {
    Mode.ANSWERING: State.HEAD,
    # The prompt has closed the thought, so a closer in the reply is text, except one of
    # `DROPPED_CLOSERS`. In HEAD, the first state for `Mode.ANSWERING`, it would be dropped.
    Mode.CLOSED: State.BEHIND,
    Mode.THINKING: State.BEGINNING,
    Mode.GUESSED: State.BEGINNING,
    Mode.UNDECIDED: State.UNDECIDED_HEAD,
}
"""mode in which a reply is read -> the first state of the engine."""
UNDECIDED = frozenset((State.UNDECIDED_HEAD, State.UNDECIDED, State.UNDECIDED_BEHIND))
"""The states while it is undecided whether the reply began in an answer or in a thought."""
_UNPHRASED = (State.HEAD, State.BEHIND, State.ENDED, State.CALLED, State.ANSWERING, *UNDECIDED)
"""The states outside thoughts, in which a phrase may begin a thought."""
IN_TEXT = frozenset((*_UNPHRASED, State.PHRASED))
"""The states in which tags and calls are read as in an answer. PHRASED is one of them, because a
phrase is no sure sign of a thought.
"""
IN_THOUGHT = frozenset((State.BEGINNING, State.OPENED, State.THINKING, State.RESUMED))
"""The states in a thought that an opener or the chat template has begun. RESUMED is one of them,
although the call before it may have ended the thought. CALLED_INSIDE is not, because openers count
in it.
"""
EMITTED_AS_THINKING = IN_THOUGHT | {State.PHRASED}
"""The states in which text is emitted as thinking, unless a draft holds it."""
BEHIND_CALL = frozenset((State.CALLED, State.CALLED_INSIDE, State.RESUMED))
"""The states behind a call: in an answer up to the next text or mark, in a thought until the draft
is settled.
"""
MAY_BE_DRAFT = frozenset((State.CALLED_INSIDE, State.RESUMED))
"""The states behind a call in a thought while it is undecided whether the call is a draft."""
_MAY_OPEN = (*IN_TEXT, State.CALLED_INSIDE)
"""The states in which an opener begins a new thought."""
_TEXTLESS_IN_ANSWER = (State.HEAD, State.BEHIND, State.ENDED, State.CALLED)
"""The states in an answer in which only blanks have come since its beginning or the last mark."""
_STAYS_IN_THOUGHT = (State.BEGINNING, State.OPENED, State.THINKING)
"""The states in a thought in which a dropped mark leaves the state as it is."""
_STAYS_IN_TEXT = (*_TEXTLESS_IN_ANSWER, State.UNDECIDED_HEAD, State.UNDECIDED_BEHIND)
"""The states outside thoughts in which a dropped mark leaves the state as it is."""
NEXT_STATE = {
    **{(state, Mark.OPEN): State.OPENED for state in _MAY_OPEN},
    **{(state, Mark.WITH_ATTRIBUTES): State.THINKING for state in _MAY_OPEN},
    **{(state, Mark.WHOLE): State.BEHIND for state in _MAY_OPEN},
    **{(state, Mark.TOOL): State.CALLED for state in IN_TEXT},
    **{(state, Mark.TOOL): State.CALLED_INSIDE for state in (*IN_THOUGHT, State.CALLED_INSIDE)},
    **{(state, Mark.CLOSE): State.ENDED for state in IN_THOUGHT},
    # If the first mark of an undecided reply is a closer, the text before it was a thought.
    (State.UNDECIDED, Mark.CLOSE): State.ENDED,
    (State.UNDECIDED_BEHIND, Mark.CLOSE): State.ENDED,
    **{(state, Mark.PHRASE): State.PHRASED for state in _UNPHRASED},
    (State.PHRASED, Mark.PHRASE_END): State.ANSWERING,
    # A closer behind a phrase has no opener. It is read as the closer of a thought that the chat
    # template has opened; the phrase then stood within this thought.
    (State.PHRASED, Mark.CLOSE): State.ENDED,
    (State.PHRASED, Mark.SILENT): State.PHRASED,
    (State.PHRASED, Mark.ANSWER_CLOSE): State.BEHIND,
    # An opener at the beginning of an open thought is dropped: the server or the model repeats the
    # opener of the chat template, or the model repeats its own.
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
    **{(state, Mark.SILENT): state for state in (*_STAYS_IN_THOUGHT, *_STAYS_IN_TEXT)},
    (State.CALLED_INSIDE, Mark.SILENT): State.CALLED,
    (State.ANSWERING, Mark.SILENT): State.BEHIND,
    (State.UNDECIDED, Mark.SILENT): State.UNDECIDED_BEHIND,
    **{(state, Mark.ANSWER_OPEN): State.BEHIND for state in _TEXTLESS_IN_ANSWER},
    (State.HEAD, Mark.ANSWER_CLOSE): State.BEHIND,
    (State.BEHIND, Mark.ANSWER_CLOSE): State.BEHIND,
    (State.ANSWERING, Mark.ANSWER_CLOSE): State.BEHIND,
    (State.CALLED_INSIDE, Mark.TOOL_END): State.CALLED_INSIDE,
    **{(state, Mark.TEXT): State.ANSWERING for state in _TEXTLESS_IN_ANSWER},
    (State.CALLED_INSIDE, Mark.TEXT): State.RESUMED,
    (State.UNDECIDED_HEAD, Mark.TEXT): State.UNDECIDED,
    (State.UNDECIDED_BEHIND, Mark.TEXT): State.UNDECIDED,
    (State.BEGINNING, Mark.TEXT): State.THINKING,
    (State.OPENED, Mark.TEXT): State.THINKING,
}
"""state and kind of a mark -> the state behind the mark. A mark without an entry is text."""
SILENT_SO_FAR = frozenset(state for state, mark in NEXT_STATE if mark is Mark.TEXT)
"""The states in which only blanks have come since the beginning or the last mark. Other text leads
to another state.
"""


class Stands(enum.Enum):
    """The position of a candidate in the reply."""

    ALONE = enum.auto()
    """In an answer, and not in the middle of a sentence. A candidate in a sentence is ALONE too, if
    its mark is a special token, or if a call came before it. Whole calls that are ALONE count,
    whatever text follows.
    """
    IN_SENTENCE = enum.auto()
    """In the middle of a sentence, where a call may be an example in prose. If the closer that its
    form needs is missing, the call counts only with certain text behind it (`COUNTED`). For
    `ThoughtCalls` this text decides in any case.
    """
    AS_REPLY = enum.auto()
    """At the beginning of a reply, in a form whose calls must be the whole reply (`WHOLE`)."""
    IN_THOUGHT = enum.auto()
    """In a thought, or directly behind a call in a thought."""
    ENDS_THOUGHT = enum.auto()
    """In a thought, in a form that models write directly before the thought's closer. Only a
    `Draft` has this position; its candidates are IN_THOUGHT.
    """


class Follows(enum.Enum):
    """The kind of the text behind a candidate."""

    END = enum.auto()
    """No text but blanks, because the reply ends. In a thought, two more cases count as END: the
    reply ends behind more text of the thought, or another mark than the thought's closer ends the
    thought.
    """
    LINE_END = enum.auto()
    """A line end."""
    CALL = enum.auto()
    """The opener of another call, or of a section of calls."""
    THOUGHT = enum.auto()
    """The opener of a thought."""
    TEXT = enum.auto()
    """Any other text, also more blanks than `BLANKS_LIMIT`."""
    CLOSER = enum.auto()
    """The closer of the thought in which the candidate stands."""
    TEXT_AND_CLOSER = enum.auto()
    """Text of the thought in which the candidate stands, and behind it the thought's closer."""


COUNTED = frozenset(
    (
        (Stands.IN_SENTENCE, Follows.END),
        (Stands.IN_SENTENCE, Follows.LINE_END),
        (Stands.IN_SENTENCE, Follows.CALL),
        # Calls that are AS_REPLY must be the whole reply, so no TEXT may follow. Marks that are
        # dropped are no text: they are skipped, and END or THOUGHT may stand behind them.
        (Stands.AS_REPLY, Follows.END),
        (Stands.AS_REPLY, Follows.THOUGHT),
        (Stands.IN_THOUGHT, Follows.END),
        (Stands.ENDS_THOUGHT, Follows.END),
        (Stands.ENDS_THOUGHT, Follows.CLOSER),
    )
)
"""Pairs of a candidate's position and the kind of the text behind it. Its calls count if the pair
is here. If not, the candidate is ordinary text; in a thought it is a draft, a part of the thought.
Two cases are not looked up, because the calls count with any text behind them: ALONE, and
IN_SENTENCE with the closer that the form needs.
"""
