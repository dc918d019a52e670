"""One exchange as the page shows it: what was asked, what the client got, and what the addon did
about it.

What is read of a flow is taken on mitmproxy's loop, which is quick; reading it may take its time in
a thread.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mitmproxy.http import HTTPFlow, Response

from converter.exchange.settings import Settings
from converter.model.initial_state import InitialState
from converter.parsing.reading import Expected
from converter.shell.hooks.refused import METADATA as REFUSED
from converter.shell.keep.flow_record import FlowRecord, notes_of
from converter.shell.messages import content_of
from converter.shell.mitmproxy_internals import state_before
from converter.shell.watch.views import backup_of, facts_of, reading_of
from converter.transcript import reply, request, shown
from converter.transcript.reply import AS_WRITTEN, ReplyReader
from converter.transcript.shown import Values
from converter.transcript.turns import Field, ThinkingPart, Transcript
from converter.wire import json_text

_BEGAN_INSIDE = "Guessed: the reply was taken to begin inside a thought."
_PROMPTED = "Added: words in the prompt that ask the model to think."
_KEPT_BACK = "Withheld: the client got less thinking than the model had."
_ABOUT_THINKING = re.compile(r"(?:🧠 )?[\d,]+ thoughts?, ")
"""How a part of a comment begins that tells of the thinking, which the page shows; in older files
with a picture.
"""


@dataclass(frozen=True, slots=True)
class Body:
    """A reply, and how to read it."""

    data: bytes
    content_type: str
    settings: Settings
    expected: Expected | None

    def read(self) -> Transcript:
        """Return what it says."""
        return reply.read(self.data, self.settings, self.content_type, expected=self.expected)


def conversation(flow: HTTPFlow, running: bool) -> Callable[[], Values]:
    """Take an exchange from its flow; what is returned reads it. Of a reply that still comes, it is
    for others to tell.
    """
    body = content_of(flow.request)
    chosen = reading_of(flow, of_server=True)[0]
    got = None if running else answer_of(flow)
    sent = None if running else _sent(flow)
    facts, noted = facts_of(flow), notes(flow, notes_of(flow))
    withheld = flow.metadata.get("think_whole")
    ended = flow.error.msg if flow.error and not running else ""
    base = {"id": flow.id, "running": running, "ended": ended, "notes": noted}
    base |= {"status": _status(flow), "kept": bool(notes_of(flow))}
    refused = _refused(flow)

    def read() -> Values:
        answer = got.read() if got else Transcript()
        answer = replace(answer, beside=(*answer.beside, *refused))
        if isinstance(withheld, list):
            thoughts = [str(each) for each in withheld]
        else:
            thoughts = _thoughts_kept_back(answer, facts, sent)
        replied = {
            "request": shown.transcript(request.read(body, chosen)),
            "reply": shown.transcript(answer, facts),
        }
        kept_back = [_KEPT_BACK] if thoughts else []
        return {**base, **replied, "withheld": thoughts, "notes": [*noted, *kept_back]}

    return read


def transcript_of(flow: HTTPFlow) -> tuple[Transcript, Mapping[str, object]]:
    """Return request and reply as one transcript, and what else is known of the reply."""
    chosen, _ = reading_of(flow, of_server=True)
    question = request.read(content_of(flow.request), chosen)
    got = answer_of(flow)
    if got is None:
        return question, {}
    answer = got.read()
    whole = Transcript(
        (*question.turns, *answer.turns),
        question.asked,
        answer.facts,
        (*question.rest, *answer.rest),
        answer.beside,
    )
    return whole, facts_of(flow)


def notes(flow: HTTPFlow, noted: Mapping[str, object]) -> list[str]:
    """Return what the addon mended, withheld or guessed, a line each."""
    comment = [
        part for part in flow.comment.split(" · ") if part and not _ABOUT_THINKING.match(part)
    ]
    began = [_BEGAN_INSIDE] if noted.get("begins") == InitialState.THINKING.value else []
    return [*comment, *began, *([_PROMPTED] if noted.get("prompted") else [])]


class Follower:
    """A reply that still comes, read once as it grows."""

    def __init__(self, running: FlowRecord) -> None:
        self._sides = running.sides
        self._reader = ReplyReader(AS_WRITTEN)
        self._read = 0

    @property
    def waiting(self) -> int:
        """The number of bytes that have come and are not read."""
        return len(self._sides.got or b"") - self._read

    @property
    def has_read(self) -> bool:
        """Tell whether any of the reply came by the stream; a whole reply is in its flow at the
        end.
        """
        return self._read > 0

    def news(self) -> list[Values]:
        """Return what has been said since the last time."""
        fresh = bytes((self._sides.got or b"")[self._read :])
        self._read += len(fresh)
        return shown.said(self._reader.feed(fresh)) if fresh else []

    def close(self) -> list[Values]:
        """Return the rest, when the reply is over."""
        return [*self.news(), *shown.said(self._reader.close())]

    def end(self, flow: HTTPFlow) -> Values:
        """Return what is known of the reply at its end."""
        whole = self._reader.transcript()
        beside = [shown.part(field) for field in whole.beside]
        ended = {
            "ended": flow.error.msg if flow.error else "",
            "status": _status(flow),
            "notes": notes(flow, notes_of(flow)),
        }
        return {
            "facts": shown.facts(whole, facts_of(flow)),
            "beside": beside,
            "kept": bool(notes_of(flow)),
            **ended,
        }


def _status(flow: HTTPFlow) -> str:
    """Return the status of an error, in words."""
    if flow.response is None or flow.response.status_code < 400:
        return ""
    return f"{flow.response.status_code} {flow.response.reason}".strip()


def answer_of(flow: HTTPFlow) -> Body | None:
    """Return what the client got. A reply that the addon has not written is read as a server's."""
    if notes_of(flow):
        return _body(flow.response)
    return _body(flow.response, *reading_of(flow, of_server=True))


def _refused(flow: HTTPFlow) -> list[Field]:
    """Return both requests that the server got, where it refused a part of the first."""
    first = flow.metadata.get(REFUSED)
    if not isinstance(first, str):
        return []
    second = (state_before(flow).get("request") or {}).get("content") or b""
    pair = (("refused by the server", first.encode()), ("sent again", second))
    return [Field(name, json_text.read_or_none(sent)) for name, sent in pair]


def _sent(flow: HTTPFlow) -> Body | None:
    """Return what the server sent, if the client got something else."""
    return _body(backup_of(flow), *reading_of(flow, of_server=True))


def _body(
    response: Response | None, chosen: Settings = AS_WRITTEN, expected: Expected | None = None
) -> Body | None:
    if response is None:
        return None
    content_type = response.headers.get("content-type", "")
    return Body(content_of(response), content_type, chosen, expected)


def _thoughts_kept_back(
    got: Transcript, facts: Mapping[str, object], sent: Body | None
) -> list[str]:
    """Return the thoughts of a reply whose client got none, though the model had some."""
    has_thoughts = any(isinstance(part, ThinkingPart) for turn in got.turns for part in turn.parts)
    if has_thoughts or sent is None or not facts.get("thoughts"):
        return []
    return [
        part.text
        for turn in sent.read().turns
        for part in turn.parts
        if isinstance(part, ThinkingPart)
    ]
