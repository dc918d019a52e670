"""`exchange_values` returns one exchange as the page's JSON: the request, the client's reply, notes
and end. `Search` searches exchanges for words; `curl_command` writes a request as a curl command.

All functions may run in a thread, because a finished flow changes only if a person edits it. After
such an edit the page gets the exchange again.
"""

import asyncio
import re
import shlex
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon.hooks.refused_request import METADATA as REFUSED
from converter.addon.http_messages import content_of
from converter.addon.keep.flow_record import notes_of
from converter.addon.keep.shown_flow import (
    answer_of,
    backup_of,
    facts_of,
    read_reply,
    reading_of,
    sent_of,
    transcript_of,
)
from converter.addon.transcript import request, shown
from converter.addon.transcript.shown import Values
from converter.addon.transcript.turns import FailurePart, Field, Media, Part, Transcript
from converter.core.dialects.table import DIALECTS
from converter.core.model.conversation import ThinkingBlock
from converter.core.model.initial_state import InitialState
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import ACTING
from converter.extras.page.remedy import as_arguments, remedy_of

SEARCH_LIMIT = Bound(
    64 << 20,
    "characters",
    "text of conversations that is kept for the page's search",
    "read again for the next search",
)
"""Enough for the conversations of a long day."""

_GUESSED_NOTE = "Guessed: the reply was taken to begin inside a thought."
"""The note for a reply that was read as thinking from its first character on, by a mere guess."""
_PROMPTED_NOTE = "Added: a text in the prompt that asks the model to think."
"""The note for a request to which the addon has added a text."""
_WITHHELD_NOTE = "Withheld: the client got no thinking."
"""The note for a reply whose thoughts the client did not get."""
_REPEATED_NOTE = "The model has had this thought {} times in this conversation."
"""The note for a thought that occurs at least `_OFTEN` times; `{}` becomes the number of times."""
_OFTEN = 3
"""From this number of equal thoughts in a conversation on, the page shows a note."""
_ABOUT_THINKING = re.compile(r"(?:🧠 )?[\d,]+ thoughts?, ")
"""Matches the part about thinking in a flow's comment (`3 thoughts, ...`). The page leaves this
part out, because it shows the thinking itself. Older versions wrote a 🧠 before the number.
"""
_KEYS = {"authorization": "Authorization: Bearer $API_KEY", "x-api-key": "X-Api-Key: $API_KEY"}
"""Name of a header that holds an API key -> the header that `curl_command` writes in its place."""
_HEADERS = {"content-type", "accept", *(name for each in DIALECTS for name in each.label.headers)}
"""The client's headers that `curl_command` repeats with their values."""
_KEY_IN_LINK = re.compile(
    r"(?<=[?&;])(?=[^=&;]*(?:key|token|secret|sig|auth|pass|pwd|credential|session|jwt))"
    r"([^=&;]++)=[^&;]*",
    re.IGNORECASE,
)
"""Matches a parameter of a URL whose name says that its value is secret; the group is the name."""


def exchange_values(flow: HTTPFlow, running: bool) -> Values:
    """Return an exchange as the page's JSON. While the exchange is `running` the reply is left out:
    the page gets the reply piece by piece, as it comes.
    """
    reading = reading_of(flow, of_server=True)
    answer = Transcript() if running else answer_of(flow)
    first = flow.metadata.get(REFUSED)
    if isinstance(first, str):
        refused = Field("refused by the server", json_text.read_or_none(first.encode()))
        again = Field("sent again", json_text.read_or_none(content_of(sent_of(flow))))
        answer = replace(answer, beside=(*answer.beside, refused, again))
    facts, end = facts_of(flow), _end_values(flow, answer)
    withheld = list[str]()
    if facts.get("thoughts") and not _thoughts(answer):
        # The server sent thoughts, and the client got none: read them in the server's reply.
        withheld = _thoughts(read_reply(backup_of(flow), *reading))
    return {
        "id": flow.id,
        "running": running,
        **end,
        "ended": "" if running else end["ended"],
        "request": shown.transcript_json(request.read(content_of(flow.request), reading[0])),
        "reply": shown.transcript_json(answer, facts),
        "withheld": withheld,
        "notes": [*end["notes"], *([_WITHHELD_NOTE] if withheld else [])],
    }


def _end_values(flow: HTTPFlow, answer: Transcript) -> dict[str, Any]:
    """Return the page's fields on the end of an exchange, whose reply is `answer`.

    - `ended`: mitmproxy's error, empty if there is none.
    - `status`: the response's status if it is 400 or more, else empty.
    - `notes`: lines about what the addon mended, guessed or added, and about repeated thoughts. A
      failure that the reply itself or `ended` shows has no line.
    - `kept`: True if the exchange can be kept as a recording.
    - `remedy`: the options with which a misread reply would have been read rightly, as arguments;
      empty for any other reply.
    """
    noted, ended = notes_of(flow), flow.error.msg if flow.error else ""
    parts = (part for turn in answer.turns for part in turn.parts)
    failures = (part.message for part in parts if isinstance(part, FailurePart))
    reasons = [reason for reason in (ended, *failures) if reason]
    comment = [
        part
        for part in flow.comment.split(" · ")
        if part
        and not _ABOUT_THINKING.match(part)
        and not any(part in reason or reason in part for reason in reasons)
    ]
    guessed = [_GUESSED_NOTE] * (noted.get("begins") == InitialState.LIKELY_THINKING.value)
    prompted = [_PROMPTED_NOTE] if noted.get("prompted") else []
    failed = flow.response if flow.response and flow.response.status_code >= 400 else None
    return {
        "ended": ended,
        "status": f"{failed.status_code} {failed.reason}".strip() if failed else "",
        "notes": [*comment, *guessed, *prompted, *_repetition_notes(flow, answer)],
        "kept": bool(noted),
        "remedy": as_arguments(remedy_of(flow.comment)) if noted else "",
    }


def final_values(flow: HTTPFlow, whole: Transcript) -> Values:
    """Return the page's JSON on the end of the reply `whole`, whose parts the page has already:
    `facts` (counts and times), `beside` (fields of the response that the page shows below the
    reply, because they belong to no text, thought or call), and the fields of `_end_values`.
    """
    beside = [shown.part_json(field) for field in whole.beside]
    facts = shown.facts_json(whole, facts_of(flow))
    return {"facts": facts, "beside": beside, **_end_values(flow, whole)}


def _repetition_notes(flow: HTTPFlow, answer: Transcript) -> list[str]:
    """Return a note if one thought of the reply `answer` occurs at least `_OFTEN` times in the
    conversation: the model goes round in circles. Return `[]` otherwise.

    Earlier thoughts are read from the client's request and from the request to the server, into
    which the addon has put thoughts that the client dropped.
    """
    thoughts = [" ".join(each.split()) for each in _thoughts(answer)]
    chosen = reading_of(flow, of_server=True)[0]
    bodies = {content_of(each) for each in (flow.request, sent_of(flow)) if each and any(thoughts)}
    earlier = [_thoughts(request.read(body, chosen)) for body in bodies]
    most = 0
    for thought in filter(None, thoughts):
        before = [[" ".join(each.split()) for each in texts].count(thought) for texts in earlier]
        most = max(most, thoughts.count(thought) + max(before, default=0))
    return [_REPEATED_NOTE.format(most)] if most >= _OFTEN else []


def _thoughts(of: Transcript) -> list[str]:
    """Return the texts of the thoughts in a transcript."""
    parts = (part for turn in of.turns for part in turn.parts)
    return [part.text for part in parts if isinstance(part, ThinkingBlock)]


class Search:
    """Searches the texts of conversations for words.

    A thread reads one conversation after another. The texts of finished conversations are
    remembered for the next search, up to `SEARCH_LIMIT`.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, float], str] = {}
        self._size = 0

    async def find(self, flows: Iterable[HTTPFlow], query: str) -> list[str]:
        """Return the ids of the flows whose text contains all words of `query`. Capital and small
        letters count as equal.
        """
        wanted = query.casefold().split()
        names = []
        for flow in flows:
            # The key has the time too: a request that mitmproxy replays keeps its flow's id, but
            # gets another reply.
            key = flow.id, flow.request.timestamp_start
            text = self._texts.get(key)
            if text is None:
                text = await asyncio.to_thread(_searched_text, flow)
                fits = self._size + len(text) <= SEARCH_LIMIT
                if fits and not flow.live and key not in self._texts:
                    self._texts[key] = text
                    self._size += len(text)
            if all(word in text for word in wanted):
                names.append(flow.id)
        return names


def _searched_text(flow: HTTPFlow) -> str:
    """Return the texts of an exchange's request and reply as one text in lower case."""
    whole, _ = transcript_of(flow)
    parts = [part for turn in whole.turns for part in turn.parts]
    return "\n".join([*(text for part in parts for text in _texts(part)), *whole.rest]).casefold()


def _texts(part: Part) -> Iterable[str]:
    """Return the texts of one part of a turn (a text, a thought, a call ...) to search in."""
    if isinstance(part, Media):
        return [part.line]
    if isinstance(part, Field):
        return [part.name, str(part.value)]
    return [str(getattr(part, each.name)) for each in fields(part)]


def curl_command(flow: HTTPFlow) -> str:
    """Return a curl command that sends the client's request again, with the headers in `_HEADERS`.

    API keys are replaced by names of variables, because people paste such commands into chats and
    issues. `--data-raw` keeps curl from reading a file if the body begins with `@`, `-g` from
    taking brackets in the address for a pattern. Raises ValueError for a body that is no text.
    """
    try:
        body = content_of(flow.request).decode()
    except UnicodeDecodeError:
        raise ValueError("the request is no text") from None
    url, here = flow.request.url, flow.client_conn.sockname
    # In reverse mode `url` is the server's, but the client sent its request to the proxy.
    if isinstance(flow.client_conn.proxy_mode, ReverseMode) and here and here[1]:
        host = f"[{here[0]}]" if ":" in here[0] else here[0]
        url = f"http://{host}:{here[1]}{flow.request.path}"
    method = ["-X", flow.request.method] if flow.request.method != "POST" else []
    command = ["curl", "-sNg", *method, _KEY_IN_LINK.sub(r"\1=API_KEY", url)]
    lines = [shlex.join(ACTING.sub("", word) for word in command)]
    for name, value in flow.request.headers.items():
        if name.lower() in _KEYS:
            lines.append(f'-H "{_KEYS[name.lower()]}"')
        elif name.lower() in _HEADERS:
            lines.append(f"-H {shlex.quote(ACTING.sub('', f'{name}: {value}'))}")
    if body:
        # Characters that act on a terminal become JSON escapes (`\u001b`). The body's meaning
        # stays, because JSON has such characters only in strings.
        plain = ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", body.replace("\r\n", "\n"))
        lines.append(f"--data-raw {shlex.quote(plain)}")
    return " \\\n  ".join(lines)
