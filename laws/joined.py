"""Check laws 2 to 5 for two server replies that the client gets as one (`check_law`), and for law 9
find the reply whose finish the client gets. The addon requested the second reply because it had
ended the thought of the first, or because no answer came in the first.

From the two replies, this module builds a third: the reply that the server would have sent if its
model had ended the thought at the same offset. The laws are checked for the third reply, and the
client's message must be the same for the third as for the two. The third is made of the server's
bytes and the options, never of the addon's output.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.model.events import BYTES_PER_TOKEN
from converter.core.reading.family_choice import families_of
from converter.extras.recordings.recording import Recording
from laws.client_view import completion_of, view_of
from laws.expected import parts, reading_for
from laws.failures import compare
from laws.recut import Cut, TextFrame, frame_of, recut_text, text_frame_of
from laws.reply_parser import frames, parse_reply, value_of
from laws.variants import cut_anywhere, seeded_random, variants, with_body

type Json = dict[str, Any]
type Holds = Callable[[Recording, int], None]  # the function that checks a law, `Law.holds`
JOINT = "\n\n"  # the blank line before the sentence that ends a thought
_MARK_TOKENS = 2  # how many tokens a mark and its line end are estimated to have
_PLAIN = {"budget": "server", "budget_tokens": "", "loops": "off", "unanswered": "tell"}
"""The options with which the addon neither ends a thought by itself nor has a reply continued."""
_NOT_IN_FRAME_FIELDS = ("choices", "usage", "timings")  # no part of `Joined.frame_fields`
_DONE = b"data: [DONE]\n\n"  # the last frame of a stream
_PIECES = 6  # the most pieces into which a text is cut at random


@dataclass(frozen=True, slots=True)
class Joined:
    """Two server replies that the client gets as one."""

    kept: bytes  # the frames of the first reply up to the end of its thought
    withheld: bytes  # the frames of the first reply behind its thought; no client gets them
    closing: bytes  # a frame with the text that ends the thought; empty if none is needed
    second: bytes  # the second reply; empty if the server cannot continue a reply
    frame_fields: Json  # the fields that all frames share, without choices, counts and times
    written: int  # how many tokens the server wrote in the first reply
    added: int  # about how many tokens the addon added to end the thought

    def single_reply(self, recording: Recording) -> Recording:
        """Return the recording with one reply, in which the model ends the thought by itself. If
        there is no second reply, this one ends behind the thought, at the limit of tokens.
        """
        choice = {"index": 0, "delta": {}, "finish_reason": "length"}
        ended = frame_of({**self.frame_fields, "choices": [choice]}) + _DONE
        rest = b"".join(self._continuation()) if self.second else ended
        return with_body(recording, self.kept + self.closing + rest, Form.STREAM, **_PLAIN)

    def recut(self, recording: Recording, cut: Cut) -> Recording:
        """Return the recording with the text of both replies cut by `cut` into other frames."""
        first = recut_text(self.kept, cut) + self.withheld
        return with_body(recording, first + recut_text(self.second, cut))

    def _continuation(self) -> Iterator[bytes]:
        """Yield the frames of the second reply with the id and model of the first, without the
        frame that has only the role, and with the counts of both replies.
        """
        for frame in frames(self.second):
            value = value_of(frame)
            if value is None:
                yield frame
                continue
            own: Json = {name: value[name] for name in ("choices", "usage") if name in value}
            for choice in own.get("choices") or []:
                begins = choice["delta"].pop("role", None)
                if begins and not any(choice["delta"].values()):
                    own = {}
            if own.get("usage"):
                own["usage"] = self._summed_usage(own["usage"])
            if own:
                yield frame_of({**self.frame_fields, **own})

    def _summed_usage(self, usage: Json) -> Json:
        """Return the counts of both replies together. `usage`: those of the second, whose prompt
        includes the first reply and the text that the addon added to it.
        """
        written = min(self.written, usage["prompt_tokens"])
        prompt = max(0, usage["prompt_tokens"] - written - self.added)
        details_sent = usage.get("prompt_tokens_details") or {}
        cached = details_sent.get("cached_tokens")
        cached_details = {} if cached is None else {"cached_tokens": min(cached, prompt)}
        output = usage["completion_tokens"] + written
        counts = {"prompt_tokens": prompt, "completion_tokens": output}
        details = {"prompt_tokens_details": cached_details} if cached_details else {}
        return {**counts, "total_tokens": prompt + output, **details}


def joined(recording: Recording) -> Joined | None:
    """Return the two replies of a recorded stream of chat completions if the addon joined them,
    because it had ended the thought, or the thought had no answer. The second reply is empty if the
    server cannot continue a reply. None for any other recording, or if the server's bytes do not
    show where the addon ended the thought.
    """
    goes_on = bool(recording.awaited().server.continues)
    if recording.server_form is Form.WHOLE or recording.server_dialect is not OPENAI_CHAT:
        return None
    first, second = _separate_replies(recording.body)
    begun = parse_reply(second, Form.STREAM, OPENAI_CHAT).choice()
    read = parts(begun, reading_for(with_body(recording, second, start="text"), whole=False))
    if goes_on != bool(second) or any(part.kind == "thinking" for part in read):
        return None
    return _joined_at_thought_end(recording, first, second)


def check_law(holds: Holds, number: int, recording: Recording, drawn: int) -> None:
    """Check the law `number` by its function `holds`, which raises BrokenLawError. If the addon has
    joined two replies, `holds` checks their `single_reply`, and clients must get the same message
    from the single reply as from the two.
    """
    # the bytes show where a thought was ended only if its budget was spent or no answer came
    limits = recording.awaited().limits
    both = joined(recording) if limits.budget is not None or limits.answers else None
    if both is None:
        holds(recording, drawn)
        return
    one = both.single_reply(recording)
    holds(one, drawn)
    # the addon's estimate of tokens is not compared: it counts text that the client does not get
    counted = parse_reply(recording.body, Form.STREAM, OPENAI_CHAT).usage
    for variant in variants(recording):
        where = f"{variant}, of two replies, against one"
        views = [view_of(each, variant) for each in (one, recording)]
        compare(where, *(views if counted else map(_without_usage, views)))
        if variant.dialect is OPENAI_CHAT:
            replies = [completion_of(each, variant) for each in (one, recording)]
            compare(f"{where}, its head", *(list(it.frame_fields.items()) for it in replies))
    if number == 2:
        _check_recut(recording, both, drawn)


def last_reply_of(recording: Recording, came: bytes) -> bytes:
    """Return the bytes whose finish the client gets. `came`: the server's bytes so far. If the
    addon withholds the finish of the first of two replies, the bytes of the second (empty while the
    first comes); else all of `came`.
    """
    first = _separate_replies(recording.body)[0] if recording.awaited().limits.answers else b""
    return came[len(first) :] if joined(recording) else came


def ends_between_replies(recording: Recording, came: bytes) -> bool:
    """Return True if the server's bytes so far, `came`, are exactly the first of two replies, and
    the addon withholds its finish, so that the client has none yet.
    """
    first, second = _separate_replies(recording.body)
    return bool(second and recording.awaited().limits.answers) and len(came) == len(first)


def _check_recut(recording: Recording, both: Joined, drawn: int) -> None:
    """Check that clients get the same if the text of the two replies is cut into other frames."""
    drawing = seeded_random(recording, 2)
    cuts: list[Cut] = [list, lambda spoken: [spoken]]
    cuts += [lambda spoken: cut_anywhere(spoken, _PIECES, drawing)] * drawn
    for variant in variants(recording):
        expected = _without_usage(view_of(recording, variant))
        for number, cut in enumerate(cuts):
            got = _without_usage(view_of(both.recut(recording, cut), variant))
            compare(f"{variant}, two replies, cut {number}", expected, got)


def _without_usage(view: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return the events without counts of tokens, which the addon may estimate from the frames."""
    return [event for event in view if event[0] != "usage"]


def _separate_replies(body: bytes) -> tuple[bytes, bytes]:
    """Return the two replies in `body`. The second begins at the first new id, or is empty."""
    before, name = b"", None
    for frame in frames(body):
        own = (value_of(frame) or {}).get("id")
        if own and name and own != name:
            return before, body[len(before) :]
        name, before = name or own, before + frame
    return before, b""


def _joined_at_thought_end(recording: Recording, first: bytes, second: bytes) -> Joined | None:
    """Return the two replies as a `Joined`. The first is divided where the addon ended its thought:
    before the finish if no answer came, else where the budget of tokens is spent. None if the first
    has no thought, or if its thought ended otherwise.
    """
    reading, limits = reading_for(recording, whole=False), recording.awaited().limits
    choice = parse_reply(first, Form.STREAM, OPENAI_CHAT).choice()
    read = parts(choice, reading)
    thoughts = [part.text for part in read if part.kind == "thinking"]
    text_frames = [text_frame_of(value_of(frame) or {}) for frame in frames(first)]
    spoken = [each for each in text_frames if each]
    if not thoughts:
        return None
    text = "".join(each.text for each in spoken).rstrip("\r\n")
    rows = [row for row in families_of(reading) if any(mark in text for mark in row.opens)]
    closer = "" if choice.thoughts else next(iter((*rows, *families_of(reading)))).close
    value = next(value for frame in frames(first) if (value := value_of(frame)))
    fields = {name: it for name, it in value.items() if name not in _NOT_IN_FRAME_FIELDS}
    if choice.finish and limits.answers:
        answered = choice.calls or any(part.text.strip() for part in read if part.kind == "text")
        *before, finish = frames(first)
        closing = b"" if text.endswith(closer) else spoken[-1].frame(closer)
        counts = _tokens_of(spoken), 2 * _MARK_TOKENS * bool(choice.thoughts)
        alone = choice.finish == "stop" and b'"finish_reason": "stop"' in finish and not answered
        return Joined(b"".join(before), finish, closing, second, fields, *counts) if alone else None
    if limits.budget is None or text_frames[-1] is None:
        return None
    left = limits.budget * BYTES_PER_TOKEN - len("".join(thoughts[:-1]).encode())
    paid = thoughts[-1].encode()[: max(left, 0)].decode(errors="ignore")  # what fits the budget
    kept = len(text) - len(thoughts[-1]) + len(paid)
    if paid == thoughts[-1] or text[kept:] != thoughts[-1][len(paid) :]:
        return None
    sentence = (JOINT if paid else "") + limits.sentence if limits.sentence else ""
    closing = spoken[-1].frame(sentence + closer) if sentence + closer else b""
    marks = 1 + bool(choice.thoughts)
    added = len(f"{JOINT}{limits.sentence}".encode()) // BYTES_PER_TOKEN + marks * _MARK_TOKENS
    return Joined(*_split_at(first, kept), closing, second, fields, _tokens_of(spoken), added)


def _tokens_of(spoken: Sequence[TextFrame]) -> int:
    """Return an estimate of the tokens in text frames: one each, or by size if frames are long."""
    size = sum(len(each.text.encode()) for each in spoken)
    return len(spoken) if size <= 2 * BYTES_PER_TOKEN * len(spoken) else size // BYTES_PER_TOKEN


def _split_at(body: bytes, length: int) -> tuple[bytes, bytes]:
    """Return all frames with the first `length` characters of text only, and one with the rest."""
    kept, more, last = list[bytes](), list[str](), None
    for frame in frames(body):
        text_frame: TextFrame | None = text_frame_of(copy.deepcopy(value_of(frame) or {}))
        if text_frame is None:
            kept.append(frame)
            continue
        kept += [text_frame.frame(text_frame.text[:length])] if length else []
        more.append(text_frame.text[length:])
        length, last = max(length - len(text_frame.text), 0), text_frame
    assert last
    return b"".join(kept), last.frame("".join(more))
