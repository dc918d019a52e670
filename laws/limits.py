"""Say which laws do not apply to a recording: `LIMITS` has a row for each kind of recording, with
the reason; `limit_of` finds the row for a law. A `Case` is a recording with its parsed reply and
what the addon noted while it read the reply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from converter.core.dialects.table import Form
from converter.core.reading.findings import Findings
from converter.core.reading.tool_calls.calls_read import CallsRead
from converter.core.reading.tool_calls.forms import CLOSERS, OPENERS, SECTIONS
from converter.extras.recordings.recording import Recording
from laws.joined import joined
from laws.parsed_reply import ParsedReply
from laws.reply_parser import parse_reply


class Case:
    """A recording with its parsed reply and the addon's findings about the reply."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @cached_property
    def reply(self) -> ParsedReply:
        """The server's reply, parsed. If the request had turned thinking off and the model ended a
        reply that is nothing but thinking, the thinking counts as the answer.
        """
        recording = self.recording
        reply = parse_reply(
            recording.body, recording.server_form, recording.server_dialect, recording.settings.map
        )
        if recording.awaited().expected.no_thought_due:
            for choice in reply.choices.values():
                choice.take_for_answer()
        return reply

    @cached_property
    def _findings(self) -> Findings:
        """The addon's findings, after it has read the whole reply."""
        rewriter = self.recording.rewriter(self.recording.client, self.recording.client_form)
        rewriter.feed(self.recording.body)
        rewriter.close()
        return rewriter.findings

    @property
    def calls_read(self) -> CallsRead:
        """The addon's findings on the tool calls that it read from text."""
        return self._findings.calls

    @property
    def stopped(self) -> bool:
        """True if the addon ended an answer at a stop string of the request."""
        return self._findings.stopped

    @property
    def ended(self) -> list[str]:
        """The reason for each thought that the addon ended: `budget`, `loop` or `unanswered`."""
        return self._findings.ends.reasons


@dataclass(frozen=True, slots=True)
class Limit:
    """A kind of case to which some laws do not apply."""

    laws: tuple[int, ...]  # the numbers of the laws that do not apply
    why: str  # the reason, for people
    applies: Callable[[Case], bool]  # returns True for a case of this kind


_RANK = {"thinking": 0, "raw": 1, "text": 1, "call": 2}
"""Kind of a piece -> its place in a whole reply, which has thinking, then text, then calls."""


def _has_pieces_out_of_order(case: Case) -> bool:
    """Return True if a choice's pieces came in another order than thinking, text, calls."""
    orders = (
        [_RANK[piece.kind] for piece in choice.pieces] for choice in case.reply.choices.values()
    )
    return any(before > behind for order in orders for before, behind in pairwise(order))


def _has_content_behind_a_call(case: Case) -> bool:
    """Return True if text or thinking comes behind a call of the same or an earlier choice."""
    kinds = [
        "call" if piece.kind == "call" else "words"
        for choice in case.reply.choices.values()
        for piece in choice.pieces
    ]
    return "call" in kinds and "words" in kinds[kinds.index("call") :]


def _has_different_thoughts(case: Case) -> bool:
    """Return True if two reasoning fields of a choice hold different thinking."""
    return any(len(set(choice.thoughts.values())) > 1 for choice in case.reply.choices.values())


def _has_unread_frames(case: Case) -> bool:
    """Return True if a complete reply has frames that are not of its dialect."""
    return case.reply.complete and case.reply.unread > 0


def _is_whole_without_choices(case: Case) -> bool:
    return case.recording.server_form is Form.WHOLE and not case.reply.choices


def _is_whole_without_finish(case: Case) -> bool:
    reply = case.reply
    return case.recording.server_form is Form.WHOLE and bool(reply.choices) and not reply.complete


def _is_not_utf8(case: Case) -> bool:
    try:
        case.recording.body.decode()
    except UnicodeDecodeError:
        return True
    return False


def _has_cut_call(case: Case) -> bool:
    """Return True if a call in the text is cut off, and the addon emitted it or left it as text."""
    if case.recording.awaited().expected.calls.read is None:
        return False
    return bool(case.calls_read.cut_calls or case.calls_read.calls_left_text)


_CALL_MARKS = [
    mark for mark in (*OPENERS, *SECTIONS, *CLOSERS) if len(mark) > 2 and mark[0] in "<[|"
]
"""Marks of calls, such as `<tool_call>`, that do not stand in other text by chance."""


def _has_forbidden_call(case: Case) -> bool:
    """Return True if the client forbids calls, and one of `_CALL_MARKS` is in the reply."""
    choices = case.reply.choices.values()
    text = "".join(each.joined("text", "raw", "thinking") for each in choices)
    forbidden = case.recording.awaited().expected.calls.forbidden
    return forbidden and any(mark in text for mark in _CALL_MARKS)


def _has_repeated_call(case: Case) -> bool:
    """Return True if the addon dropped a call that repeats one in the reply's thought."""
    read = case.recording.awaited().expected.calls.read
    return read is not None and bool(case.calls_read.repetitions)


_SHOWN_BY_BYTES = (["budget"], ["unanswered"])
"""Values of `Case.ended` for one ended thought whose end the server's bytes may show (`joined`)."""


def _has_unsorted_choices(case: Case) -> bool:
    """Return True if a choice with a higher index comes before one with a lower."""
    return [*case.reply.choices] != sorted(case.reply.choices)


def _hides_thinking_or_blanks(case: Case) -> bool:
    recording = case.recording
    return recording.settings.blanks == "trim" or recording.awaited().expected.thoughts.hidden


LIMITS = (
    Limit(
        (2,),
        "a whole body that is no completion, empty or cut off, has no words to cut",
        _is_whole_without_choices,
    ),
    Limit((3,), "a reply that broke off has no whole form", lambda case: not case.reply.complete),
    Limit(
        (4, 5),
        "a whole reply that has no finish, by its server's word, is an error for who waits for one",
        _is_whole_without_finish,
    ),
    Limit(
        (3,),
        "a whole reply has one place for thinking, text and calls each, "
        "so it cannot tell what came between",
        _has_pieces_out_of_order,
    ),
    Limit(
        (2, 3, 4, 5),
        "where a loop was found, a second thought ended, or the reply of a server's own endpoint, "
        "only the addon knows",
        lambda case: (
            bool(case.ended) and (case.ended not in _SHOWN_BY_BYTES or not joined(case.recording))
        ),
    ),
    Limit(
        (9,),
        "a reply whose server cannot go on behind a thought has its end from the addon",
        lambda case: bool(case.ended) and not case.recording.awaited().server.continues,
    ),
    Limit(
        (2, 3, 4, 5, 9),
        "an answer that the addon has cut at a stop string lacks the rest, and is whole without it",
        lambda case: case.stopped,
    ),
    Limit(
        (4,),
        "think_unasked=hide leaves thinking out, and think_blanks=trim blanks",
        _hides_thinking_or_blanks,
    ),
    Limit(
        (4, 5),
        "the server's reasoning fields tell different thoughts; "
        "its decoder decides which one is told",
        _has_different_thoughts,
    ),
    Limit(
        (4, 5, 6),
        "a frame that is not of the dialect's shape passes as it came, "
        "so nobody can say what words it holds",
        _has_unread_frames,
    ),
    Limit((4, 5), "the oracle reads no tool call in text that is cut off", _has_cut_call),
    Limit(
        (4, 5),
        "a call that repeats the draft which ended its thought is told once",
        _has_repeated_call,
    ),
    Limit((4, 5), "a call that its client forbade loses its marks", _has_forbidden_call),
    Limit(
        (5,),
        "think_markers reads phrases as thinking, which no tag shows; law 4 sees to the words",
        lambda case: case.recording.settings.markers,
    ),
    Limit(
        (5,),
        "a call ends the block before it, wherever it stands; law 4 sees to the words",
        _has_content_behind_a_call,
    ),
    Limit(
        (3, 7),
        "SGLang 0.5 gives each choice an id of its own and begins them in any order: the first "
        "frame's id is a stream's, and OpenAI's SDK (3.57) joins no choice before a lower one",
        _has_unsorted_choices,
    ),
    Limit(
        (7,),
        "the SDKs refuse bytes that are no UTF-8, "
        "which a chat completions client gets as they came",
        _is_not_utf8,
    ),
)
"""A row for each kind of case to which some laws do not apply."""


def limit_of(law: int, case: Case) -> Limit | None:
    """Return the first row that excludes a law (by its number) for the case; None if none does."""
    return next((limit for limit in LIMITS if law in limit.laws and limit.applies(case)), None)
